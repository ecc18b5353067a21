"""An immutable sequence of whole numbers whose longer versions share one array: `AppendOnly`, for the views of one log.

Each version knows how many numbers of the array are its own; these never change. A bytearray of one byte is the right
to append to the array in place: who pops the byte has the right, and everybody else copies the array first. The pop is
atomic, so only one thread gets the right. The new version has a new right.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator


class AppendOnly:
    """An immutable sequence of whole numbers (64 bits). `plus` and `without` return another one and leave this one as
    it is."""

    __slots__ = ("_length", "_numbers", "_right")

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._numbers = array("q", numbers)
        self._length = len(self._numbers)
        self._right = bytearray(1)  # Python's garbage collector looks at lists, not at these

    def plus(self, numbers: Iterable[int]) -> AppendOnly:
        """A sequence of these numbers and then `numbers`. It shares this one's array if nobody else has appended to it
        yet."""
        try:
            self._right.pop()
        except IndexError:  # somebody has appended already
            longer = AppendOnly(self._numbers[: self._length])
            longer._numbers.extend(numbers)
        else:
            longer = AppendOnly.__new__(AppendOnly)
            longer._numbers, longer._right = self._numbers, bytearray(1)
            longer._numbers.extend(numbers)
        longer._length = len(longer._numbers)
        return longer

    def without(self, index: int) -> AppendOnly:
        """A sequence of these numbers without the one at `index`.

        Without the last number, both share the array, and the next `plus` copies it. Without any other, the array is
        copied.
        """
        if index == self._length - 1:
            shorter = AppendOnly.__new__(AppendOnly)
            shorter._numbers, shorter._length, shorter._right = self._numbers, index, bytearray()
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
        """The index of a number, None if it is not there. Only for a sequence of rising numbers."""
        at = bisect_left(self._numbers, number, 0, self._length)
        return at if at < self._length and self._numbers[at] == number else None

    def to_array(self) -> array[int]:
        """A copy of the numbers, as an array."""
        return self._numbers[: self._length]
