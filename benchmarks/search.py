"""What search costs: CPU time to index made-up entries, and to find rare and common words among them.

    python benchmarks/search.py --entries 1000000

Goals at 1,000,000 entries: indexing under 0.2 ms an entry, a rare word under 20 ms, common ones under 200 ms, with any
filter.
"""

from __future__ import annotations

import argparse
import itertools
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from transom.core.entry import Entry, Meta
from transom.core.message import Assistant, Call, Fact, Text, ToolResult, User
from transom.search import SearchFilters, search_index
from transom.stores import SqliteStore

CONVERSATION = 1_000
USERS = 50
RUNS = 5


class Writer:
    """Makes up texts: words by Zipf's law, a name of their own in each, and Chinese in every tenth."""

    def __init__(self) -> None:
        self._random = random.Random(1)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.words = ["".join(self._random.choices(letters, k=self._random.randint(2, 10))) for _ in range(50_000)]
        self._weights = list(itertools.accumulate(1 / rank for rank in range(1, len(self.words) + 1)))

    def text(self, number: int) -> str:
        size = self._random.choice([10, 30, 60, 120])
        words = self._random.choices(self.words, cum_weights=self._weights, k=size)
        chinese = " 数据库索引报错" if number % 10 == 0 else ""
        return f"{' '.join(words)} handleRequest{number:07d}Done{chinese}"

    def conversation(self, first: int) -> Iterator[Entry]:
        for seq in range(CONVERSATION):
            text = self.text(first + seq)
            parts, fact = (Text(text=text),), seq % 3
            body: Fact
            if fact == 0:
                body = User(parts=parts)
            elif fact == 1:
                call = Call(id=f"c{seq}", name="sh", args=f'{{"command": "make target{seq}"}}')
                body = Assistant(parts=parts, calls=(call,))
            else:
                body = ToolResult(parts=parts, call=f"c{seq - 1}")
            owner = Meta(user_id=f"user-{first // CONVERSATION % USERS}") if not seq else None
            yield Entry(seq=seq, at=float(first + seq), body=body, meta=owner)


def measured(action: object, runs: int = RUNS) -> tuple[float, object]:
    """CPU milliseconds of the quickest of some runs, and what the action returned."""
    times: list[float] = []
    answer: object = None
    for _ in range(runs):
        begin = time.process_time()
        answer = action()
        times.append(time.process_time() - begin)
    return min(times) * 1_000, answer


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
        print(f"indexing one new entry: {measured(index.update, 1)[0]:.2f} ms")
    print(f"nothing new: {measured(index.update)[0]:.2f} ms")
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
    print(f"{'CPU ms':>32}" + "".join(f"{name:>11}" for name in scopes))
    for name, query in queries.items():
        cells = [measured(lambda f=f, q=query: index.search(q, filters=f))[0] for f in scopes.values()]
        print(f"{name:>32}" + "".join(f"{ms:>11.2f}" for ms in cells))
    store.close()


if __name__ == "__main__":
    main()
