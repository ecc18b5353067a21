"""The protocol of a history manager, and managers for common cases.

The managers here do not change their input, and return the same for the same input. The result is a new list of copies,
in which every call is followed by its results. `PassthroughManager` is the exception: its list has the messages that it
was given, as they are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from transom.conversation.appending.parse_messages import split_head
from transom.conversation.conversation import Conversation
from transom.core.budget import UNLIMITED, Budget
from transom.core.message import Fact, Part, Raw, Text, ToolResult
from transom.core.tokens import NoCounter
from transom.errors import InvalidSetting, quote
from transom.history.diff import FOR_MANAGERS
from transom.policies.default import PASSTHROUGH
from transom.stores import MemoryStore
from transom.wire.openai import OPENAI_CHAT

Messages = Sequence[dict[str, Any]]


class HistoryManager(Protocol):
    """An object that decides which messages of a conversation the model sees."""

    def curate(self, messages: Messages, *, session: object) -> list[dict[str, Any]]:
        """Return the messages that the model shall see, as a new list.

        `messages`: the conversation in OpenAI Chat, the system message first; under `managed_policy` with its earlier
        folds and trims. `session`: what the caller gave for the manager. The result may leave out messages or change
        them. It must have the system message if there is one, keep calls and results together, and be the same for the
        same input. The input must not be changed.
        """
        ...


def strategy_name(manager: object) -> str:
    """Return the name that edits and policies have for a manager, made of the name of its class: "sliding_window" for a
    SlidingWindowManager."""
    name = type(manager).__name__.removesuffix("Manager") or "manager"
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def coherent(messages: Sequence[object]) -> list[Raw]:
    """Return a copy of the messages in which every call is followed by its results. It is equal for a valid request.

    A result without a call, and an empty message, are left out. A call without a result gets a synthetic one. A result
    in another place is moved to its call. Raises InvalidMessage if an item is not an OpenAI Chat message.
    """
    return [*chain.from_iterable(_turns(messages))]


class PassthroughManager(Struct, frozen=True):
    """A manager that returns a new list of the very messages that it was given. Nothing is checked."""

    def curate(self, messages: Messages, *, session: object) -> list[dict[str, Any]]:  # noqa: ARG002 - protocol
        return list(messages)


class SlidingWindowManager(Struct, frozen=True):
    """A manager that keeps the system messages at the beginning, and the newest messages, at most `window_size` of
    these.

    A turn of the model with its results is kept or left out as a whole, so there may be fewer messages. If
    `window_size` is 0, or less than the newest turn has, only the system messages are left. (An `EngineManager` with
    `max_messages` always keeps the first task and the newest turn.) The messages are put in order as by `coherent`.
    Raises InvalidSetting for a size below 0; `curate` raises InvalidMessage if an item is not an OpenAI Chat message.
    """

    window_size: int

    def __post_init__(self) -> None:
        _check("window_size", self.window_size)

    def curate(self, messages: Messages, *, session: object) -> list[dict[str, Any]]:  # noqa: ARG002 - protocol
        head, *turns = _turns(messages)
        sizes = list(accumulate(map(len, reversed(turns))))
        start = len(turns) - bisect_right(sizes, self.window_size)
        return [*head, *chain.from_iterable(turns[start:])]


class ToolResultTruncator(Struct, frozen=True):
    """A manager that cuts tool results of more than `max_length` characters to that many, with the `suffix` that marks
    the cut among them.

    All texts of a result share the limit, in order; images are kept. A suffix longer than the limit is cut too. The
    messages are put in order as by `coherent`. Raises InvalidSetting for a length below 0; `curate` raises
    InvalidMessage if an item is not an OpenAI Chat message.
    """

    max_length: int = 2000
    suffix: str = "\n... [truncated]"

    def __post_init__(self) -> None:
        _check("max_length", self.max_length)

    def curate(self, messages: Messages, *, session: object) -> list[dict[str, Any]]:  # noqa: ARG002 - protocol
        return [*chain.from_iterable(_turns(messages, self._shortened))]

    def _shortened(self, fact: Fact) -> Fact:
        """Return a result within the limit, without the texts behind the suffix; any other fact as it is."""
        size = sum(len(part.text) for part in fact.parts if isinstance(part, Text))
        if not isinstance(fact, ToolResult) or size <= self.max_length:
            return fact
        parts: list[Part] = []
        remaining, suffix = max(0, self.max_length - len(self.suffix)), self.suffix[: self.max_length]
        for part in fact.parts:
            if isinstance(part, Text):
                kept, is_whole = part.text[:remaining], len(part.text) <= remaining
                remaining -= len(kept)
                part = Text(kept if is_whole else kept + suffix, part.extra)  # noqa: PLW2901 - the shortened part
                suffix = suffix if is_whole else ""
            if not isinstance(part, Text) or part.text:
                parts.append(part)
        return replace(fact, parts=tuple(parts))


class ComposedManager(Struct, frozen=True):
    """A manager that runs several, each on the result of the one before. Without any, it returns a new list of the same
    messages."""

    managers: tuple[HistoryManager, ...] = ()
    """The managers, in the order in which they run."""

    def curate(self, messages: Messages, *, session: object) -> list[dict[str, Any]]:
        result = list(messages)
        for manager in self.managers:
            result = manager.curate(result, session=session)
        return result


def _turns(messages: Sequence[object], change: Callable[[Fact], Fact] = lambda fact: fact) -> list[list[Raw]]:
    """Return the messages of a conversation in groups: first the leading system messages (perhaps none), then each turn
    with all its results; any other message is a group of its own.

    `change` is applied to every fact. A conversation in memory decides what belongs to a turn, so that calls and
    results are paired as everywhere.
    """
    head, facts = split_head(messages)
    log, budget = MemoryStore().open("turns"), Budget(context=UNLIMITED)
    conversation = Conversation(log, budget=budget, policy=PASSTHROUGH, counter=NoCounter(), system=head)
    for _, fact in facts:
        conversation.append(change(fact))
    conversation.plan_request()
    rendered = [OPENAI_CHAT.render_head(conversation.head), *map(FOR_MANAGERS.render_slot, conversation.view.slots)]
    return [OPENAI_CHAT.join(each) for each in rendered]


def _check(name: str, value: object) -> None:
    """Raises InvalidSetting unless the value is a whole number of at least 0."""
    if type(value) is not int or value < 0:
        raise InvalidSetting(f"{name} must be a whole number of at least 0, not {quote(value)}")
