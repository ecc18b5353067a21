"""A query of an FTS5 index: which words are looked up, in which rows, and in which order they come.

BM25 is that of FTS5 (S. Robertson, H. Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond, 2009). Its work
grows with the rows that match. So words that are in many rows are left out where a rarer word says enough; where all
words are common, only the newest conversations that have them are ranked.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from transom.errors import InvalidSetting, quote
from transom.search.base import SearchFilters
from transom.search.words import has_words, phrase, terms_of

MAX_LIMIT = 1_000
MOST_ROWS = 10_000
"""Rows that one query ranks, about."""
MOST_LIKE = 50
"""Words of the index that have a word of the query as a part."""
SEQ_BITS = 32
HIGHEST = 2**63 - 1

_MATCH = "FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?"
_COUNT = f"SELECT count(*) FROM (SELECT rowid {_MATCH} LIMIT {MOST_ROWS + 1})"  # noqa: S608 - texts of ours
_NEWEST = f"SELECT rowid {_MATCH} ORDER BY rowid DESC LIMIT 1 OFFSET {MOST_ROWS}"
_BEST = "SELECT rowid {match}{also} ORDER BY bm25(words, 0, 0, 0, 0, 0, 0.5, 1.0), rowid DESC LIMIT ?"
_LIKE = """SELECT vocabulary.word FROM parts JOIN vocabulary ON vocabulary.id = parts.rowid
           WHERE parts MATCH ? AND instr(vocabulary.word, ?) ORDER BY length(vocabulary.word) LIMIT ?"""


class Scope(Struct, frozen=True, kw_only=True):
    """The rows in which is searched: a part of the query that filters, a range, and conditions on columns."""

    filters: str = ""
    low: int = 0
    high: int = HIGHEST
    also: str = ""
    values: tuple[Any, ...] = ()


def check_search(filters: SearchFilters, limit: int) -> None:
    """Raises InvalidSetting for a limit that is none, and for a file that no text can name."""
    if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
        raise InvalidSetting(f"limit: must be a whole number from 1 to {MAX_LIMIT:,}, not {quote(limit)}")
    if filters.file and not has_words(filters.file):
        raise InvalidSetting(f"file: needs a letter or a digit, not {quote(filters.file)}")


def scope_of(filters: SearchFilters, logs: Sequence[int] | None) -> Scope:
    """The scope of a search. `logs`: the numbers of its conversations; None: all."""
    low, high = (logs[0] << SEQ_BITS, ((logs[0] + 1) << SEQ_BITS) - 1) if logs and len(logs) == 1 else (0, HIGHEST)
    groups = [
        [scope_word("role", role) for role in filters.roles],
        [scope_word("tool", tool) for tool in filters.tools],
        [scope_word("run", filters.run_id)] if filters.run_id else [],
        [scope_word("user", filters.user_id)] if filters.user_id is not None else [],
        [scope_word("session", filters.session_id)] if filters.session_id is not None else [],
        [scope_word("log", str(log)) for log in logs or ()] if high == HIGHEST else [],
    ]
    parts = [f"scope : ({' OR '.join(group)})" for group in groups if group]
    if filters.file:
        parts.append(f"{{about text}} : {phrase(filters.file)}")
    conditions = [("at >= ?", filters.since), ("at <= ?", filters.until)]
    given = [(text, value) for text, value in conditions if value is not None]
    also = " AND hidden = 0" * (not filters.include_hidden) + "".join(f" AND {text}" for text, _ in given)
    return Scope(
        filters="".join(f" AND {part}" for part in parts),
        low=low,
        high=high,
        also=also,
        values=tuple(value for _, value in given),
    )


@lru_cache(maxsize=4_096)
def scope_word(kind: str, value: str) -> str:
    """The word in the column `scope` that says this of an entry. It has digits only, so that no stemmer changes it."""
    digest = blake2b(f"{kind}\0{value}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return f"k{int.from_bytes(digest)}"


def rankings(db: sqlite3.Connection, query: str, scope: Scope, limit: int) -> list[list[int]]:
    """The rows for a query in several orders, each with the best row first: the words of the query as one phrase, the
    words by BM25, and words that have a missing word as a part."""
    terms = terms_of(query)
    counted = sorted((_count(db, phrase(term), scope), at, term) for at, term in enumerate(terms))
    present = [(n, term) for n, _, term in counted if n]
    found: list[list[int]] = []
    if present:
        bounded, words = _chosen(db, present, scope)
        if len(terms) > 1:
            found.append(_best(db, phrase(query), bounded, limit))
        found.append(_best(db, words, bounded, limit))
    for n, _, term in counted:
        if not n and len(term) >= 3 and (like := _like(db, term)):
            found.append(_best(db, _any(like), scope, limit))
    return found


def _chosen(db: sqlite3.Connection, present: Sequence[tuple[int, str]], scope: Scope) -> tuple[Scope, str]:
    """The words to rank by, the rarest first as long as few rows have them, and the rows to rank."""
    chosen: list[str] = []
    rows = 0
    for n, term in present:
        if rows + n > MOST_ROWS:
            break
        chosen.append(term)
        rows += n
    if chosen:
        return scope, _any(chosen)
    rarest = [term for _, term in present[:2]]
    for several in (rarest, rarest[:1]):
        words = " AND ".join(map(phrase, several))
        if _count(db, words, scope):
            break
    newest = db.execute(_NEWEST, (_expression(words, scope), scope.low, scope.high)).fetchone()
    return (scope if newest is None else replace(scope, low=newest[0])), words


def _count(db: sqlite3.Connection, words: str, scope: Scope) -> int:
    return db.execute(_COUNT, (_expression(words, scope), scope.low, scope.high)).fetchone()[0]


def _best(db: sqlite3.Connection, words: str, scope: Scope, limit: int) -> list[int]:
    statement = _BEST.format(match=_MATCH, also=scope.also)
    parameters = (_expression(words, scope), scope.low, scope.high, *scope.values, limit)
    return [row for (row,) in db.execute(statement, parameters)]


def _like(db: sqlite3.Connection, term: str) -> list[str]:
    """Words of the index of which this one is a part."""
    trigrams = dict.fromkeys(term[at : at + 3] for at in range(len(term) - 2))
    expression = " AND ".join(f'"{trigram}"' for trigram in trigrams)
    return [word for (word,) in db.execute(_LIKE, (expression, term, MOST_LIKE))]


def _any(terms: Iterable[str]) -> str:
    return " OR ".join(map(phrase, terms))


def _expression(words: str, scope: Scope) -> str:
    return f"({{about text}} : ({words})){scope.filters}"
