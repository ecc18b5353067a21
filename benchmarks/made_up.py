"""Made-up conversations for the measurements of search, and the questions that are asked of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

from transom.core.entry import Entry, Meta
from transom.core.message import Assistant, Call, Fact, Text, ToolResult, User
from transom.search import SearchFilters, SearchIndex

CONVERSATION = 1_000
"""Entries of a conversation."""
USERS = 50


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


def scopes(entries: int) -> dict[str, SearchFilters]:
    """The filters to search with, by a name of at most ten characters."""
    half = tuple(f"conversation-{number}" for number in range(0, entries // CONVERSATION, 2))
    return {
        "store": SearchFilters(),
        "user": SearchFilters(user_id="user-7"),
        "one conv.": SearchFilters(conversations=("conversation-3",)),
        "half conv.": SearchFilters(conversations=half),
        "tool": SearchFilters(tools=("sh",)),
        "until half": SearchFilters(until=entries / 2),
        "since 1%": SearchFilters(since=entries / 100),
        "1% between": SearchFilters(since=entries / 2, until=entries * 0.51),
    }


def queries(entries: int) -> dict[str, str]:
    """What to search for, by a description."""
    words = Writer().words
    return {
        "a name, in 1 entry": f"handleRequest{entries // 2:07d}Done",
        "a part of a name": f"Request{entries // 2:07d}D",
        "a rare word": words[20_000],
        "two rare words": f"{words[20_000]} {words[30_000]}",
        "a rare and a common word": f"{words[20_000]} {words[0]}",
        "a word in 4% of the entries": words[100],
        "the most common word": words[0],
        "three very common words": " ".join(words[:3]),
        "Chinese, in 10% of the entries": "索引报错",
        "a question of ten common words": " ".join(words[:20:2]),
        "a word that nobody said": "zzzzqqqq",
    }


def print_times(title: str, index: SearchIndex, entries: int, clock: Callable[[], float], runs: int) -> None:
    """Print for each query in each scope the milliseconds of the quickest run, and the number of hits."""
    filters = scopes(entries)
    print(f"{title:>32}" + "".join(f"{name:>12}" for name in filters))
    for description, query in queries(entries).items():
        cells = [quickest(lambda f=f, q=query: len(index.search(q, filters=f)), clock, runs) for f in filters.values()]
        print(f"{description:>32}" + "".join(f"{ms:>9.2f}/{hits:<2}" for ms, hits in cells), flush=True)


def quickest(action: Callable[[], int], clock: Callable[[], float], runs: int) -> tuple[float, int]:
    """The milliseconds of the quickest of some runs, and the number that the action returned."""
    times: list[float] = []
    answer = 0
    for _ in range(runs):
        begin = clock()
        answer = action()
        times.append(clock() - begin)
    return min(times) * 1_000, answer
