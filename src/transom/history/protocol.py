"""What a history manager is: messages in, messages out. The names are the ones its users know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar
from uuid import UUID

from msgspec import Struct

T = TypeVar("T")


class SessionProtocol(Protocol):
    """What a manager may ask of a session: who it is, and the values of one of its slices, oldest first."""

    @property
    def session_id(self) -> UUID | None: ...

    def select_all(self, kind: type[T], /) -> tuple[T, ...]: ...


class Publisher(Protocol):
    """Where events go: a session, or anybody's event bus."""

    def publish(self, event: object, /) -> None: ...


class HistoryManager(Protocol):
    """Curates what the provider sees of a conversation.

    `curate` gets the whole list, the system message first, and returns a new one: a part of it, a transformation, or
    the same. It returns at least the system message if there is one, keeps calls and results together, does not change
    its input, and gives the same for the same input.
    """

    def curate(self, messages: Sequence[dict[str, Any]], *, session: SessionProtocol) -> list[dict[str, Any]]: ...


class CurationContext(Struct, frozen=True):
    """What a strategy may want to know beside the messages: the session, whether the system message must stay, and how
    many of the last messages must."""

    session: SessionProtocol
    preserve_system: bool = True
    preserve_last_n: int | None = None


def strategy_name(manager: object) -> str:
    """How events and policies name a manager: SlidingWindowManager is "sliding_window"."""
    name = type(manager).__name__.removesuffix("Manager") or "manager"
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
