"""Meters: how many entries a log was asked for, and how many texts a counter counted."""

from __future__ import annotations

from transom.core.entry import Entry
from transom.core.log import Log
from transom.core.tokens import TokenCounter


class MeteredLog:
    """A log that counts in `reads` how many entries were read from it."""

    def __init__(self, log: Log) -> None:
        self.log, self.reads = log, 0

    def __len__(self) -> int:
        return len(self.log)

    def __getitem__(self, seq: int, /) -> Entry:
        self.reads += 1
        return self.log[seq]


class MeteredCounter:
    """A token counter that counts how many texts and characters it was given (`texts`, `characters`)."""

    def __init__(self, counter: TokenCounter) -> None:
        self.counter, self.texts, self.characters = counter, 0, 0

    @property
    def name(self) -> str:
        """The name of the counter inside."""
        return self.counter.name

    def count(self, text: str) -> int:
        """The tokens of one text, by the counter inside."""
        self.texts += 1
        self.characters += len(text)
        return self.counter.count(text)
