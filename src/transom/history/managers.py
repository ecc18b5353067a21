"""What a history manager is: messages in, messages out; and the managers that come with the library.

None of these changes its input; each gives the same for the same. What they return is a new list that shares nothing
with what came in, calls and results together whatever stood in it; `PassthroughManager` alone hands on what it got.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import accumulate, chain
from typing import Any, Protocol, TypeVar
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from transom.clock import Clock, system_clock
from transom.conversation.conversation import Conversation
from transom.conversation.replay import split
from transom.core.budget import UNLIMITED, Budget
from transom.core.message import Fact, Part, Raw, Text, ToolResult
from transom.errors import InvalidSetting
from transom.policies.plain import PASSTHROUGH
from transom.stores import MemoryStore
from transom.wire.openai import OPENAI_CHAT

T = TypeVar("T")
Messages = Sequence[dict[str, Any]]


class SessionProtocol(Protocol):
    """What a manager may ask of a session: who it is, and the values of one of its slices, oldest first."""

    @property
    def session_id(self) -> UUID | None:
        """The id of the session, if it has one."""
        ...

    def select_all(self, kind: type[T], /) -> tuple[T, ...]:
        """The values of one slice, oldest first."""
        ...


class Publisher(Protocol):
    """Where events go: a session, or anybody's event bus."""

    def publish(self, event: object, /) -> None: ...


class HistoryManager(Protocol):
    """Curates what the provider sees of a conversation."""

    def curate(self, messages: Messages, *, session: SessionProtocol) -> list[dict[str, Any]]:
        """A new list from the whole one, the system message first: a part of it, a transformation, or the same.

        It returns at least the system message if there is one, keeps calls and results together, does not change its
        input, and gives the same for the same input.
        """
        ...


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


def coherent(messages: Sequence[object]) -> list[Raw]:
    """The messages, every result behind its call: equal to the input if that was a valid request.

    A result without a call is left out, a call without a result gets a made one, a result that stands elsewhere comes
    to its call, an empty message goes. Nothing is shared with the input. Raises InvalidMessage for what is no message.
    """
    return [*chain.from_iterable(_turns(messages))]


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
        _check("window_size", self.window_size)

    def curate(self, messages: Messages, *, session: SessionProtocol) -> list[dict[str, Any]]:  # noqa: ARG002 - protocol
        head, *turns = _turns(messages)
        sizes = list(accumulate(map(len, reversed(turns))))
        start = len(turns) - bisect_right(sizes, self.window_size)
        return [*head, *chain.from_iterable(turns[start:])]


class ToolResultTruncator(Struct, frozen=True):
    """Tool results of at most `max_length` characters, the `suffix` that marks a cut inside the limit.

    The parts of a result share the limit, the first come first; images stay. Where the suffix is longer than the limit
    there is as much of it as fits. Raises InvalidSetting for a length below 0, and `curate` InvalidMessage.
    """

    max_length: int = 2000
    suffix: str = "\n... [truncated]"

    def __post_init__(self) -> None:
        _check("max_length", self.max_length)

    def curate(self, messages: Messages, *, session: SessionProtocol) -> list[dict[str, Any]]:  # noqa: ARG002 - protocol
        return [*chain.from_iterable(_turns(messages, self._cut))]

    def _cut(self, fact: Fact) -> Fact:
        """A result within the limit; of its texts behind the cut, which the suffix marks, nothing stays."""
        size = sum(len(part.text) for part in fact.parts if isinstance(part, Text))
        if not isinstance(fact, ToolResult) or size <= self.max_length:
            return fact
        parts: list[Part] = []
        room, mark = max(0, self.max_length - len(self.suffix)), self.suffix[: self.max_length]
        for part in fact.parts:
            if isinstance(part, Text):
                shown, whole = part.text[:room], len(part.text) <= room
                room -= len(shown)
                part = Text(shown if whole else shown + mark, part.extra)  # noqa: PLW2901 - the part as it shows
                mark = mark if whole else ""
            if not isinstance(part, Text) or part.text:
                parts.append(part)
        return replace(fact, parts=tuple(parts))


class ComposedManager(Struct, frozen=True):
    """Several managers, one after another. With none, a new list of the same messages."""

    managers: tuple[HistoryManager, ...] = ()

    def curate(self, messages: Messages, *, session: SessionProtocol) -> list[dict[str, Any]]:
        result = list(messages)
        for manager in self.managers:
            result = manager.curate(result, session=session)
        return result


class HistoryCurated(Struct, frozen=True):
    """A manager decided what a provider sees: how many messages there were, and how many it left."""

    prompt_name: str
    original_count: int
    curated_count: int
    strategy: str
    session_id: UUID | None
    created_at: datetime


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


class _Uncounted:
    """Nothing is cut for its size here, so nothing need be counted."""

    name = "uncounted"

    def count(self, text: str) -> int:  # noqa: ARG002 - as a counter is asked
        return 0


def _turns(messages: Sequence[object], change: Callable[[Fact], Fact] = lambda fact: fact) -> list[list[Raw]]:
    """The system messages that lead, then the turns: each a message with all the answers to its calls. The engine says
    what stands together; nothing here pairs by itself."""
    head, facts = split(messages)
    log, budget = MemoryStore().open("turns"), Budget(context=UNLIMITED)
    conversation = Conversation(log, budget=budget, policy=PASSTHROUGH, counter=_Uncounted(), system=head)
    for _, fact in facts:
        conversation.append(change(fact))
    conversation.plan_request()
    rendered = [OPENAI_CHAT.render_head(conversation.head), *map(OPENAI_CHAT.render_slot, conversation.view.slots)]
    return [OPENAI_CHAT.join(each) for each in rendered]


def _check(name: str, value: object) -> None:
    if type(value) is not int or value < 0:
        raise InvalidSetting(f"{name} must be a whole number of at least 0, not {value!r}")
