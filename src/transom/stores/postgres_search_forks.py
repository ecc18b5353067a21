"""Search in a PostgreSQL store that has forks: an entry that conversations have in common is one hit.

A fork copies the rows of its source, with the number that each append draws at random. So two entries with the same seq
and the same number are one entry, whatever the conversations are called and whether the source is still there. The
conversation with the lowest id had it first.

`search_logs.family` is the number of the first append: only conversations that have it in common can share entries.
"""

from __future__ import annotations

from typing import LiteralString

from transom.stores.postgres_database import PostgresDatabase
from transom.stores.postgres_search_query import Place, Ranking, SqlFilter

_FIRST: LiteralString = """SELECT coalesce((
        SELECT entry.log FROM {s}.search_logs AS own
        JOIN {s}.entries AS shown ON (shown.log, shown.seq) = (own.log, place.seq)
        JOIN {s}.search_logs AS other ON other.family = own.family AND other.log < own.log
        JOIN {s}.entries AS same ON (same.log, same.seq) = (other.log, place.seq) AND same.append = shown.append
        JOIN {s}.search_entries AS entry ON (entry.log, entry.seq, entry.part) = (other.log, place.seq, 0)
        WHERE own.log = place.log__LOGS__ ORDER BY other.log LIMIT 1
    ), place.log), place.seq
    FROM unnest(%s::bigint[], %s::bigint[]) WITH ORDINALITY AS place (log, seq, rank) ORDER BY place.rank"""
_MORE = 8


def ranked_originals(database: PostgresDatabase, ranking: Ranking, where: SqlFilter, limit: int) -> list[Place]:
    """Return the best entries of a ranking, each at its original: where it was said first among the searched
    conversations.

    At least `limit` of them, unless there are fewer, and three times as many at most. If too many of the best are
    copies, the ranking is asked again for more.
    """
    asked = 3 * limit
    while True:
        places = ranking(asked)
        found = dict.fromkeys(_first(database, places, where)) if places else {}
        if len(found) >= limit or len(places) < asked:
            return list(found)[: 3 * limit]
        asked *= _MORE


def _first(database: PostgresDatabase, places: list[Place], where: SqlFilter) -> list[Place]:
    """Replace the places of copies by those of their originals, as far as these are in searched conversations."""
    logs, seqs = [log for log, _ in places], [seq for _, seq in places]
    statement = _FIRST.replace("__LOGS__", where.log_conditions)
    return database.fetch(statement, *where.log_values, logs, seqs)
