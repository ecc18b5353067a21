"""What search costs in a PostgreSQL store of 1,000,000 made-up entries: milliseconds, server and process together.

    python benchmarks/postgres_search.py [--entries 1000000] [--url postgresql://…&schema=search]

Without --url it starts a server of its own. The tables of the index are loaded by COPY, as no application would. The
goals are those of `benchmarks/search.py`, as CPU on one machine: a rare word under 20 ms, common ones under 200 ms.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from collections import Counter
from pathlib import Path

from search import CONVERSATION, USERS, Writer
from transom.search import SearchFilters, search_index
from transom.search.entry_text import SearchTexts
from transom.stores import encode_entry
from transom.stores.postgres import PostgresStore
from transom.stores.postgres_search import _rows
from transom.stores.postgres_search_query import owner_key

RUNS = 3
_INSERT = """INSERT INTO search_entries
    SELECT log, seq, part, at, role, tool, tools, run_id, hidden, names, text,
        setweight(to_tsvector('words', about), 'B') || setweight(to_tsvector('words', said), 'A') FROM loaded"""


def load(url: str, entries: int) -> None:
    """Fill the tables of the store and of its index."""
    store, writer, words = PostgresStore(url), Writer(), Counter[str]()
    columns = "log, seq, part, at, role, tool, tools, run_id, hidden, names, text, about, said"
    with store.database.connect() as db:
        db.execute(f"SET search_path TO {store.database.schema}")
        db.execute("DROP INDEX search_entries_words; DROP INDEX search_words_parts")
        db.execute("CREATE UNLOGGED TABLE loaded AS SELECT *, text AS about, text AS said FROM search_entries LIMIT 0")
        for first in range(0, entries, CONVERSATION):
            made, texts = list(writer.conversation(first)), SearchTexts()
            name, append = f"conversation-{first // CONVERSATION}".encode(), secrets.randbits(63)
            found = db.execute("INSERT INTO logs (name, length) VALUES (%s, %s) RETURNING id", (name, len(made)))
            (log,) = found.fetchone() or (0,)
            user = owner_key(f"user-{first // CONVERSATION % USERS}")
            db.execute("INSERT INTO search_logs VALUES (%s, %s, %s, NULL, %s)", (log, len(made), user, append))
            with db.cursor().copy("COPY entries (log, seq, append, body) FROM STDIN") as copy:
                for entry in made:
                    copy.write_row((log, entry.seq, append, encode_entry(entry)))
            with db.cursor().copy(f"COPY loaded ({columns}) FROM STDIN") as copy:
                for entry in made:
                    if (text := texts.of(entry)) is not None:
                        for row in _rows(log, text, words):
                            copy.write_row(row)
        with db.cursor().copy("COPY search_words FROM STDIN") as copy:
            for pair in words.items():
                copy.write_row(pair)
        db.execute(_INSERT)
        db.execute("DROP TABLE loaded")
        db.execute("CREATE INDEX search_entries_words ON search_entries USING gin (words)")
        db.execute("CREATE INDEX search_words_parts ON search_words USING gin (word public.gin_trgm_ops)")
        db.execute("VACUUM ANALYZE")
    store.close()


def measure(url: str, entries: int) -> None:
    """Time each query in each scope: the quickest of some runs."""
    store, writer = PostgresStore(url), Writer()
    index = search_index(store)
    half = tuple(f"conversation-{number}" for number in range(0, entries // CONVERSATION, 2))
    scopes = {
        "store": SearchFilters(),
        "user": SearchFilters(user_id="user-7"),
        "one conv.": SearchFilters(conversations=("conversation-3",)),
        "half conv.": SearchFilters(conversations=half),
        "tool": SearchFilters(tools=("sh",)),
        "until half": SearchFilters(until=entries / 2),
        "since 1%": SearchFilters(since=entries / 100),
        "1% between": SearchFilters(since=entries / 2, until=entries * 0.51),
    }
    queries = {
        "a name, in 1 entry": f"handleRequest{entries // 2:07d}Done",
        "a part of a name": f"Request{entries // 2:07d}D",
        "a rare word": writer.words[20_000],
        "two rare words": f"{writer.words[20_000]} {writer.words[30_000]}",
        "a rare and a common word": f"{writer.words[20_000]} {writer.words[0]}",
        "a word in 4% of the entries": writer.words[100],
        "the most common word": writer.words[0],
        "three very common words": " ".join(writer.words[:3]),
        "Chinese, in 10% of the entries": "索引报错",
        "a question of ten common words": " ".join(writer.words[:20:2]),
        "a word that nobody said": "zzzzqqqq",
    }
    print(f"{'ms':>32}" + "".join(f"{name:>11}" for name in scopes))
    for name, query in queries.items():
        cells: list[str] = []
        for scope in scopes.values():
            times: list[float] = []
            for _ in range(RUNS):
                begin = time.perf_counter()
                hits = index.search(query, filters=scope)
                times.append(time.perf_counter() - begin)
            cells.append(f"{min(times) * 1_000:>8.1f}/{len(hits):<2}")
        print(f"{name:>32}" + "".join(cells), flush=True)
    store.close()


def main() -> None:
    """Load, unless it is loaded; measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--url")
    options = parser.parse_args()
    url = options.url
    if url is None:
        sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
        from postgres_server import TestServer  # noqa: PLC0415

        url = TestServer(f"s{os.getpid()}").url("search")
    store = PostgresStore(url)
    known = store.names()
    store.close()
    if not known:
        begin = time.perf_counter()
        load(url, options.entries)
        print(f"{options.entries:,} entries loaded in {time.perf_counter() - begin:.0f} s", flush=True)
    measure(url, options.entries)


if __name__ == "__main__":
    main()
