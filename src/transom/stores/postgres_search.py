"""The search index of a PostgreSQL store: tables in its own schema, which all its processes share.

A conversation is indexed after it was stored, by the next `update`; `search_logs.length` says how many of its entries
are indexed. They are read first. Then one transaction stores their rows, if no other process has done so meanwhile; an
advisory lock lets one such transaction run at a time. The rows of the index refer to those of the conversation, so
forgetting a conversation deletes them in the same transaction.

An entry that several conversations have in common, because one is a fork of another, is one hit. A fork copies the rows
of its source, and with them the number that each append draws at random. So two entries with the same seq and the same
number are one entry, even if the source was forgotten. The conversation with the lowest id had it first.
`search_logs.family` is the number of the first append: conversations of different families share no entries.

`search_words` has every word once, with the number of entries that contain it. If no entry has a word of a query, it is
looked up there as a part of longer words.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import LiteralString, NamedTuple, Protocol

from transom.core.entry import Entry
from transom.core.log import owner_of
from transom.errors import StoreDamaged, UnknownLog
from transom.search.base import ANYTHING, Embedder, SearchFilters, SearchHit
from transom.search.entry_text import LOOK_BACK, SearchText, SearchTexts
from transom.search.fusion import fused
from transom.search.indexed_store import LogSource, is_indexed, is_own_log
from transom.search.ranking import check_search
from transom.search.snippets import snippet
from transom.search.words import query_terms
from transom.stores.postgres_database import Db, PostgresDatabase, name_of, raw_name
from transom.stores.postgres_search_query import (
    Place,
    Ranking,
    SqlFilter,
    owner_key,
    plain_words,
    rankings,
    sql_filter_of,
    text_value,
)
from transom.stores.postgres_search_vectors import nearest, update_vectors

BATCH_ENTRIES = 500
"""Entries that one transaction indexes. Another process that indexes or forgets waits for as long as it takes."""
PART_WORDS = 3_500
"""Words in one row: PostgreSQL keeps positions up to 16,383, and at most 1 MB of words."""
PART_OVERLAP = 64
"""Words that are in two neighbouring rows, so that a phrase is in one of them."""
_MIN_WORD, _MAX_WORD = 4, 64
"""Characters of a word that is found by a part of it."""

_logger = logging.getLogger(__name__)

_CHANGED: LiteralString = """SELECT log.name, log.id, coalesce(done.length, 0)
    FROM {s}.logs AS log LEFT JOIN {s}.search_logs AS done ON done.log = log.id
    WHERE log.length > coalesce(done.length, 0)"""
_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(0x74727378, hashtext('{s}'))"
_BEGIN: LiteralString = """INSERT INTO {s}.search_logs (log, length, user_key, session_key, family)
    SELECT id, 0, %b, %b, (SELECT append FROM {s}.entries AS entry WHERE (entry.log, seq) = (id, 0))
    FROM {s}.logs WHERE id = %s ON CONFLICT DO NOTHING"""
_EXTEND: LiteralString = "UPDATE {s}.search_logs SET length = %s WHERE log = %s AND length = %s RETURNING log"
_ADD: LiteralString = """INSERT INTO {s}.search_entries
    (log, seq, part, at, role, tool, tools, run_id, hidden, names, text, words)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s,
        setweight(to_tsvector('{s}.words', %s), 'B') || setweight(to_tsvector('{s}.words', %s), 'A'))"""
_COUNT_WORDS: LiteralString = """INSERT INTO {s}.search_words (word, entries)
    SELECT * FROM unnest(%s::text[], %s::bigint[])
    ON CONFLICT (word) DO UPDATE SET entries = {s}.search_words.entries + excluded.entries"""
_UNCOUNT_WORDS: LiteralString = """WITH gone AS (
    SELECT word, count(*) AS n FROM {s}.logs AS log
    JOIN {s}.search_entries AS entry ON entry.log = log.id CROSS JOIN unnest(entry.names) AS word
    WHERE sha256(log.name) = ANY(%b::bytea[]) GROUP BY word
) UPDATE {s}.search_words AS known SET entries = entries - n FROM gone WHERE known.word = gone.word"""
_DROP_WORDS: LiteralString = "DELETE FROM {s}.search_words WHERE entries <= 0"
_DROP_LOGS: LiteralString = """DELETE FROM {s}.search_logs
    WHERE log IN (SELECT id FROM {s}.logs WHERE sha256(name) = ANY(%b::bytea[]))"""
_IDS: LiteralString = "SELECT id FROM {s}.logs WHERE sha256(name) = ANY(%b::bytea[])"
_HITS: LiteralString = """SELECT entry.log, entry.seq, log.name, entry.role, entry.tool, entry.at, entry.text
    FROM unnest(%s::bigint[], %s::bigint[]) AS wanted (log, seq)
    JOIN {s}.search_entries AS entry ON (entry.log, entry.seq, entry.part) = (wanted.log, wanted.seq, 0)
    JOIN {s}.logs AS log ON log.id = entry.log"""


class _Changed(NamedTuple):
    """A conversation that has entries which are not indexed. `log`: its id; `length`: how many entries are indexed."""

    name: str
    log: int
    length: int


class IndexedLog(LogSource, Protocol):
    """A conversation of the server: what the index needs of a `PostgresLog`."""

    @property
    def id(self) -> int | None: ...
    @property
    def name(self) -> str: ...


class IndexedStore(Protocol):
    """What the index needs of a `PostgresStore`."""

    @property
    def database(self) -> PostgresDatabase: ...
    def open(self, name: str) -> IndexedLog: ...


class PostgresIndex:
    """The search index of one store. All of it is in the database; it keeps nothing in this process."""

    def __init__(self, store: IndexedStore) -> None:
        self._store = store

    def update(
        self, conversations: Iterable[str] | None = None, *, embedder: Embedder | None = None, most: int | None = None
    ) -> int:
        """Index the entries that were appended since the last update, as `SearchIndex.update` says. Return how many
        entries this call has indexed, plus how many it has given vectors.

        `conversations`: only these; None: all. `embedder`: also store the vectors that entries lack. `most`: stop after
        about this many entries. A damaged conversation is skipped with a warning, unless it is in `conversations`: then
        StoreDamaged is raised.
        """
        names = None if conversations is None else list(conversations)
        done = 0
        for changed in self._changed(names):
            if most is not None and done >= most:
                break
            try:
                done += self._index(changed, None if most is None else most - done)
            except StoreDamaged as problem:
                if names is not None:
                    raise
                _logger.warning("search: %s", problem)
        if embedder is not None:
            left = None if most is None else most - done
            done += update_vectors(self._database, embedder, self._ids(names), left)
        return done

    def search(
        self, query: str, *, filters: SearchFilters = ANYTHING, limit: int = 10, embedder: Embedder | None = None
    ) -> list[SearchHit]:
        """Return the best entries for a query, the best first, at most `limit` (1 to 1,000), as `SearchIndex.search`
        says. An entry that forks have in common is one hit, in the first of the searched conversations that has it."""
        filters = check_search(query, filters, limit)
        logs = self._ids(filters.conversations)
        if logs == []:
            return []
        where, terms = sql_filter_of(filters, logs), query_terms(query)
        ways = rankings(self._database, query, where)
        if embedder is not None:
            ways.append(nearest(self._database, embedder, query, where))
        best = fused(ranked_originals(self._database, way, where, limit) for way in ways)
        rows = self._database.fetch(_HITS, [log for (log, _), _ in best], [seq for (_, seq), _ in best])
        hits = {(log, seq): (name_of(name), *rest) for log, seq, name, *rest in rows}
        if filters.conversations is None:
            hits = {place: hit for place, hit in hits.items() if not is_own_log(hit[0])}
        shown = [
            SearchHit(
                conversation=name,
                entry=place[1],
                role=role,
                tool=tool,
                at=at,
                score=score,
                snippet=snippet(text, query, terms),
            )
            for place, score in best
            if place in hits  # else it was forgotten meanwhile
            for name, role, tool, at, text in [hits[place]]
        ]
        return shown[:limit]

    def forget(self, conversations: Iterable[str]) -> None:
        """Remove these conversations from the index; unknown names are ignored. The store's own `forget` does the same
        within its transaction."""
        keys = _keys(conversations)

        def work(db: Db) -> None:
            with db.transaction():
                forget_words(self._database, db, keys)
                self._database.rows(db, _DROP_LOGS, keys)

        self._database.run(work)

    @property
    def _database(self) -> PostgresDatabase:
        return self._store.database

    def _ids(self, names: Iterable[str] | None) -> list[int] | None:
        return None if names is None else [log for (log,) in self._database.fetch(_IDS, _keys(names))]

    def _changed(self, names: Iterable[str] | None) -> list[_Changed]:
        """Return the conversations that have entries which are not indexed; with `names` only of these. It is one round
        trip."""
        if names is None:
            rows = self._database.fetch(_CHANGED + " ORDER BY log.id")
        else:
            rows = self._database.fetch(_CHANGED + " AND sha256(log.name) = ANY(%b::bytea[])", _keys(names))
        changed = [_Changed(name_of(name), log, length) for name, log, length in rows]
        return [each for each in changed if is_indexed(each.name, names)]

    def _index(self, changed: _Changed, most: int | None) -> int:
        """Index the new entries of a conversation in batches, at most `most`, and return their number."""
        done, length = 0, changed.length
        with suppress(UnknownLog):  # forgotten meanwhile
            log = self._store.open(changed.name)
            while log.id == changed.log and length < len(log) and (most is None or done < most):
                entries = list(log.read(length, length + BATCH_ENTRIES))
                if not self._add(log, length, entries):
                    break
                length, done = length + len(entries), done + len(entries)
        return done

    def _add(self, log: IndexedLog, length: int, entries: Sequence[Entry]) -> bool:
        """Index one batch, the first of which is entry `length`. False if another process has done it, or it was
        forgotten."""
        texts, owner, counts = SearchTexts(), owner_of(log), Counter[str]()
        for entry in log.read(max(0, length - LOOK_BACK), length):
            texts.skip(entry)
        found = [text for entry in entries if (text := texts.of(entry)) is not None]
        rows = [row for text in found for row in _rows(log.id, text, counts)]
        named_only = is_own_log(log.name)
        owners = [owner_key(each) if each and not named_only else None for each in (owner.user_id, owner.session_id)]
        words = sorted(counts.items())  # in one order for all processes

        def work(db: Db) -> bool:
            database = self._database
            with db.transaction():
                database.rows(db, _LOCK)
                database.rows(db, _BEGIN, *owners, log.id)
                if not database.rows(db, _EXTEND, length + len(entries), log.id, length):
                    return False
                with db.cursor() as cursor:
                    cursor.executemany(database.statement(_ADD), rows)
                database.rows(db, _COUNT_WORDS, [word for word, _ in words], [n for _, n in words])
            return True

        return self._database.run(work)


def forget_words(database: PostgresDatabase, db: Db, keys: Sequence[bytes]) -> None:
    """Remove the words that only these conversations have from `search_words`. Call it in the transaction that deletes
    the conversations, before they are deleted. `keys`: the SHA-256 hashes of their names.
    """
    database.rows(db, _LOCK)
    database.rows(db, _UNCOUNT_WORDS, keys)
    database.rows(db, _DROP_WORDS)


def _rows(log: int | None, found: SearchText, counts: Counter[str]) -> list[tuple[object, ...]]:
    """Return the rows of an entry: several if its text is long. Adds 1 to `counts` for each of its words."""
    about, words, text = plain_words(found.about), plain_words(found.text), text_value(found.text)
    names = sorted({word for word in (*about, *words) if _MIN_WORD <= len(word) <= _MAX_WORD})
    counts.update(names)
    tools = [text_value(tool) for tool in found.tools]
    step = PART_WORDS - PART_OVERLAP
    starts = range(0, max(1, len(words) - PART_OVERLAP), step)
    return [
        (
            *(log, found.seq, part, found.at, found.role, ", ".join(tools), tools, text_value(found.run_id)),
            *(found.hidden, [] if part else names, "" if part else text),
            *(" ".join(about), " ".join(words[start : start + PART_WORDS])),
        )
        for part, start in enumerate(starts)
    ]


def _keys(names: Iterable[str]) -> list[bytes]:
    return [sha256(raw_name(name)).digest() for name in set(names)]


_FIRST: LiteralString = """SELECT coalesce((
        SELECT entry.log FROM {s}.search_logs AS own
        JOIN {s}.entries AS shown ON (shown.log, shown.seq) = (own.log, place.seq)
        JOIN {s}.search_logs AS other ON other.family = own.family AND other.log < own.log
        JOIN {s}.entries AS same ON (same.log, same.seq) = (other.log, place.seq) AND same.append = shown.append
        JOIN {s}.search_entries AS entry ON (entry.log, entry.seq, entry.part) = (other.log, place.seq, 0)
        WHERE own.log = place.log__LOGS__ ORDER BY other.log LIMIT 1
    ), place.log), place.seq
    FROM unnest(%s::bigint[], %s::bigint[]) WITH ORDINALITY AS place (log, seq, rank) ORDER BY place.rank"""
_GROWTH = 8
"""How many times more a ranking is asked for if too many of its best entries are copies."""


def ranked_originals(database: PostgresDatabase, ranking: Ranking, where: SqlFilter, limit: int) -> list[Place]:
    """Return the places of the best entries of a ranking, each once: in the first of the searched conversations that
    has it.

    There are at least `limit`, unless the ranking has fewer, and at most three times as many. If too many of the best
    are copies, the ranking is asked again for more.
    """
    asked = 3 * limit
    while True:
        places = ranking(asked)
        found = dict.fromkeys(_first(database, places, where)) if places else {}
        if len(found) >= limit or len(places) < asked:
            return list(found)[: 3 * limit]
        asked *= _GROWTH


def _first(database: PostgresDatabase, places: list[Place], where: SqlFilter) -> list[Place]:
    """Return for each place the place of the same entry in the first of the searched conversations that has it."""
    logs, seqs = [log for log, _ in places], [seq for _, seq in places]
    statement = _FIRST.replace("__LOGS__", where.log_conditions)
    return database.fetch(statement, *where.log_values, logs, seqs)
