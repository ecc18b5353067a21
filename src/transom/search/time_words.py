"""Times as words of the index, so that a search between two dates reads only the rows of that time.

Each entry has a word for the 64 seconds in which it was appended, one for the 512 seconds around these, and so on, each
period eight times as long as the one before. A range of time is then a few dozen words: long periods in its middle,
short ones towards its ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import floor

SHORTEST = 6
"""The shortest period has 2^6 = 64 seconds."""
STEP = 3
"""Each period has 2^3 = 8 of the next shorter ones."""
END = 36
"""Times from 1970 on, for 2^36 seconds, some 2,000 years. What lies outside is put at the nearer end."""
_LAST = (1 << END) - 1


def time_words(at: float) -> list[str]:
    """Return the words of all periods that a time, in seconds since the epoch, is in."""
    second = _second(at)
    return [_word(shift, second >> shift) for shift in range(SHORTEST, END, STEP)]


def words_between(since: float | None, until: float | None) -> tuple[list[str], list[str]]:
    """Return `(surely, maybe)`: the words of periods wholly between two times, and those of the shortest periods that
    the two times are in.

    An entry that has one of the first words was appended between the times. An entry that has one of the second may
    have been: its own time must be compared. None: no bound at that side.
    """
    ends = list(dict.fromkeys(_second(at) >> SHORTEST for at in (since, until) if at is not None))
    first = 0 if since is None else (_second(since) >> SHORTEST) + 1
    stop = 1 << END - SHORTEST if until is None else _second(until) >> SHORTEST
    return list(_covering(first, stop)), [_word(SHORTEST, end) for end in ends]


def _covering(first: int, stop: int) -> Iterator[str]:
    """Yield the words of the longest periods that make up the shortest periods from `first` up to `stop`."""
    for shift in range(SHORTEST, END, STEP):
        last_level = shift + STEP >= END
        while first < stop and (first & (1 << STEP) - 1 or last_level):
            yield _word(shift, first)
            first += 1
        while first < stop and stop & (1 << STEP) - 1:
            stop -= 1
            yield _word(shift, stop)
        first, stop = first >> STEP, stop >> STEP


def _second(at: float) -> int:
    return floor(min(max(at, 0.0), _LAST))


def _word(shift: int, number: int) -> str:
    """Name a period. The word ends with digits, so no stemmer changes it."""
    return f"t{shift}x{number}"
