"""The calls of a recorded conversation, each with the window that a policy gives it. Nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom.conversation.conversation import Conversation
from transom.conversation.replay import replay
from transom.conversation.request import render
from transom.core.budget import Budget
from transom.core.message import Raw
from transom.core.policy import Policy
from transom.core.window import Window
from transom.errors import BudgetImpossible
from transom.importers.recorded import Recorded
from transom.stores import MemoryStore
from transom.tokenizer import o200k
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named


class RecordedCall(Struct, frozen=True, kw_only=True):
    """One call of a recorded conversation.

    `number`: from 1. `at`: the position of its reply among the messages. `window`: None if it was `refused`. `request`:
    the part of the request's body that the window gives; empty if the call was refused.
    """

    number: int
    at: int
    window: Window | None
    refused: BudgetImpossible | None
    request: Raw


def recorded_calls(
    record: Recorded, *, budget: Budget, policy: Policy, dialect: Dialect | None = None
) -> Iterator[RecordedCall]:
    """Yield each call of a conversation with its window, in order.

    `dialect`: the API that windows are built for; None: the one that the conversation was recorded with. Raises
    InvalidMessage for a message that its dialect does not allow.
    """
    api = dialect or dialect_named(record.dialect)
    head, facts = record.facts()
    conversation = Conversation(
        MemoryStore().open(record.id), budget=budget, policy=policy, counter=o200k(), system=head, dialect=api
    )
    tools = record.tools_for(api.name)
    steps = replay(conversation, facts, tools=tools or None, injected=record.injected_in(facts))
    for number, step in enumerate(steps, 1):
        request = {} if step.window is None else render(step.window, api)
        yield RecordedCall(number=number, at=step.at, window=step.window, refused=step.refused, request=request)
