"""What search costs: CPU time to index made-up entries, and to find rare and common words among them.

    python benchmarks/search.py --entries 1000000

Goals at 1,000,000 entries: indexing under 0.2 ms an entry, a rare word under 20 ms, common ones under 200 ms, with any
filter.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from made_up import CONVERSATION, Writer, print_times, quickest
from transom.core.entry import Entry
from transom.core.message import Text, User
from transom.search import search_index
from transom.stores import SqliteStore

RUNS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="keep the store here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        run(folder / "bench.db", options.entries)


def run(path: Path, entries: int) -> None:
    writer, store = Writer(), SqliteStore(path, synchronous="normal")
    known = len(store.names()) * CONVERSATION
    for first in range(known, entries, CONVERSATION):
        store.open(f"conversation-{first // CONVERSATION}").append(list(writer.conversation(first)), 0)
    index = search_index(store)
    begin, indexed = time.process_time(), index.update()
    if indexed:
        print(f"indexing: {(time.process_time() - begin) / indexed * 1_000:.3f} ms an entry, {indexed:,} entries")
    store_bytes, index_bytes = path.stat().st_size, Path(f"{path}.search").stat().st_size
    print(f"store {store_bytes / 1e6:,.0f} MB, index {index_bytes / 1e6:,.0f} MB")
    append = store.open("conversation-0")
    one = Entry(seq=CONVERSATION, at=0.0, body=User(parts=(Text(text=writer.text(entries)),)))
    if len(append) == CONVERSATION:
        append.append([one], CONVERSATION)
        print(f"indexing one new entry: {quickest(index.update, time.process_time, 1)[0]:.2f} ms")
    print(f"nothing new: {quickest(index.update, time.process_time, RUNS)[0]:.2f} ms")
    print_times("CPU ms", index, entries, time.process_time, RUNS)
    store.close()


if __name__ == "__main__":
    main()
