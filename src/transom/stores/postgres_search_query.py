"""Queries of the search tables: which words are looked up, in which rows, and how the entries found are ranked.

The server plans each statement for the words of its query: so a common word is looked for from the newest row on until
enough rows have it, and a rare one by the index of words.

PostgreSQL's own rank knows how often a row has a word, but not how rare the word is. So each word is ranked alone, and
its rank is multiplied by a weight that is greater for rare words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from hashlib import sha256
from math import log
from typing import Any, LiteralString

from msgspec import Struct

from transom.core.tokens import replace_surrogates
from transom.search.base import SearchFilters
from transom.search.ranking import MOST_LIKE
from transom.search.words import MAX_QUERY, MAX_TERMS, indexable, query_terms
from transom.stores.postgres_database import Db, PostgresDatabase

Place = tuple[int, int]
"""The id of a conversation, and the seq of an entry in it."""
Ranking = Callable[[int], list[Place]]
"""A function that returns the best entries of one ranking, the best first: as many as it is asked for, or all there
are."""

MOST_ROWS = 2_000
"""The most rows that one query ranks: the newest that have one of its words."""
MAX_WORD = 64
"""Characters of a word that are indexed and searched for; the rest is cut off."""

_WORD = re.compile(r"[^\W_]+")
_ACCENTED = re.compile("[\u00c0-\u024f\u1e00-\u1eff]")

_IS: LiteralString = "phraseto_tsquery('{s}.words', %s)"
_COUNT: LiteralString = """SELECT (SELECT count(*) FROM (
        SELECT FROM {s}.search_entries AS entry
        WHERE entry.words @@ phraseto_tsquery('{s}.words', %s)__CONDITIONS__ LIMIT %s) AS counted)"""
_BEST: LiteralString = """WITH terms AS MATERIALIZED (
        SELECT phraseto_tsquery('{s}.words', term.words) AS query, weight
        FROM unnest(%s::text[], %s::float8[]) AS term (words, weight)
    ), found AS MATERIALIZED (
        SELECT entry.log, entry.seq, entry.words FROM {s}.search_entries AS entry
        WHERE entry.words @@ (__ANY__)__CONDITIONS__ ORDER BY __NEWEST__ LIMIT %s
    ), ranked AS (
        SELECT log, seq, (SELECT sum(weight * ts_rank(ARRAY[0, 0, 0.5, 1]::float4[], found.words, query, 1))
            FROM terms) AS rank
        FROM found WHERE found.words @@ (__ALSO__)
    )
    SELECT log, seq FROM ranked GROUP BY log, seq ORDER BY max(rank) DESC, log DESC, seq DESC LIMIT %s"""
_BY_NUMBER: LiteralString = "entry.log DESC, entry.seq DESC"
_BY_TIME: LiteralString = "entry.at DESC, entry.log DESC, entry.seq DESC"
"""The order of rows for a search with dates. In the order of numbers, the server would first look at every row that is
newer than the dates."""
_BACKWARDS: LiteralString = """SELECT set_config('enable_bitmapscan', 'off', true),
    set_config('enable_seqscan', 'off', true)"""
_LIKE: LiteralString = """SELECT word FROM {s}.search_words WHERE word LIKE '%%' || %s::text || '%%'
    ORDER BY length(word), word LIMIT %s"""


class SqlFilter(Struct, frozen=True):
    """`SearchFilters` as conditions in SQL on the rows of the search tables."""

    conditions: LiteralString = ""
    """Conditions on the row `entry`, which begin with AND."""
    values: tuple[Any, ...] = ()
    """The values of the parameters of `conditions`."""
    named: bool = False
    """True if the search is in named conversations."""
    log_conditions: LiteralString = ""
    """Those of the conditions that are about whole conversations: by name, user or session."""
    log_values: tuple[Any, ...] = ()
    """The values of the parameters of `log_conditions`."""
    dated: bool = False
    """True if the search is for entries since or until a time."""


def text_value(text: str) -> str:
    """Return the text with a question mark for each lone surrogate and a blank for each NUL character: PostgreSQL does
    not store these in a text."""
    return replace_surrogates(text).replace("\0", " ")


def owner_key(owner: str) -> bytes:
    """Hash a user's or session's id: the key under which its conversations are found."""
    return sha256(b"of " + owner.encode("utf-8", "surrogatepass")).digest()


def plain_words(text: str) -> list[str]:
    """Split a text into its words, in order. A word is letters and digits, in lower case and without accents; a longer
    one is cut off after 64 characters. In scripts without spaces each character is a word. Joined with spaces, they are
    split by the server's parser into the same words.
    """
    folded = text.lower()
    if not text.isascii():
        folded = _ACCENTED.sub(lambda found: unicodedata.normalize("NFKD", found[0])[0], indexable(folded))
    return [word[:MAX_WORD] for word in _WORD.findall(folded)]


def sql_filter_of(filters: SearchFilters, logs: Sequence[int] | None) -> SqlFilter:
    """Translate filters to conditions on rows. `logs`: the ids of the conversations that the filters name; None: all
    are searched."""
    owners = [None if owner is None else owner_key(owner) for owner in (filters.user_id, filters.session_id)]
    file = " ".join(plain_words(filters.file[:MAX_QUERY])[:MAX_TERMS])
    of_logs: list[tuple[LiteralString, Any]] = [
        (" AND entry.log = ANY(%s::bigint[])", None if logs is None else list(logs)),
        (" AND entry.log IN (SELECT log FROM {s}.search_logs WHERE user_key = %b)", owners[0]),
        (" AND entry.log IN (SELECT log FROM {s}.search_logs WHERE session_key = %b)", owners[1]),
    ]
    of_entries: list[tuple[LiteralString, Any]] = [
        (" AND entry.role = ANY(%s::text[])", list(map(text_value, filters.roles)) or None),
        (" AND entry.tools && %s::text[]", list(map(text_value, filters.tools)) or None),
        (" AND entry.run_id = %s", text_value(filters.run_id) or None),
        (" AND entry.at >= %s", filters.since),
        (" AND entry.at <= %s", filters.until),
        (" AND entry.words @@ phraseto_tsquery('{s}.words', %s)", file or None),
    ]
    log_conditions, log_values = _given(of_logs)
    conditions, values = _given(of_entries)
    if not filters.include_hidden:
        conditions += " AND NOT entry.hidden"
    return SqlFilter(
        log_conditions + conditions,
        log_values + values,
        named=logs is not None,
        log_conditions=log_conditions,
        log_values=log_values,
        dated=filters.since is not None or filters.until is not None,
    )


def _given(conditions: Iterable[tuple[LiteralString, Any]]) -> tuple[LiteralString, tuple[Any, ...]]:
    """Join the conditions whose value is not None, and return them with these values."""
    joined: LiteralString = ""
    values = list[Any]()
    for condition, value in conditions:
        if value is not None:
            joined += condition
            values.append(value)
    return joined, tuple(values)


def rankings(database: PostgresDatabase, query: str, where: SqlFilter) -> list[Ranking]:
    """Return the rankings of the entries that pass the filter `where`, for a query (any text):

    - if it has two words or more, one by the whole query as a phrase;
    - one by its words that occur: the rarest ones, as long as at most MOST_ROWS rows have them; at least one word;
    - for each of its words of three characters or more that occurs nowhere, one by the words that contain it.

    A ranking whose words occur nowhere is left out, so there may be none. The server is asked which words occur, and
    again by each call of a ranking.
    """
    terms = query_terms(query)
    counts = _counts(database, terms, where)
    counted = sorted((n, at, term) for at, (term, n) in enumerate(zip(terms, counts, strict=True)))
    found = list[Ranking]()
    if present := [(term, n) for n, _, term in counted if n]:
        if len(terms) > 1:
            rarest, n = present[0]  # the phrase is in no row that lacks it
            among = rarest if n > MOST_ROWS else query[:MAX_QUERY]
            found.append(partial(_best, database, [(query[:MAX_QUERY], 1)], where, among=among))
        found.append(partial(_best, database, _chosen(present), where))
    for n, _, term in counted:
        word = " ".join(plain_words(term))
        if not n and len(word) >= 3:
            like = [(each, 1) for (each,) in database.fetch(_LIKE, word, MOST_LIKE)]
            found += [partial(_best, database, like, where)] if like else []
    return found


def _chosen(present: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Choose the rarest words (`present` begins with them), as long as at most MOST_ROWS rows have them; at least
    one."""
    chosen, rows = [present[0]], present[0][1]
    for term, n in present[1:]:
        if rows + n > MOST_ROWS:
            break
        chosen.append((term, n))
        rows += n
    return chosen


def _counts(database: PostgresDatabase, terms: Sequence[str], where: SqlFilter) -> list[int]:
    """Return for each word how many rows have it, at most MOST_ROWS + 1."""
    if not terms:
        return []
    one = _COUNT.replace("__CONDITIONS__", where.conditions)
    statement, values = one, list[Any]()
    for number, term in enumerate(terms):
        statement = f"{statement} UNION ALL {one}" if number else statement
        values += [" ".join(plain_words(term)), *where.values, MOST_ROWS + 1]
    return [n for (n,) in _planned(database, statement, values)]


def _best(
    database: PostgresDatabase,
    terms: Iterable[tuple[str, int]],
    where: SqlFilter,
    limit: int,
    *,
    among: str | None = None,
) -> list[Place]:
    """Rank the entries that have any of these words or phrases, each given with the count of its rows, the best first:
    of the newest MOST_ROWS, and with `among` only of rows that have these words."""
    words, counts = zip(*terms, strict=True)
    weights = [log(1 + MOST_ROWS / n) for n in counts]
    phrases = [_phrase(each) for each in words]
    looked_for = phrases if among is None else [_phrase(among)]
    statement = _BEST.replace("__ANY__", _any(looked_for)).replace("__ALSO__", _any(phrases))
    statement = statement.replace("__NEWEST__", _BY_TIME if where.dated else _BY_NUMBER)
    values = [phrases, weights, *looked_for, *where.values, MOST_ROWS, *phrases, limit]
    common = among is not None or sum(counts) > MOST_ROWS
    return _planned(database, statement.replace("__CONDITIONS__", where.conditions), values, backwards=common)


def _phrase(words: str) -> str:
    return " ".join(plain_words(words)[:MAX_TERMS])


def _any(phrases: Sequence[str]) -> LiteralString:
    """Return an expression for rows that have at least one of these phrases."""
    found = _IS
    for _ in phrases[1:]:
        found += " || " + _IS
    return found


def _planned(
    database: PostgresDatabase, text: LiteralString, values: Sequence[object], *, backwards: bool = False
) -> list[Any]:
    """Execute a statement that the server plans for these values, and not once for all, and return its rows.

    `backwards`: rows are looked at from the newest on, without the index of words, because the words are known to be
    common: the server does not know how common a phrase is.
    """
    statement = database.statement(text)

    def work(db: Db) -> list[Any]:
        with db.transaction():
            if backwards:
                db.execute(_BACKWARDS)
            return db.cursor(binary=True).execute(statement, values, prepare=False).fetchall()

    return database.run(work)
