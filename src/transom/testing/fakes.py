"""Simple implementations for tests: a clock, a token counter, and a log in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transom.core.entry import Entry


class FakeClock:
    """A clock whose time changes only when it is read: the first call returns `start` (0 if not given), each later call
    `step` seconds (1 if not given) more than the call before."""

    def __init__(self, start: float = 0.0, step: float = 1.0) -> None:
        self.now, self.step = start, step

    def __call__(self) -> float:
        """Return the time in seconds; the next call returns `step` more."""
        now = self.now
        self.now += self.step
        return now


class WordCounter:
    """A token counter: one token for every four characters, rounded up; 0 for the empty text. Fast, and the same
    everywhere."""

    name = "words"

    def count(self, text: str) -> int:
        """The tokens of one text."""
        return (len(text) + 3) // 4


class Entries:
    """A log in memory that never changes: entries that are added to the given list later are not in it. A negative
    index raises IndexError, as in every log."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self._entries = tuple(entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, seq: int, /) -> Entry:
        if not 0 <= seq < len(self._entries):
            raise IndexError(f"no entry {seq} in a log of {len(self._entries)}")
        return self._entries[seq]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)
