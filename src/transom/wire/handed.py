"""Messages as they leave: dicts that tell when somebody changes them, and can be handed out again until then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from transom.core.message import Raw


class Seal:
    """Whether the messages handed out under it are all as they were."""

    __slots__ = ("whole",)

    def __init__(self) -> None:
        self.whole = True


class Message(dict[str, Any]):
    """A message of a window: a dict like any other, but that a change of it breaks its seal. Copies are plain dicts.

    `stands_apart`: it came by itself though its neighbour has the same role, and is not joined to the one before it.
    """

    __slots__ = ("_seal", "stands_apart")

    def __init__(self, message: Raw, seal: Seal | None = None, *, stands_apart: bool = False) -> None:
        super().__init__(message)
        self._seal, self.stands_apart = seal, stands_apart

    def __reduce_ex__(self, protocol: object) -> tuple[type[Raw], tuple[Raw]]:
        return dict, (dict(self),)


def handed(messages: Iterable[Raw], seal: Seal) -> list[Raw]:
    """Copies of messages, under a seal."""
    return [Message(message, seal, stands_apart=is_apart(message)) for message in messages]


def apart(message: Raw) -> Message:
    """A message that is not joined to the one before it."""
    return Message(message, stands_apart=True)


def is_apart(message: Raw) -> bool:
    return isinstance(message, Message) and message.stands_apart


def like(message: Raw, changed: Raw) -> Raw:
    """What a message was changed to, which stands apart if the message does."""
    return apart(changed) if is_apart(message) else changed


def _breaking(change: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(change)
    def changed(self: Any, *args: Any, **fields: Any) -> Any:
        if self._seal is not None:
            self._seal.whole = False
        return change(self, *args, **fields)

    return changed


for _change in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(Message, _change, _breaking(getattr(dict, _change)))
