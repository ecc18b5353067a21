"""Sequences and mappings that never change. A copy with a change is cheap: it shares nearly everything.

A view is a value, and each entry makes the next one. A tuple is copied as a whole for each change, which takes long
once it has thousands of items: a turn of ten thousand calls, a window of ten thousand messages. Short ones (up to
`CHUNK` items) are plain tuples and dicts, because nothing is faster than these.

For the type checker a `Vector` is a tuple: it does what tuples do.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, TypeVar, cast, overload

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

CHUNK = 64
"""Items of a chunk, at most. A change copies one chunk, and the list of the chunks."""


def vector(items: Iterable[T]) -> tuple[T, ...]:
    """An immutable sequence of these items: a tuple if there are few."""
    whole = items if isinstance(items, tuple) else tuple(items)
    return whole if len(whole) <= CHUNK else cast("tuple[T, ...]", Vector(whole))


def appended(items: tuple[T, ...], item: T) -> tuple[T, ...]:
    """A sequence that `vector` has made, with one more item."""
    if (chunks := _chunks_of(items)) is not None:
        return cast("tuple[T, ...]", chunks.plus(item))
    return vector((*items, item))


def replaced(items: tuple[T, ...], at: int, item: T) -> tuple[T, ...]:
    """A sequence that `vector` has made, with another item at the index `at`, which is not negative."""
    if (chunks := _chunks_of(items)) is not None:
        return cast("tuple[T, ...]", chunks.with_item(at, item))
    return (*items[:at], item, *items[at + 1 :])


def spliced(items: tuple[T, ...], start: int, stop: int, new: Iterable[T]) -> tuple[T, ...]:
    """A sequence that `vector` has made, with `new` in the place of the items from index `start` to before `stop`."""
    if (chunks := _chunks_of(items)) is not None:
        return cast("tuple[T, ...]", chunks.spliced(start, stop, new))
    return vector((*items[:start], *new, *items[stop:]))


def index_after(items: Sequence[T], key: int, of: Callable[[T], int]) -> int:
    """How many items have a number of at most `key`. `of` gives an item's number; the numbers rise."""
    if (chunks := _chunks_of(items)) is not None:
        return chunks.index_after(key, of)
    return bisect_right(items, key, key=of)


def _chunks_of(items: Sequence[T]) -> Vector[T] | None:
    """The items, if they are a Vector; None for a plain tuple. (The type checker takes both for tuples.)"""
    return items if isinstance(items, Vector) else None


class Vector(Sequence[T]):
    """An immutable sequence in chunks of `CHUNK` items, the last one shorter. A slice of it is a tuple."""

    __slots__ = ("_chunks", "_last", "_length")

    def __init__(self, items: Sequence[T]) -> None:
        whole = len(items) // CHUNK * CHUNK
        self._chunks = tuple(tuple(items[at : at + CHUNK]) for at in range(0, whole, CHUNK))
        self._last, self._length = tuple(items[whole:]), len(items)

    @classmethod
    def _of(cls, chunks: tuple[tuple[T, ...], ...], last: tuple[T, ...]) -> Vector[T]:
        made = cls.__new__(cls)
        made._chunks, made._last, made._length = chunks, last, len(chunks) * CHUNK + len(last)
        return made

    def __add__(self, other: tuple[T, ...]) -> tuple[T, ...]:
        return (*self, *other)

    def __radd__(self, other: tuple[T, ...]) -> tuple[T, ...]:
        return (*other, *self)

    def plus(self, item: T) -> Vector[T]:
        """A copy with one more item."""
        last = (*self._last, item)
        return self._of(self._chunks, last) if len(last) < CHUNK else self._of((*self._chunks, last), ())

    def with_item(self, at: int, item: T) -> Vector[T]:
        """A copy with another item at this index, which must not be negative."""
        number, place = divmod(at, CHUNK)
        if number == len(self._chunks):
            return self._of(self._chunks, (*self._last[:place], item, *self._last[place + 1 :]))
        old = self._chunks[number]
        chunk = (*old[:place], item, *old[place + 1 :])
        return self._of((*self._chunks[:number], chunk, *self._chunks[number + 1 :]), self._last)

    def spliced(self, start: int, stop: int, new: Iterable[T]) -> Sequence[T]:
        """A copy with `new` in the place of the items from `start` to before `stop`. What precedes these is shared."""
        number = start // CHUNK
        rest = (*self[number * CHUNK : start], *new, *self[stop:])
        if not number and len(rest) <= CHUNK:
            return rest
        behind = Vector(rest)
        return self._of(self._chunks[:number] + behind._chunks, behind._last)

    def index_after(self, key: int, of: Callable[[T], int]) -> int:
        """How many items have a number of at most `key`. `of` gives an item's number; the numbers rise."""
        if self._last and of(self._last[0]) <= key:
            return self._length - len(self._last) + bisect_right(self._last, key, key=of)
        number = bisect_right(self._chunks, key, key=lambda chunk: of(chunk[0])) - 1
        return number * CHUNK + bisect_right(self._chunks[number], key, key=of) if number >= 0 else 0

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
            number = start // CHUNK
            behind = chain(chain.from_iterable(self._chunks[number : 1 + stop // CHUNK]), self._last)
            return tuple(islice(behind, start - number * CHUNK, max(start, stop) - number * CHUNK))
        at = index + self._length if index < 0 else index
        if not 0 <= at < self._length:
            raise IndexError(index)
        number, place = divmod(at, CHUNK)
        return self._last[place] if number == len(self._chunks) else self._chunks[number][place]

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


def with_value(table: Mapping[K, V], key: K, value: V) -> Mapping[K, V]:
    """A mapping with one more item, or another value of a key. The key keeps its place in the order."""
    if isinstance(table, Table):
        return table.plus(key, value)
    return {**table, key: value} if len(table) < CHUNK else Table(dict(table), {key: value})


def without_key(table: Mapping[K, V], key: K) -> Mapping[K, V]:
    """A mapping without this key, which must be there."""
    if isinstance(table, Table):
        return table.minus(key)
    left = dict(table)
    del left[key]
    return left


_GONE: Any = object()


class Table(Mapping[K, V]):
    """An immutable mapping: a dict that nobody changes, and the changes since.

    Each further change copies the changes, not the dict. Once they are more than the square root of the dict's length,
    a new dict is made of both: so n changes cost about n × √n.
    """

    __slots__ = ("_changes", "_gone", "_items")

    def __init__(self, items: dict[K, V], changes: dict[K, V], gone: int = 0) -> None:
        if len(changes) > CHUNK and len(changes) ** 2 > len(items):
            items = {key: value for key, value in {**items, **changes}.items() if value is not _GONE}
            changes, gone = {}, 0
        self._items, self._changes = items, changes
        self._gone = gone  # how many keys of `items` the changes remove, so that `len` need not look at each

    def plus(self, key: K, value: V) -> Table[K, V]:
        """A copy with one more item, or another value of a key."""
        return Table(self._items, {**self._changes, key: value}, self._gone - self._is_gone(key))

    def minus(self, key: K) -> Table[K, V]:
        """A copy without this key, which must be there."""
        if key in self._items:
            return Table(self._items, {**self._changes, key: _GONE}, self._gone + 1)
        return Table(self._items, {other: value for other, value in self._changes.items() if other != key}, self._gone)

    def _is_gone(self, key: K) -> bool:
        return key in self._items and self._changes.get(key) is _GONE

    def __getitem__(self, key: K) -> V:
        found = self._changes[key] if key in self._changes else self._items[key]
        if found is _GONE:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[K]:
        yield from (key for key in self._items if self._changes.get(key) is not _GONE)
        yield from (key for key in self._changes if key not in self._items)

    def __len__(self) -> int:
        return len(self._items) - self._gone + sum(key not in self._items for key in self._changes)
