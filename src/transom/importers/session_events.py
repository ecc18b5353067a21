"""What a session file says, as events: its lines are read one at a time, and a session of any size takes little memory.

A reader is fed line by line. It holds back the lines of a turn until the turn is complete, since one message may take
several lines. Every line that holds a message has a number, from 0.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from operator import itemgetter
from typing import Protocol

from msgspec import Struct

from transom.core.message import Raw
from transom.wire.violations import text


class Said(Struct, frozen=True, kw_only=True):
    """A message in the words of the session's dialect. `branch`: the subagent whose conversation it belongs to, empty
    for the session's own. `first` and `last`: the numbers of its lines; `lines`: how many these are. `at`: seconds
    since the epoch."""

    branch: str = ""
    first: int
    last: int
    lines: int = 1
    message: Raw
    at: float | None = None


class SystemPrompt(Struct, frozen=True, kw_only=True):
    """The instruction beside the messages; comes before the first of them."""

    text: str


SessionEvent = Said | SystemPrompt

Ranges = list[tuple[int, int]]
"""Numbers of lines, rising: of each pair from the first to before the second."""


class SessionReader(Protocol):
    """Reads the lines of one session. Messages that one call returns for a branch belong together: a whole turn."""

    @property
    def count(self) -> int:
        """The number of the next line that holds a message."""
        ...

    @property
    def held_from(self) -> int:
        """The number of the earliest line that is held back; `count` if there is none."""
        ...

    @property
    def taken_back(self) -> Mapping[str, Ranges]:
        """Which lines of each branch were taken back, as far as it is known now."""
        ...

    def feed(self, line: object) -> list[SessionEvent]:
        """What the next line completes."""
        ...

    def flush(self) -> list[SessionEvent]:
        """What is held back, as it is now."""
        ...


class Branch(Struct, frozen=True, kw_only=True):
    """One conversation of a session: `name` is empty for the session itself, else that of a subagent.

    `dropped` counts the lines of messages that were taken back.
    """

    name: str
    messages: list[Raw]
    dropped: int


class WholeSession(Struct, frozen=True, kw_only=True):
    """All conversations of a session, its own first, and its system prompt. `lines`: how many held a message."""

    branches: list[Branch]
    system: str | None
    lines: int


def read_session(reader: SessionReader, lines: Iterable[object]) -> WholeSession:
    """Read a session to its end. What was taken back is left out."""
    said: dict[str, list[Said]] = {}
    system: str | None = None
    for event in events(reader, lines):
        if isinstance(event, Said):
            said.setdefault(event.branch, []).append(event)
        else:
            system = event.text
    branches: list[Branch] = []
    for name, listed in sorted(said.items(), key=lambda item: item[0] != ""):
        gone = [is_taken_back(each, reader.taken_back.get(name, [])) for each in listed]
        messages = [each.message for each, left_out in zip(listed, gone, strict=True) if not left_out]
        dropped = sum(each.lines for each, left_out in zip(listed, gone, strict=True) if left_out)
        branches.append(Branch(name=name, messages=messages, dropped=dropped))
    return WholeSession(branches=branches, system=system, lines=reader.count)


def is_taken_back(said: Said, ranges: Ranges) -> bool:
    """Whether a message is in one of the ranges of its branch."""
    at = bisect_right(ranges, said.first, key=itemgetter(0)) - 1
    return at >= 0 and said.first < ranges[at][1]


def add_range(ranges: Ranges, first: int, end: int) -> None:
    """Add a range at the end: it takes in those that begin in it."""
    while ranges and ranges[-1][0] >= first:
        ranges.pop()
    ranges.append((first, end))


def seconds_of(line: Raw, key: str = "timestamp") -> float | None:
    """The time of a line in seconds since the epoch; None if it has none that can be read."""
    try:
        return datetime.fromisoformat(text(line, key)).timestamp()
    except (ValueError, OverflowError):
        return None


def events(reader: SessionReader, lines: Iterable[object]) -> Iterator[SessionEvent]:
    """Everything that a session says."""
    for line in lines:
        yield from reader.feed(line)
    yield from reader.flush()
