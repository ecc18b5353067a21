"""Replay: a conversation that happened goes through the front door again, a window before each of its calls."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from transom.conversation.conversation import Conversation
from transom.core.entry import Entry, Meta
from transom.core.log import PendingLog
from transom.core.message import Assistant, Raw, Text, User
from transom.core.reducer import apply
from transom.core.tool import Tool
from transom.core.window import Window
from transom.errors import BudgetImpossible, InvalidSetting, quote
from transom.wire.dialect import Placed


class Question(Struct, frozen=True, kw_only=True):
    """A labelled question about a conversation."""

    index: int
    """Its number in the conversation."""
    text: str
    """What is asked."""
    asked_at: int
    """After how many messages it is asked."""


class ReplayStep(Struct, frozen=True, kw_only=True):
    """A call of a recorded conversation, its reply at position `at`: the window it saw, or the refusal.

    With `question`, the window for that question after the messages before `at`; it is no part of the conversation.
    """

    at: int
    window: Window | None = None
    refused: BudgetImpossible | None = None
    question: int | None = None


def replay(
    conversation: Conversation,
    facts: Sequence[Placed],
    *,
    tools: Sequence[Raw | Tool] | None = None,
    questions: Sequence[Question] = (),
    injected: Collection[int] = (),
) -> Iterator[ReplayStep]:
    """A step for each call (an assistant message with a message before it) and each question, in order.

    There is none for a call whose window would hold no message: what stands before it is all empty, or stray results.
    `injected`: the positions of messages in the user's role that a program wrote: see `Meta.injected`.

    Raises InvalidSetting if the log has entries already. If another process may replay into the same store, hold the
    conversation's lease meanwhile.
    """
    if n := conversation.log.refresh():
        raise InvalidSetting(
            f"conversation {quote(conversation.log.name)} is in the store already, with {n:,} entries: "
            "replay into another store"
        )
    waiting = sorted(questions, key=lambda question: (question.asked_at, question.index))
    for at, fact in facts:
        while waiting and waiting[0].asked_at <= at:
            yield _question_step(conversation, waiting.pop(0), tools)
        shows = conversation.view.slots or conversation.dialect.render_head(conversation.head)
        if at and isinstance(fact, Assistant) and shows:
            yield _call(conversation, at, tools)
        conversation.append(fact, Meta(source=at, injected=isinstance(fact, User) and at in injected))
    for question in waiting:
        yield _question_step(conversation, question, tools)


def _call(conversation: Conversation, at: int, tools: Sequence[Raw | Tool] | None) -> ReplayStep:
    """The call whose reply stands at this position."""
    try:
        return ReplayStep(at=at, window=conversation.plan_request(tools=tools))
    except BudgetImpossible as refused:
        return ReplayStep(at=at, refused=refused)


def _question_step(conversation: Conversation, question: Question, tools: Sequence[Raw | Tool] | None) -> ReplayStep:
    """The window for a question, on a branch that nobody keeps."""
    view, ahead = conversation.view, list[Entry]()
    branch = view.with_log(PendingLog(view.log, ahead))
    entry = branch.entry(User(parts=(Text(question.text),)), 0.0)
    ahead.append(entry)
    try:
        window = conversation.window(tools=tools, view=apply(branch, (entry,)))
    except BudgetImpossible as refused:
        return ReplayStep(at=question.asked_at, refused=refused, question=question.index)
    return ReplayStep(at=question.asked_at, window=window, question=question.index)
