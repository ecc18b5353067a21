"""Data computed from a log: the name index, rendered messages, counted texts.

It exists only to save work. Everything in it follows from the log, so an `IndexCache` may be dropped at any time, and a
new one gives the same windows.
"""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


class IndexCache:
    """A cache of values that are computed from a log: one value of each class, made on first use.

    A conversation owns one and hands it to whoever needs it. Two threads must not use it at the same time: work on a
    view in another thread takes a new one.
    """

    def __init__(self) -> None:
        self._values: dict[type[Any], Any] = {}

    def of(self, kind: type[T]) -> T:
        """The value of this class. At the first call `kind()` makes it; later calls return the same object."""
        value = self._values.get(kind)
        if value is None:
            value = self._values[kind] = kind()
        return value
