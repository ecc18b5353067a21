"""The managers that come with the library. None changes its input; each gives the same for the same.

What they return is a new list that shares nothing with what came in, calls and results together whatever stood in it.
`PassthroughManager` alone hands on what it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

from msgspec import Struct

from transom.clock import Clock, system_clock
from transom.errors import InvalidSetting
from transom.history.coherence import coherent, turns
from transom.history.events import HistoryCurated
from transom.history.protocol import HistoryManager, Publisher, SessionProtocol, strategy_name

Messages = Sequence[dict[str, Any]]


class PassthroughManager(Struct, frozen=True):
    """Everything, as it came: a new list of the same messages."""

    def curate(self, messages: Messages, *, session: SessionProtocol) -> list[dict[str, Any]]:  # noqa: ARG002 - protocol
        return list(messages)


class SlidingWindowManager(Struct, frozen=True):
    """The leading system messages and the newest turns that are together at most `window_size` messages.

    A turn stays or goes whole, so there may be fewer; with 0, or a newest turn larger than the window, there is only
    the system message. The engine never goes that far (`EngineManager` with `max_messages`): it keeps the first task
    and the newest turn. Raises InvalidSetting for a size below 0, and `curate` InvalidMessage for what is no message.
    """

    window_size: int

    def __post_init__(self) -> None:
        _not_negative("window_size", self.window_size)

    def curate(self, messages: Messages, *, session: SessionProtocol) -> list[dict[str, Any]]:  # noqa: ARG002 - protocol
        head, rest = turns(messages)
        start, room = len(rest), self.window_size
        while start and len(rest[start - 1]) <= room:
            start -= 1
            room -= len(rest[start])
        return [*head, *(message for turn in rest[start:] for message in turn)]


class ToolResultTruncator(Struct, frozen=True):
    """Tool results of at most `max_length` characters, the `suffix` that marks a cut inside the limit.

    The parts of a result share the limit, the first come first; images stay. Where the suffix is longer than the limit
    there is as much of it as fits. Raises InvalidSetting for a length below 0, and `curate` InvalidMessage.
    """

    max_length: int = 2000
    suffix: str = "\n... [truncated]"

    def __post_init__(self) -> None:
        _not_negative("max_length", self.max_length)

    def curate(self, messages: Messages, *, session: SessionProtocol) -> list[dict[str, Any]]:  # noqa: ARG002 - protocol
        return [self._truncated(message) for message in coherent(messages)]

    def _truncated(self, message: dict[str, Any]) -> dict[str, Any]:
        content: object = message.get("content")
        if message["role"] not in {"tool", "function"}:
            return message
        if isinstance(content, str):
            return {**message, "content": self._cut([content])[0]}
        if not isinstance(content, list):
            return message
        parts = cast("list[dict[str, Any]]", content)
        left = iter(self._cut([part["text"] for part in parts if part.get("type") == "text"]))
        shown = [{**part, "text": next(left)} if part.get("type") == "text" else part for part in parts]
        return {**message, "content": [part for part in shown if part.get("type") != "text" or part["text"]] or ""}

    def _cut(self, texts: list[str]) -> list[str]:
        """The texts within the limit; behind the cut, which the suffix marks, they are empty."""
        if sum(map(len, texts)) <= self.max_length:
            return texts
        out, room, mark = list[str](), max(0, self.max_length - len(self.suffix)), self.suffix[: self.max_length]
        for text in texts:
            shown = text[:room]
            room -= len(shown)
            if len(shown) < len(text):
                shown, mark = shown + mark, ""
            out.append(shown)
        return out


class ComposedManager(Struct, frozen=True):
    """Several managers, one after another. With none, a new list of the same messages."""

    managers: tuple[HistoryManager, ...] = ()

    def curate(self, messages: Messages, *, session: SessionProtocol) -> list[dict[str, Any]]:
        result = list(messages)
        for manager in self.managers:
            result = manager.curate(result, session=session)
        return result


class ObservableManager(Struct, frozen=True):
    """Any manager, with a `HistoryCurated` event on the bus for each time it curates. It changes nothing else.

    `strategy` is the inner manager's name if not given.
    """

    inner: HistoryManager
    bus: Publisher
    prompt_name: str = ""
    strategy: str = ""
    clock: Clock = system_clock

    def curate(self, messages: Messages, *, session: SessionProtocol) -> list[dict[str, Any]]:
        result = self.inner.curate(messages, session=session)
        self.bus.publish(
            HistoryCurated(
                prompt_name=self.prompt_name,
                original_count=len(messages),
                curated_count=len(result),
                strategy=self.strategy or strategy_name(self.inner),
                session_id=getattr(session, "session_id", None),
                created_at=datetime.fromtimestamp(self.clock(), UTC),
            )
        )
        return result


ObservableSlidingWindowManager = ObservableManager
"""The name under which one manager could be observed before any could."""


def _not_negative(name: str, value: object) -> None:
    if type(value) is not int or value < 0:
        raise InvalidSetting(f"{name} must be a whole number of at least 0, not {value!r}")
