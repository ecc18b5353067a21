"""Sequences that never change. A copy with a change is cheap: it shares nearly everything.

A view is a value, and each entry makes the next one. A tuple is copied as a whole for each change, which takes long
once it has thousands of items: a turn of ten thousand calls, a window of ten thousand messages. Short ones (up to
`CHUNK` items) are plain tuples, because nothing is faster than these.

For the type checker a `Vector` is a tuple: it does what tuples do. An `IntVector` has whole numbers and mostly grows at
its end: there the longer versions share one array. An `IdentityKey` makes such a value the key of a cache.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, islice
from typing import Any, Generic, TypeVar, cast, overload

T = TypeVar("T")
Key = TypeVar("Key", int, "tuple[Any, ...]")

CHUNK = 64
"""The maximum number of items in a chunk. A change copies one chunk or two, and the list of the chunks."""


def vector(items: Iterable[T]) -> tuple[T, ...]:
    """An immutable sequence of these items: a plain tuple up to 64 items (`CHUNK`), otherwise a `Vector`."""
    whole = items if isinstance(items, tuple) else tuple(items)
    return whole if len(whole) <= CHUNK else cast("tuple[T, ...]", Vector(whole))


def appended(items: tuple[T, ...], item: T) -> tuple[T, ...]:
    """A copy of `items`, a tuple or what `vector` has made, with one more item at its end."""
    if (chunks := _chunks_of(items)) is not None:
        return cast("tuple[T, ...]", chunks.plus(item))
    return vector((*items, item))


def replaced(items: tuple[T, ...], at: int, item: T) -> tuple[T, ...]:
    """A copy of `items`, a tuple or what `vector` has made, with another item at the index `at`. There must be an item
    at `at`, and `at` must not be negative; neither is checked."""
    if (chunks := _chunks_of(items)) is not None:
        return cast("tuple[T, ...]", chunks.with_item(at, item))
    return (*items[:at], item, *items[at + 1 :])


def spliced(items: tuple[T, ...], start: int, stop: int, new: Iterable[T]) -> tuple[T, ...]:
    """A copy of `items`, a tuple or what `vector` has made, with `new` in the place of the items from index `start` to
    before `stop`. The indexes must be 0 or more, and `start` at most `stop`; this is not checked."""
    if (chunks := _chunks_of(items)) is not None:
        return cast("tuple[T, ...]", chunks.spliced(start, stop, new))
    return vector((*items[:start], *new, *items[stop:]))


def index_after(items: Sequence[T], key: Key, of: Callable[[T], Key]) -> int:
    """How many items have a key of at most `key`, by bisection. `of` gives an item's key; the keys of `items` must
    rise."""
    if (chunks := _chunks_of(items)) is not None:
        return chunks.index_after(key, of)
    return bisect_right(items, key, key=of)


def _chunks_of(items: Sequence[T]) -> Vector[T] | None:
    """The items, if they are a Vector; None for a plain tuple. (The type checker takes both for tuples.)"""
    return items if isinstance(items, Vector) else None


class Vector(Sequence[T]):
    """An immutable sequence that shares its chunks with its changed copies. Make it with `vector`, and a changed copy
    with the functions `appended`, `replaced` or `spliced`, which also take plain tuples. It is no `tuple` for
    `isinstance`, but a slice of it is one. It equals any sequence of the same items."""

    # The items are in `_chunks`, each with 1 to CHUNK items, and behind them in `_last`, which has fewer than CHUNK:
    # that is where an appended item goes.
    __slots__ = ("_chunks", "_last", "_length", "_starts")

    def __init__(self, items: Sequence[T]) -> None:
        whole = len(items) // CHUNK * CHUNK
        self._chunks, self._last = _cut(items[:whole], CHUNK), tuple(items[whole:])
        self._starts, self._length = _starts_of(self._chunks), len(items)

    @classmethod
    def _of(cls, chunks: tuple[tuple[T, ...], ...], last: tuple[T, ...], starts: tuple[int, ...]) -> Vector[T]:
        """`starts`: the index of the first item of each chunk, then that of the first item of `last`."""
        made = cls.__new__(cls)
        made._chunks, made._last, made._starts, made._length = chunks, last, starts, starts[-1] + len(last)
        return made

    def __add__(self, other: tuple[T, ...]) -> tuple[T, ...]:
        return (*self, *other)

    def __radd__(self, other: tuple[T, ...]) -> tuple[T, ...]:
        return (*other, *self)

    def plus(self, item: T) -> Vector[T]:
        """A copy with one more item at its end."""
        last = (*self._last, item)
        if len(last) < CHUNK:
            return self._of(self._chunks, last, self._starts)
        return self._of((*self._chunks, last), (), (*self._starts, self._length + 1))

    def with_item(self, at: int, item: T) -> Vector[T]:
        """A copy with another item at this index, which must not be negative."""
        number = bisect_right(self._starts, at) - 1
        old, place = self._chunk(number), at - self._starts[number]
        chunk = (*old[:place], item, *old[place + 1 :])
        if number == len(self._chunks):
            return self._of(self._chunks, chunk, self._starts)
        return self._of((*self._chunks[:number], chunk, *self._chunks[number + 1 :]), self._last, self._starts)

    def spliced(self, start: int, stop: int, new: Iterable[T]) -> Sequence[T]:
        """A copy with `new` in the place of the items from index `start` to before `stop`; a plain tuple if it has few
        items. The chunks before and behind the changed ones are shared."""
        starts, last = self._starts, len(self._chunks)
        first, end = bisect_right(starts, start) - 1, bisect_left(starts, stop)
        before = self[starts[first] : start]
        if first == last or end > last:
            rest = Vector((*before, *new, *self[stop:]))
            made = self._with_chunks(self._chunks[:first] + rest._chunks, rest._last)
        else:
            changed = (*before, *new, *self[stop : starts[end]])
            if first and len(changed) < CHUNK // 2:  # or many changes would leave many small chunks
                first -= 1
                changed = self._chunks[first] + changed
            size = len(changed) // (len(changed) // CHUNK + 1) + 1  # chunks of about one size, each with room
            made = self._with_chunks(self._chunks[:first] + _cut(changed, size) + self._chunks[end:], self._last)
        return made if len(made) > CHUNK else tuple(made)

    def index_after(self, key: Key, of: Callable[[T], Key]) -> int:
        """How many items have a key of at most `key`. `of` gives an item's key; the keys rise."""
        if self._last and of(self._last[0]) <= key:
            number = len(self._chunks)
        else:
            number = max(0, bisect_right(self._chunks, key, key=lambda chunk: of(chunk[0])) - 1)
        return self._starts[number] + bisect_right(self._chunk(number), key, key=of)

    def _chunk(self, number: int) -> tuple[T, ...]:
        """The chunk with this number. The number behind that of the last chunk stands for `_last`."""
        return self._chunks[number] if number < len(self._chunks) else self._last

    def _with_chunks(self, chunks: tuple[tuple[T, ...], ...], last: tuple[T, ...]) -> Vector[T]:
        return self._of(chunks, last, _starts_of(chunks))

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step != 1:
                return tuple(self)[index]
            number = bisect_right(self._starts, start) - 1
            behind = chain(chain.from_iterable(self._chunks[number : bisect_left(self._starts, stop)]), self._last)
            skipped = self._starts[number]
            return tuple(islice(behind, start - skipped, max(start, stop) - skipped))
        at = index + self._length if index < 0 else index
        if not 0 <= at < self._length:
            raise IndexError(index)
        number = bisect_right(self._starts, at) - 1
        return self._chunk(number)[at - self._starts[number]]

    def __iter__(self) -> Iterator[T]:
        return chain(chain.from_iterable(self._chunks), self._last)

    def __reversed__(self) -> Iterator[T]:
        return chain(reversed(self._last), chain.from_iterable(map(reversed, reversed(self._chunks))))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)  # pyright: ignore[reportUnknownArgumentType]

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Vector({tuple(self)!r})"


def _cut(items: Sequence[T], size: int) -> tuple[tuple[T, ...], ...]:
    """These items in chunks of `size`; the last one may be shorter."""
    return tuple([tuple(items[at : at + size]) for at in range(0, len(items), size)])


def _starts_of(chunks: Iterable[tuple[Any, ...]]) -> tuple[int, ...]:
    """The index of the first item of each of these chunks, and of the first item behind them."""
    return tuple(accumulate(map(len, chunks), initial=0))


class IntVector:
    """An immutable sequence of whole numbers (64 bits; OverflowError beyond). `plus` and `without` return another one
    and leave this one as it is. It has no slices and no hash, and equals only an IntVector of the same numbers.

    The versions of a sequence share one array. Each knows how many of the array's first numbers are its own, and these
    never change. To append in place, `plus` needs the right of its version: a bytearray of one byte. Whoever pops that
    byte has the right, and the new version gets a right of its own; everybody else copies the array first. The pop is
    atomic, so only one thread gets the right.
    """

    __slots__ = ("_length", "_numbers", "_right")

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._numbers = array("q", numbers)
        self._length = len(self._numbers)
        self._right = bytearray(1)  # Python's garbage collector looks at lists, not at these

    def plus(self, numbers: Iterable[int]) -> IntVector:
        """A new sequence: the numbers of this one, then `numbers`. Both share one array if this version still has the
        right to append (see the class); otherwise the array is copied."""
        try:
            self._right.pop()
        except IndexError:  # somebody has appended already
            longer = IntVector(self._numbers[: self._length])
            longer._numbers.extend(numbers)
        else:
            longer = IntVector.__new__(IntVector)
            longer._numbers, longer._right = self._numbers, bytearray(1)
            longer._numbers.extend(numbers)
        longer._length = len(longer._numbers)
        return longer

    def without(self, index: int) -> IntVector:
        """A sequence of these numbers without the one at `index`, which must be from 0 to the length − 1 (it is not
        checked).

        Without the last number, both share the array, and the next `plus` of the shorter one copies it. Without any
        other, the array is copied here.
        """
        if index == self._length - 1:
            shorter = IntVector.__new__(IntVector)
            shorter._numbers, shorter._length, shorter._right = self._numbers, index, bytearray()
            return shorter
        return IntVector(self._numbers[:index] + self._numbers[index + 1 : self._length])

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> int:
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._numbers[index if index >= 0 else self._length + index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers[: self._length])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntVector) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def index_of(self, number: int) -> int | None:
        """The index of a number, None if it is not there. Only for a sequence of rising numbers."""
        at = bisect_left(self._numbers, number, 0, self._length)
        return at if at < self._length and self._numbers[at] == number else None

    def to_array(self) -> array[int]:
        """A copy of the numbers, as an array."""
        return self._numbers[: self._length]


class IdentityKey(Generic[T]):
    """A cache key that equals only a key of the very same object. Hashing it takes the same short time for any object.

    The key keeps its object alive, so that no other object can get the same identity.
    """

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other.value is self.value  # pyright: ignore[reportUnknownMemberType]
