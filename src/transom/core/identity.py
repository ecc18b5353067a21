"""A value as the key of a cache, by its identity."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class ByIdentity(Generic[T]):
    """Equals only a key of the very same object, and costs nothing to hash, however large the object is.

    The key keeps its object alive, so that no other object gets its identity.
    """

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and other.value is self.value  # pyright: ignore[reportUnknownMemberType]
