"""Queries of an FTS5 index: which words are looked up, in which rows, and how the rows found are ranked.

The ranking is BM25 (S. Robertson, H. Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond, 2009) over lists
of rows, with each word counted once in a row. The `bm25` of FTS5 visits all rows of the table that have a word, also
those of other users, to know how rare the word is. Here the work grows with the rows that are ranked. Words that are in
many rows are left out where a rarer word says enough; where all words are common, only the newest rows that have them
are ranked.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import combinations, islice
from math import log

from msgspec import Struct
from msgspec.structs import asdict, replace

from transom.errors import InvalidSetting, quote
from transom.search.base import SearchFilters, checked_filters
from transom.search.words import has_words, phrase, query_terms

MAX_LIMIT = 1_000
FEW_ROWS = 5_000
"""If no more entries than this are between the dates, they are listed once. Else each row with a word is compared."""
MOST_ROWS = 10_000
"""About how many rows one query ranks at most."""
PROBE = 2_500
"""Rows by which common words are compared; of those that are not ranked, no more are read."""
MOST_TOGETHER = 3
"""How many common words, the rarest of them, are looked for in pairs."""
ENOUGH_ROWS = 100
"""If more rows than this have two common words, only these are ranked; else rows with one of them are ranked too."""
MOST_LOG_WORDS = 100
"""If more conversations than this are given, each row that has a word is compared with them, which costs less than a
query with a word for each."""
MOST_LENGTHS = 1_000
"""The lengths of this many of the best rows are taken into account."""
K1, B = 1.2, 0.2
"""The constants of BM25. K1: how soon further words count less; B: how much less a long text counts."""
MOST_LIKE = 50
"""The most words of the index that are looked up because they contain a word of the query."""
SEQ_BITS = 32
HIGHEST = 2**63 - 1

MATCHING = "SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?"
AMONG_LOGS = " AND rowid >> 32 IN (SELECT value FROM json_each(?))"
_ENDS = "SELECT min(row), max(row) FROM entries AS entry WHERE true"
_FEW = "SELECT count(*) FROM (SELECT 1 FROM entries AS entry WHERE true"
_NEWEST = " ORDER BY rowid DESC LIMIT ?"
_SIZE = "SELECT count(*) FROM (SELECT id FROM words_docsize WHERE id BETWEEN ? AND ? LIMIT ?)"
_LENGTHS = "SELECT id, sz FROM words_docsize WHERE id IN (SELECT value FROM json_each(?))"
_LIKE = """SELECT vocabulary.word FROM parts JOIN vocabulary ON vocabulary.id = parts.rowid
           WHERE parts MATCH ? AND instr(vocabulary.word, ?) ORDER BY length(vocabulary.word) LIMIT ?"""
_FIRST = """SELECT entry.row, min(first.is_copy << 62 | first.row) & ~(1 << 62)
            FROM entries AS entry JOIN entries AS first USING (same, said_in)
            WHERE entry.row IN (SELECT value FROM json_each(?))"""
_CHUNK_ROWS = 200
"""Rows that are looked at together, whether they are hits."""


class FtsFilter(Struct, frozen=True, kw_only=True):
    """Which rows of the index a search ranks: `SearchFilters` as parts of an FTS5 query and of its SQL statement."""

    matching: str = ""
    """Conditions of the FTS5 query, which begins with AND: role, tool, run, user, session, conversation, file."""
    excluding: str = ""
    """A condition of the FTS5 query that no row may meet, which begins with NOT: hidden rows."""
    low: int = 0
    high: int = HIGHEST
    """The first and the last row number: those of the conversation, if only one is searched, and of the dates."""
    hidden: str = ""
    """An SQL condition on `entries AS entry`, which begins with AND: not hidden."""
    between: str = ""
    """SQL conditions on `entries AS entry`, which begin with AND: the dates."""
    times: tuple[float, ...] = ()
    """The values of the parameters of `between`."""
    are_few: bool = False
    """Whether at most FEW_ROWS entries are between the dates."""
    logs: str = ""
    """A JSON array of the ids of the searched conversations; empty if all are searched."""
    are_many: bool = False
    """Whether they are more than MOST_LOG_WORDS. If not, `matching`, `low` and `high` select them too."""


def check_search(query: object, filters: object, limit: object) -> SearchFilters:
    """Check the arguments of a search, and return its filters as a new SearchFilters: lists are made tuples, and
    numbers floats. A value of any other wrong type is an error, also a time that is given as a text.

    Raises InvalidSetting unless `query` is a text (it may be empty), `filters` is a SearchFilters, `limit` is a whole
    number from 1 to 1,000, every filter is right (`checked_filters`), and `filters.file`, if given, has a letter or
    digit.
    """
    if not isinstance(query, str):
        raise InvalidSetting(f"query: must be a text, not {quote(query)}")
    if not isinstance(filters, SearchFilters):
        raise InvalidSetting(f"filters: must be SearchFilters, not {quote(filters)}")
    if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
        raise InvalidSetting(f"limit: must be a whole number from 1 to {MAX_LIMIT:,}, not {quote(limit)}")
    filters = checked_filters(asdict(filters))
    if filters.file and not has_words(filters.file):
        raise InvalidSetting(f"file: needs a letter or a digit, not {quote(filters.file)}")
    return filters


def fts_filter_of(db: sqlite3.Connection, filters: SearchFilters, logs: Sequence[int] | None) -> FtsFilter:
    """Translate filters into an FtsFilter. `logs`: the ids of the conversations in the index; None: all. With dates, it
    reads from `db` which rows are between them.

    Entries are stored in the order of their times, nearly. So the first and the last row between the dates leave out
    most rows of other times.
    """
    are_many = logs is not None and len(logs) > MOST_LOG_WORDS
    low, high = (logs[0] << SEQ_BITS, ((logs[0] + 1) << SEQ_BITS) - 1) if logs and len(logs) == 1 else (0, HIGHEST)
    groups = [
        [scope_word("role", role) for role in filters.roles],
        [scope_word("tool", tool) for tool in filters.tools],
        [scope_word("run", filters.run_id)] if filters.run_id else [],
        [scope_word("user", filters.user_id)] if filters.user_id is not None else [],
        [scope_word("session", filters.session_id)] if filters.session_id is not None else [],
        [scope_word("log", str(number)) for number in logs or ()] if high == HIGHEST and not are_many else [],
    ]
    parts = [_any_scope(group) for group in groups if group]
    if filters.file:
        parts.append(f"{{about text}} : {phrase(filters.file)}")
    dates = [(" AND entry.at >= ?", filters.since), (" AND entry.at <= ?", filters.until)]
    between, times = (
        "".join(text for text, at in dates if at is not None),
        tuple(at for _, at in dates if at is not None),
    )
    are_few = False
    if between:
        counted = db.execute(f"{_FEW}{between} LIMIT {FEW_ROWS + 1})", times)
        are_few = counted.fetchone()[0] <= FEW_ROWS
        of_log = "" if high == HIGHEST else f" AND row BETWEEN {low} AND {high}"
        first, last = db.execute(f"{_ENDS}{of_log}{between}", times).fetchone()
        low, high = (low, low - 1) if first is None else (first, last)
    return FtsFilter(
        matching="".join(f" AND {part}" for part in parts),
        excluding="" if filters.include_hidden else f" NOT scope : {HIDDEN}",
        low=low,
        high=high,
        hidden=" AND NOT entry.hidden" * (not filters.include_hidden),
        between=between,
        times=times,
        are_few=are_few,
        logs="" if logs is None else json.dumps(logs),
        are_many=are_many,
    )


@lru_cache(maxsize=4_096)
def scope_word(kind: str, value: str) -> str:
    """Return the word that stands in the column `scope` for entries with this value. It is a "k" and digits, so no
    stemmer changes it."""
    digest = blake2b(f"{kind}\0{value}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return f"k{int.from_bytes(digest)}"


HIDDEN = scope_word("hidden", "")
"""The word of entries that only people may read."""


def rankings(db: sqlite3.Connection, query: str, where: FtsFilter) -> list[Iterator[int]]:
    """Rank the rows for a query in several ways. Each ranking is an iterator of row numbers, the best first; it may be
    empty.

    One ranking is by the whole query as a phrase, if it has two words or more. One is by the words of the query that
    occur: the rarest ones, as long as at most MOST_ROWS rows have them; if even the rarest is in more, by the newest
    rows. Both are left out if none of its words occurs. For each word of three characters or more that occurs nowhere,
    one ranking is by the words that contain it, if there are any.
    """
    terms = query_terms(query)
    having = {term: _rows(db, phrase(term), where, PROBE) for term in terms}
    # of words that are in too many rows to count, the newest rows reach the further back, the rarer the word is
    present = sorted(filter(having.get, terms), key=lambda term: (len(having[term]), having[term][-1]))
    found: list[Iterator[int]] = []
    if present:
        lists = _PostingLists(db, where, having)
        several = _chosen(present, lists)
        if len(terms) > 1:
            rarest = lists.whole(present[0])  # the phrase is in no row that lacks it
            among = replace(where, low=rarest[-1]) if len(rarest) > MOST_ROWS else where
            found.append(_ranked(db, [_rows(db, phrase(query), among)], where))
        found.append(_ranked(db, several, where))
    for term in terms:
        if not having[term] and len(term) >= 3 and (like := _like(db, term)):
            found.append(_ranked(db, [_rows(db, " OR ".join(map(phrase, like)), where)], where))
    return found


class _PostingLists:
    """The rows that have each word of a query, the newest first.

    `begun`: the beginning of each list: PROBE + 1 rows for a word that is in more than PROBE rows, otherwise all. The
    rest is read only if it is asked for.
    """

    def __init__(self, db: sqlite3.Connection, where: FtsFilter, begun: dict[str, list[int]]) -> None:
        self._db, self._where, self._lists = db, where, begun
        self._whole = {term for term, rows in begun.items() if len(rows) <= PROBE}

    def whole(self, term: str) -> list[int]:
        """Return the rows of a word, up to MOST_ROWS + 1."""
        if term not in self._whole:
            self._whole.add(term)
            self._lists[term] = _rows(self._db, phrase(term), self._where)
        return self._lists[term]

    def both(self, one: str, other: str) -> list[int]:
        """Return the rows that have both words, up to MOST_ROWS + 1."""
        return _rows(self._db, f"{phrase(one)} AND {phrase(other)}", self._where)


def _chosen(present: Sequence[str], lists: _PostingLists) -> list[list[int]]:
    """Choose the lists of rows to rank by: those of the rarest words (`present` begins with them), as long as they have
    at most MOST_ROWS rows. If all are commoner: the newest rows with two of the rarest, and if those are few, with the
    rarest."""
    chosen: list[list[int]] = []
    total = 0
    for term in present:
        rows = lists.whole(term)
        total += len(rows)
        if total > MOST_ROWS:
            break
        chosen.append(rows)
    if chosen:
        return chosen
    pairs = [lists.both(one, other) for one, other in combinations(present[:MOST_TOGETHER], 2)]
    alone = [] if sum(map(len, pairs)) > ENOUGH_ROWS else [lists.whole(present[0])]
    return [rows for rows in pairs if rows] + alone


def _rows(db: sqlite3.Connection, words: str, where: FtsFilter, most: int = MOST_ROWS) -> list[int]:
    """Return the numbers of the rows that match, the newest first, at most `most` + 1. Dates are compared before the
    limit is applied: else all of the newest rows could be outside them."""
    statement, values = MATCHING, where.times
    if where.between and where.are_few:  # with the plus, FTS5 does not look each of them up for itself
        statement += f" AND +rowid IN (SELECT row FROM entries AS entry WHERE true{where.between})"  # noqa: S608 - a text of ours
    elif where.between:
        statement += f" AND EXISTS (SELECT 1 FROM entries AS entry WHERE row = words.rowid{where.between})"  # noqa: S608 - a text of ours
    if where.are_many:
        statement, values = statement + AMONG_LOGS, (*values, where.logs)
    expression = f"(({{about text}} : ({words})){where.matching}){where.excluding}"
    return [row for (row,) in db.execute(statement + _NEWEST, (expression, where.low, where.high, *values, most + 1))]


def _ranked(db: sqlite3.Connection, words: Sequence[list[int]], where: FtsFilter) -> Iterator[int]:
    """Yield the rows in these lists, one of each word, the best first: BM25, with each word counted once in a row, and
    the length of the best MOST_LENGTHS rows. Among equals the newer row is first."""
    among = _size(db, where)
    scores: dict[int, float] = {}
    for rows in words:
        rarity = log(1 + (max(among, len(rows)) - len(rows) + 0.5) / (len(rows) + 0.5))
        for row in rows:
            scores[row] = scores.get(row, 0.0) + rarity
    ranked = sorted(sorted(scores, reverse=True), key=scores.__getitem__, reverse=True)  # sorting keeps the order
    lengths = _lengths(db, ranked[:MOST_LENGTHS])
    mean = max(1.0, sum(lengths.values()) / max(1, len(lengths)))
    for row, length in lengths.items():
        scores[row] /= 1 + K1 * (1 - B + B * length / mean)
    yield from sorted(lengths, key=lambda row: (-scores[row], -row))
    yield from ranked[MOST_LENGTHS:]


def _size(db: sqlite3.Connection, where: FtsFilter) -> int:
    """Count the rows that are searched, up to MOST_ROWS + 1. Dates, hidden rows and `where.logs` are not regarded: the
    number is for the rarity of words only."""
    if where.matching:
        parameters = (where.matching.removeprefix(" AND "), where.low, where.high, MOST_ROWS + 1)
        return db.execute(f"SELECT count(*) FROM ({MATCHING} LIMIT ?)", parameters).fetchone()[0]  # noqa: S608 - a text of ours
    return db.execute(_SIZE, (where.low, where.high, MOST_ROWS + 1)).fetchone()[0]


def _lengths(db: sqlite3.Connection, rows: Sequence[int]) -> dict[int, int]:
    """Return for each of these rows how many words its columns `about` and `text` have, in the same order."""
    stored = dict(db.execute(_LENGTHS, (json.dumps(rows),)))
    return {row: sum(_numbers(stored[row])[-2:]) for row in rows}


def _numbers(sizes: bytes) -> list[int]:
    """Decode the word counts of a row's columns as FTS5 stores them: 7 bits a byte, the last one below 128."""
    numbers, value = list[int](), 0
    for byte in sizes:
        value = value << 7 | byte & 127
        if byte < 128:
            numbers.append(value)
            value = 0
    return numbers


def _like(db: sqlite3.Connection, term: str) -> list[str]:
    """Return words of the index that contain this word, the shortest first."""
    trigrams = dict.fromkeys(term[at : at + 3] for at in range(len(term) - 2))
    expression = " AND ".join(f'"{trigram}"' for trigram in trigrams)
    return [word for (word,) in db.execute(_LIKE, (expression, term, MOST_LIKE))]


def shown(db: sqlite3.Connection, rows: Iterable[int], where: FtsFilter, limit: int) -> list[int]:
    """Return the first `limit` of these rows that meet the conditions of `where` on hidden rows and dates, each entry
    once: an entry that several conversations have in common, because they are forks, is that of the conversation in
    which it was said, or if that is not searched, of the first searched fork."""
    found: dict[int, None] = {}
    ahead = iter(rows)
    of_logs, logs = (
        (" AND first.row >> 32 IN (SELECT value FROM json_each(?))", [where.logs]) if where.logs else ("", [])
    )
    statement = f"{_FIRST}{where.hidden}{where.between}{of_logs} GROUP BY entry.row"
    while len(found) < limit and (chunk := list(islice(ahead, _CHUNK_ROWS))):
        first = dict[int, int](db.execute(statement, (json.dumps(chunk), *where.times, *logs)))
        found.update((first[row], None) for row in chunk if row in first)
    return list(found)[:limit]


def _any_scope(words: Iterable[str]) -> str:
    return f"scope : ({' OR '.join(words)})"
