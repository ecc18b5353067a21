"""Computes and stores the vectors of entries in the search tables of a PostgreSQL store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

from transom.search.base import Embedder
from transom.search.vectors import BATCH, embedded, parts_of
from transom.stores.postgres_database import Db, PostgresDatabase

_MISSING: LiteralString = """SELECT log, seq, text FROM {s}.search_entries AS entry
    WHERE part = 0 AND NOT EXISTS (SELECT FROM {s}.search_vectors AS vector
        WHERE (vector.log, vector.seq, vector.model) = (entry.log, entry.seq, %s))"""
_ADD: LiteralString = """INSERT INTO {s}.search_vectors (log, seq, part, model, vector)
    SELECT log, seq, %s, %s, %b FROM {s}.search_entries WHERE log = %s AND seq = %s AND part = 0
    ON CONFLICT DO NOTHING"""
_ORDER: LiteralString = " ORDER BY log, seq LIMIT %s"


def update_vectors(database: PostgresDatabase, embedder: Embedder, logs: Sequence[int] | None, most: int | None) -> int:
    """Compute and store the vectors that indexed entries of these conversations lack; return how many entries got
    vectors.

    `logs`: the ids of the conversations; None: all. `most`: stop once this many entries are done, a whole batch at a
    time; None: no limit.
    """
    done, model = 0, embedder.name
    while most is None or done < most:
        if logs is None:
            rows = database.fetch(_MISSING + _ORDER, model, BATCH)
        else:
            rows = database.fetch(_MISSING + " AND log = ANY(%s::bigint[])" + _ORDER, model, list(logs), BATCH)
        if not rows:
            break
        places = [(log, seq, part, text) for log, seq, all_of_it in rows for part, text in parts_of(all_of_it)]
        vectors = embedded(embedder, [text for *_, text in places])
        added = [
            (part, model, vector.tobytes(), log, seq)
            for (log, seq, part, _), vector in zip(places, vectors, strict=True)
        ]

        def work(db: Db, added: Sequence[tuple[object, ...]] = added) -> None:
            with db.transaction(), db.cursor() as cursor:
                cursor.executemany(database.statement(_ADD), added)

        database.run(work)
        done += len(rows)
    return done
