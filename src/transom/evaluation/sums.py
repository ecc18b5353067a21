"""Figures that are added up over calls and conversations, and shares of them."""

from __future__ import annotations

from typing import Any, Self

from msgspec import Struct


class Sums(Struct, frozen=True, kw_only=True):
    """Figures that can be added up. Each field is a number, or figures of this kind again; by default it is zero."""

    def plus(self, other: Self) -> Self:
        """Return the sums of this and `other`, field by field."""
        return type(self)(**{name: _sum(getattr(self, name), getattr(other, name)) for name in self.__struct_fields__})


def _sum(one: Any, other: Any) -> Any:
    return one.plus(other) if isinstance(one, Sums) else one + other


def share(part: float, whole: float) -> float | None:
    """Return `part / whole`; None if `whole` is 0."""
    return part / whole if whole else None
