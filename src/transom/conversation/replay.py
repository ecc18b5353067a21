"""Replay: the messages of a recorded conversation are appended to a new one, and the window of each of its calls is
planned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from transom.conversation.conversation import Conversation
from transom.core.entry import Meta
from transom.core.message import Assistant, Raw, User
from transom.core.tool import Tool
from transom.core.window import Window
from transom.errors import BudgetImpossible, InvalidSetting, quote
from transom.wire.dialect import Placed


class ReplayStep(Struct, frozen=True, kw_only=True):
    """A call of a recorded conversation: the window that the planner gives it, or the refusal if nothing fits.

    `at`: the position of its reply among the recorded messages. One of `window` and `refused` is None.
    """

    at: int
    window: Window | None = None
    refused: BudgetImpossible | None = None


def replay(
    conversation: Conversation,
    facts: Iterable[Placed],
    *,
    tools: Sequence[Raw | Tool] | None = None,
    injected: Collection[int] = (),
) -> Iterator[ReplayStep]:
    """Append the facts to the conversation, and yield a step for each call, in order. A call is an assistant message
    with a message before it. Nothing is appended before the steps are asked for.

    `facts`: each with its position. `tools`: the schemas that go with every call; None: none. `injected`: the positions
    of messages in the user's role that a program wrote (see `Meta.injected`). There is no step for a call whose window
    would hold no message, because everything before the call is empty or a result without a call.

    Raises InvalidSetting if the log has entries already. If another process may replay into the same store, hold the
    conversation's lease meanwhile.
    """
    if n := conversation.log.refresh():
        raise InvalidSetting(
            f"conversation {quote(conversation.log.name)} is in the store already, with {n:,} entries: "
            "replay into another store"
        )
    for at, fact in facts:
        shows = conversation.view.slots or conversation.dialect.render_head(conversation.head)
        if at and isinstance(fact, Assistant) and shows:
            try:
                step = ReplayStep(at=at, window=conversation.plan_request(tools=tools))
            except BudgetImpossible as refused:
                step = ReplayStep(at=at, refused=refused)
            yield step
        conversation.append(fact, Meta(source=at, injected=isinstance(fact, User) and at in injected))
