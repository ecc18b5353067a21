"""Numbers model calls: the first request of a log is call 1, the last one is also call -1."""

from __future__ import annotations

from transom.core.entry import Entry, Sent
from transom.errors import InvalidSetting, quote, shorten
from transom.stores import StoredLog


def sent_requests(log: StoredLog) -> list[Entry]:
    """Return every `Sent` entry of a log, in order: call number n is at index n − 1."""
    return [entry for entry in log.read() if isinstance(entry.body, Sent)]


def sent_request(log: StoredLog, at: object) -> Entry:
    """Return the `Sent` entry of call `at`: from 1 on, or from the last if negative. Raises InvalidSetting if there is
    no such call."""
    calls = sent_requests(log)
    return calls[call_number(at, len(calls), log.name) - 1]


def call_number(at: object, calls: int, name: str) -> int:
    """Check the number of a call, and return it counted from 1: -1 is the last call, -2 the one before it.

    `calls`: how many calls the log has. `name`: of the conversation, for the error. Raises InvalidSetting if `at` is no
    whole number, 0, or beyond the first or the last call.
    """
    if isinstance(at, int) and not isinstance(at, bool):
        number = at if at > 0 else calls + 1 + at
        if at and 1 <= number <= calls:
            return number
    raise InvalidSetting(f"there is no call {quote(at)}: {shorten(name)} has {calls:,}, counted from 1")
