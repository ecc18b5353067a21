"""Replay: a conversation that happened goes through the front door again, a window before each of its calls.

What the log already holds is not done twice: after a crash the stored part is read back, call by call, and the rest
goes on from there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from msgspec import Struct

from transom.conversation.conversation import Conversation
from transom.conversation.replaying.replay_settings import difference, replay_settings
from transom.core.entry import Entry, Meta, Sent
from transom.core.log import PendingLog
from transom.core.message import Assistant, Fact, Raw, Text, User
from transom.core.reducer import apply
from transom.core.tool import Tool
from transom.core.view import View
from transom.core.window import Window, assemble
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

    A log that already holds a part of this replay is read back as far as it goes. Raises InvalidSetting if it holds
    something else: other messages or tools, or the same ones under another budget or policy. If another process may
    replay into the same store, the conversation's log must be a `SoleWriterLog`, which refuses to append behind it.
    """
    past = _Past(conversation, replay_settings(conversation, facts, tools, injected), injected)
    waiting = sorted(questions, key=lambda question: (question.asked_at, question.index))
    for at, fact in facts:
        while waiting and waiting[0].asked_at <= at:
            yield _question_step(conversation, past.view, waiting.pop(0), tools)
        shows = past.view.slots or conversation.dialect.render_head(conversation.head)
        if at and isinstance(fact, Assistant) and shows:
            yield past.call(at, tools)
        past.take(at, fact)
    for question in waiting:
        yield _question_step(conversation, past.view, question, tools)


class _Past:
    """Where a replay stands: in the stored part of the log, read back entry by entry, or at its end."""

    def __init__(self, conversation: Conversation, settings: dict[str, Any], injected: Collection[int]) -> None:
        self._conversation, self._settings, self._injected = conversation, settings, injected
        self._stored = conversation.log.read() if len(conversation.log) else iter(())
        self._next = next(self._stored, None)
        self._view = View.empty(conversation.log, conversation.view.counter)
        self._first = True

    @property
    def view(self) -> View:
        """The view before the next message of the replay: of a stored replay that is continued, the stored one."""
        return self._conversation.view if self._next is None else self._view

    def call(self, at: int, tools: Sequence[Raw | Tool] | None) -> ReplayStep:
        """The call whose reply stands at this position."""
        while self._next is not None and not _is_source(self._next):
            if isinstance(self._next.body, Sent):
                window = assemble(self._view, self._next.body.limit)
                self._advance()
                return ReplayStep(at=at, window=window)
            self._advance()
        try:
            if self._next is None:
                return ReplayStep(at=at, window=self._conversation.plan_request(tools=tools))
            return ReplayStep(at=at, window=self._conversation.window(tools=tools, view=self._view))
        except BudgetImpossible as refused:
            return ReplayStep(at=at, refused=refused)

    def take(self, at: int, fact: Fact) -> None:
        """Go past the message at this position."""
        extra = {"replay": self._settings} if self._first else None
        if self._next is None:
            injected = isinstance(fact, User) and at in self._injected
            self._conversation.append(fact, Meta(source=at, extra=extra, injected=injected))
        else:
            self._check(self._next.meta)
            self._advance()
        self._first = False

    def _check(self, meta: Meta | None) -> None:
        if not self._first:
            return
        stored: Any = meta.extra.get("replay") if meta is not None and meta.extra else None
        if what := difference(stored, self._settings):
            name = quote(self._conversation.log.name)
            raise InvalidSetting(f"conversation {name} is in the store already and cannot be continued: {what}")

    def _advance(self) -> None:
        assert self._next is not None
        self._view = apply(self._view, (self._next,))
        self._next = next(self._stored, None)


def _is_source(entry: Entry) -> bool:
    return entry.meta is not None and entry.meta.source is not None


def _question_step(
    conversation: Conversation, view: View, question: Question, tools: Sequence[Raw | Tool] | None
) -> ReplayStep:
    """The window for a question, on a branch that nobody keeps."""
    ahead: list[Entry] = []
    branch = view.with_log(PendingLog(view.log, ahead))
    entry = branch.entry(User(parts=(Text(question.text),)), 0.0)
    ahead.append(entry)
    try:
        window = conversation.window(tools=tools, view=apply(branch, (entry,)))
    except BudgetImpossible as refused:
        return ReplayStep(at=question.asked_at, refused=refused, question=question.index)
    return ReplayStep(at=question.asked_at, window=window, question=question.index)
