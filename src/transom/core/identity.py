"""Use an object as the key of a cache, by its identity instead of its value."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


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
