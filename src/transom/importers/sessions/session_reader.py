"""Reads a session file as events, one line at a time, so that a session of any size takes little memory.

A reader is fed line by line. It holds back the lines of a turn until the turn is complete, since one message may take
several lines. Numbers of lines count the lines that hold a message, from 0.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from operator import itemgetter

from msgspec import Struct

from transom.core.message import Raw
from transom.errors import InvalidMessage
from transom.wire.dialect import Dialect, Placed
from transom.wire.fields import text


class Said(Struct, frozen=True, kw_only=True):
    """A message of a session, in the form of the session's dialect.

    `branch`: the subagent whose conversation it belongs to; empty for the session's own. `first`: the number of its
    first line, from 0, where only lines with a message count (`SessionReader.count`); `lines`: how many of these it was
    made from. `at`: when it was said, in seconds since the epoch, None if the line has no time. `injected`: the file
    says that the program wrote it in the user's name. `left_with`: for the summary of a compaction by the program, the
    text that the model was left with of everything before; otherwise empty.
    """

    branch: str = ""
    first: int
    lines: int = 1
    message: Raw
    at: float | None = None
    injected: bool = False
    left_with: str = ""


class SystemPrompt(Struct, frozen=True, kw_only=True):
    """The system prompt of a session. This event comes before the first message."""

    text: str


SessionEvent = Said | SystemPrompt


def subagent_name(session: str, branch: str) -> str:
    """Return the name for the conversation of a subagent: "SESSION#BRANCH"."""
    return f"{session}#{branch}"


Ranges = list[tuple[int, int]]
"""Ranges of numbers, of lines or of entries, in rising order. A pair has the first one, and the one after the last."""


class SessionReader:
    """Reads the lines of one session. A subclass reads those of one program.

    A message is held back until its turn is complete. What one call of `feed` or `flush` returns for a branch are whole
    turns; only a turn of more than 5,000 lines may come in pieces. A message is taken back if the user has replaced it
    later, by another prompt or by going back in the session; that may become known only after the message was returned.

    `count`: how many lines with a message were read: the number, from 0, of the next one. `ids`: those that the lines
    read so far give to the session, in the order in which they came up. There may be several: a session that was
    resumed or forked may repeat lines of another one. `unnamed`: the branches whose lines do not name their subagent; a
    subagent that is named has the same name in every file.
    """

    def __init__(self) -> None:
        self.count = 0
        self.ids: dict[str, None] = {}
        self.unnamed = set[str]()
        self._held: list[Said] = []  # of the newest turn
        self._ranges: dict[str, Ranges] = {}

    @staticmethod
    def is_line(value: object) -> bool:
        """True if a value is a line that only sessions of this program have."""
        raise NotImplementedError

    @property
    def taken_back(self) -> Mapping[str, Ranges]:
        """For each branch, the ranges of lines whose messages were taken back, as far as the lines read so far say.
        Lines are counted as for `Said.first`; a range does not include its end."""
        return self._ranges

    @property
    def left_out(self) -> Sequence[str]:
        """What was meant for the model and is in no message, as far as the lines read so far say: one line of text for
        each kind, with the number of things."""
        return ()

    def feed(self, line: object) -> list[SessionEvent]:
        """Take the next line, parsed; return the events that it completes, often none."""
        raise NotImplementedError

    def flush(self) -> list[SessionEvent]:
        """Return all messages that are held back, although their turn may be incomplete.

        None is held back afterwards.
        """
        held, self._held = self._held, []
        return [*held]

    def _take_back(self, first: int, end: int, branch: str = "") -> None:
        """Note that the messages from the line `first` to before `end` were taken back. Ranges that begin at `first` or
        later go."""
        ranges = self._ranges.setdefault(branch, [])
        while ranges and ranges[-1][0] >= first:
            ranges.pop()
        ranges.append((first, end))


def accepted_messages(
    said: list[Said], dialect: Dialect, on_refused: Callable[[int, str], None]
) -> tuple[list[Said], list[Placed]]:
    """Return the messages that the dialect accepts, and their facts, each with the position of its message in the
    returned list.

    Programs write what no API takes, such as a block that broke off, and a session is not given up for that.
    `on_refused`: called for each message that is left out, with its position in `said` and the reason.
    """
    with suppress(InvalidMessage):
        return said, dialect.parse([each.message for each in said])
    kept: list[Said] = []
    facts: list[Placed] = []
    for at, each in enumerate(said):
        try:
            found = dialect.parse([each.message])
        except InvalidMessage as problem:
            on_refused(at, problem.why)
        else:
            facts += [(len(kept), fact) for _, fact in found]
            kept.append(each)
    return kept, facts


def is_in(number: int, ranges: Ranges) -> bool:
    """True if a number is in one of these ranges, which must be in rising order. A range does not include its end."""
    at = bisect_right(ranges, number, key=itemgetter(0)) - 1
    return at >= 0 and number < ranges[at][1]


def seconds_of(line: Raw) -> float | None:
    """Return the time of a line in seconds since the epoch; None if it has no ISO 8601 `timestamp`. One without a zone
    is local time."""
    try:
        return datetime.fromisoformat(text(line, "timestamp")).timestamp()
    except (ValueError, OverflowError):
        return None
