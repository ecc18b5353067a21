"""What search costs in a PostgreSQL store of 1,000,000 made-up entries: milliseconds, server and process together.

    python benchmarks/postgres_search.py [--entries 1000000] [--url postgresql://…&schema=search]

Without --url it starts a server of its own. The tables of the index are loaded by COPY, as no application would. The
goals are those of `benchmarks/search.py`, as CPU on one machine: a rare word under 20 ms, common ones under 200 ms.
"""

from __future__ import annotations

import argparse
import secrets
import time
from collections import Counter

from made_up import CONVERSATION, USERS, Writer, print_times
from own_server import server_url
from transom.search import search_index
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
    store = PostgresStore(url)
    print_times("ms", search_index(store), entries, time.perf_counter, RUNS)
    store.close()


def main() -> None:
    """Load, unless it is loaded; measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--url")
    options = parser.parse_args()
    url = options.url or server_url("search")
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
