"""Calls by their number: the first request of a log is call 1, the last is also call -1."""

from __future__ import annotations

from transom.core.entry import Entry, Sent
from transom.errors import InvalidSetting, quote, shorten
from transom.stores import StoredLog


def sent_requests(log: StoredLog) -> list[Entry]:
    """Every `Sent` of a log, in order: call number n is the one at n − 1."""
    return [entry for entry in log.read() if isinstance(entry.body, Sent)]


def call_number(at: object, calls: int, name: str) -> int:
    """The number of a call, from 1 on; `at` counts from 1, or from the last as −1. Raises InvalidSetting if there is no
    such call."""
    if isinstance(at, int):
        number = at if at > 0 else calls + 1 + at
        if at and 1 <= number <= calls:
            return number
    raise InvalidSetting(f"there is no call {quote(at)}: {shorten(name)} has {calls:,}, counted from 1")
