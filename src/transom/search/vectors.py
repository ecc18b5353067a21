"""Search by meaning: the vectors of entries are stored in the index file and compared one by one.

Brute force: a conversation of 100,000 entries takes some 10 ms, and nothing has to be built. A long text is embedded in
parts, and counts by its nearest part.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from transom.errors import InvalidSetting
from transom.search.base import Embedder
from transom.search.index_file import IndexFile
from transom.search.ranking import AMONG_LOGS, MATCHING, SEQ_BITS, FtsFilter
from transom.search.words import text_of_indexed

Place = TypeVar("Place")
"""What a vector is of: a row, or an entry of a conversation."""

PART_CHARACTERS = 1_000
"""Characters that are embedded as one text: as much as small models read."""
MAX_PARTS = 8
"""The most parts of an entry's text that are embedded; the rest is left out."""
BATCH_ENTRIES = 32
"""Entries that are embedded at once."""

_MISSING = """SELECT rowid, text FROM words WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?"""
_STORED = "SELECT entry, vector FROM vectors WHERE model = ? AND entry BETWEEN ? AND ?"
_LAST = "SELECT max(entry) FROM vectors WHERE model = ? AND entry BETWEEN ? AND ?"
_ADD = """INSERT OR REPLACE INTO vectors (entry, part, model, vector) SELECT :entry, :part, :model, :vector
          WHERE EXISTS (SELECT 1 FROM words WHERE rowid = :entry)"""


def update_vectors(file: IndexFile, embedder: Embedder, logs: Sequence[int] | None, most: int | None) -> int:
    """Compute and store the vectors that indexed entries of these conversations lack; return how many entries got
    vectors.

    `logs`: the ids of the conversations in the index; None: all. `most`: stop once this many entries are done, a whole
    batch at a time; None: no limit. Raises InvalidSetting as `embedded` does.
    """
    with file.connection() as db:
        numbers = [number for (number,) in db.execute("SELECT id FROM logs ORDER BY id")] if logs is None else logs
    done = 0
    for number in numbers:
        low, high = number << SEQ_BITS, ((number + 1) << SEQ_BITS) - 1
        while most is None or done < most:
            with file.connection() as db:
                last = db.execute(_LAST, (embedder.name, low, high)).fetchone()[0]
                rows = db.execute(_MISSING, (low - 1 if last is None else last, high, BATCH_ENTRIES)).fetchall()
            if not rows:
                break
            places = [(row, part, text) for row, stored in rows for part, text in parts_of(text_of_indexed(stored))]
            vectors = embedded(embedder, [text for _, _, text in places])
            with file.writing() as db:  # a conversation that was forgotten meanwhile gets no vectors
                db.executemany(
                    _ADD,
                    [
                        {"entry": row, "part": part, "model": embedder.name, "vector": vector.tobytes()}
                        for (row, part, _), vector in zip(places, vectors, strict=True)
                    ],
                )
            done += len(rows)
    return done


def nearest(db: sqlite3.Connection, embedder: Embedder, query: str, where: FtsFilter) -> Iterator[int]:
    """Yield the rows that have a vector, by the cosine with that of the query, the nearest first. Of the conditions in
    `where`, hidden rows and dates are not regarded: `shown` does that.

    Yields nothing for a blank query, or if no vectors are stored. Raises InvalidSetting as `embedded` does.
    """
    statement, values = _STORED, (embedder.name, where.low, where.high)
    if where.logs:
        statement, values = statement + AMONG_LOGS.replace("rowid", "entry"), (*values, where.logs)
    stored = db.execute(statement, values).fetchall()
    if not stored or not query.strip():
        return
    (wanted,) = embedded(embedder, [query[:PART_CHARACTERS]])
    allowed = _allowed(db, where)
    yield from (row for row in by_nearness(stored, wanted) if allowed is None or row in allowed)


def _allowed(db: sqlite3.Connection, where: FtsFilter) -> set[int] | None:
    """Return the rows that `where.matching` lets through; None for all. Hidden rows and dates are not regarded."""
    if not where.matching:
        return None
    parameters = (where.matching.removeprefix(" AND "), where.low, where.high)
    return {row for (row,) in db.execute(MATCHING, parameters)}


def by_nearness(stored: Sequence[tuple[Place, bytes]], wanted: Any) -> list[Place]:
    """Return the places of vectors by nearness to `wanted`, the nearest first, each place once. `wanted`: one vector of
    `embedded`. `stored`: pairs of a place and the bytes of its vector (float32, length 1). Vectors of other dimensions,
    which the model had before, are left out."""
    import numpy as np  # noqa: PLC0415 - only who searches by meaning needs it

    stored = [each for each in stored if len(each[1]) == wanted.nbytes]
    matrix = np.frombuffer(b"".join(vector for _, vector in stored), dtype=np.float32).reshape(-1, len(wanted))
    order: list[int] = np.argsort(-(matrix @ wanted), kind="stable").tolist()
    return list(dict.fromkeys(stored[at][0] for at in order))


def parts_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield the parts of a text that are embedded, 1,000 characters each, with their numbers from 0. Text after the
    eighth part is left out."""
    for part, start in enumerate(range(0, min(len(text), PART_CHARACTERS * MAX_PARTS), PART_CHARACTERS)):
        yield part, text[start : start + PART_CHARACTERS]


def embedded(embedder: Embedder, texts: Sequence[str]) -> Any:
    """Embed texts, and return the vectors as an array of float32 (texts, dimensions), each scaled to length 1; one of
    zeros stays zeros.

    Raises InvalidSetting if the embedder does not return an array of shape (texts, dimensions), of finite numbers.
    """
    import numpy as np  # noqa: PLC0415 - only who searches by meaning needs it

    given = embedder.embed(texts)
    try:
        vectors = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError) as problem:  # rows of different lengths, or no numbers
        raise InvalidSetting(f"embedder {embedder.name!r}: {len(texts)} texts gave no array of numbers") from problem
    if vectors.ndim != 2 or len(vectors) != len(texts):
        shape = " × ".join(map(str, vectors.shape))
        raise InvalidSetting(f"embedder {embedder.name!r}: {len(texts)} texts gave an array of {shape}")
    if not np.isfinite(vectors).all():
        raise InvalidSetting(f"embedder {embedder.name!r}: a vector has a number that is not finite (NaN or infinite)")
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
