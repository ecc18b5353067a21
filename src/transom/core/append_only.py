"""Whole numbers that only grow at their end, shared by the views of one log.

Many values share one array, and each knows how many of its numbers are its own. A list with one item is a token: who
pops it may append to the array in place, and all others copy it first. The pop is atomic, so only one thread gets the
token, and the value that it makes has a new one. The first `len(self)` numbers never change.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator


class AppendOnly:
    """A value: `plus` and `without` return another one."""

    __slots__ = ("_length", "_numbers", "_right")

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._numbers = array("q", numbers)
        self._length = len(self._numbers)
        self._right = [True]

    def plus(self, numbers: Iterable[int]) -> AppendOnly:
        """These numbers and more."""
        try:
            self._right.pop()
        except IndexError:  # somebody has appended already
            longer = AppendOnly(self._numbers[: self._length])
            longer._numbers.extend(numbers)
        else:
            longer = AppendOnly.__new__(AppendOnly)
            longer._numbers, longer._right = self._numbers, [True]
            longer._numbers.extend(numbers)
        longer._length = len(longer._numbers)
        return longer

    def without(self, index: int) -> AppendOnly:
        """These numbers without one of them. Without the last, they share the array, and the next `plus` copies."""
        if index == self._length - 1:
            shorter = AppendOnly.__new__(AppendOnly)
            shorter._numbers, shorter._length, shorter._right = self._numbers, index, []
            return shorter
        return AppendOnly(self._numbers[:index] + self._numbers[index + 1 : self._length])

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> int:
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._numbers[index if index >= 0 else self._length + index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers[: self._length])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AppendOnly) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def index_of(self, number: int) -> int | None:
        """Where a number is, if the numbers rise and it is among them."""
        at = bisect_left(self._numbers, number, 0, self._length)
        return at if at < self._length and self._numbers[at] == number else None

    def to_array(self) -> array[int]:
        """A copy of the numbers."""
        return self._numbers[: self._length]
