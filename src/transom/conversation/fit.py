"""`fit`: a list of messages in, a valid list within the budget out. No store: each call plays the whole list again."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Unpack

from msgspec.structs import replace

from transom.conversation.appending.parse_messages import split_head
from transom.conversation.conversation import Conversation
from transom.conversation.replay import replay
from transom.conversation.settings import ConversationOptions, Settings, warn_without_budget
from transom.core.log import Log
from transom.core.message import Note, Raw
from transom.core.tool import Tool
from transom.core.view import STRAY_RESULT
from transom.errors import InvalidMessage, InvalidSetting
from transom.stores import MemoryStore
from transom.wire.dialects import with_foreign_tools
from transom.wire.frameworks import format_of_list
from transom.wire.rendering import render_messages


def fit(
    messages: Sequence[object],
    *,
    tools: Sequence[Raw | Tool] | None = None,
    settings: Settings | None = None,
    **changes: Unpack[ConversationOptions],
) -> list[Any]:
    """The messages the model should see next: valid for its API and within `budget`.

    `messages`: dicts, or a client library's message objects (what has `model_dump`). They stay as they are, and the
    dicts of the result are new. The same input gives the same output. No model is called, unless a `summarizer` is
    given.

    Each assistant message marks an earlier call, and the window of each such call is rebuilt in order. So the result
    for a longer list begins with the result for the shorter one, if what was added is a reply and all that follows up
    to the next call, and if no compaction lies between.

    This takes one or two milliseconds of CPU for each message, so seconds for 2,000. For long lists keep a
    Conversation, in memory if nothing is to be stored (`Conversation.from_messages`): it takes only what is new
    (`user`, `observe`, `extend`), and a `request` costs the same however long the log is.

    A list of a framework's message objects (LangChain, pydantic-ai and others) gives such a list, in which each message
    that is not changed is the same object; `dialect` has no meaning then.

    A message without content (None, "" or no parts) and without calls is left out: no API takes it. A tool result is
    left out if the list has no call for it, or another result of its call before it; a warning counts these. If nothing
    is left of a list that was not empty, InvalidMessage is raised. An empty list gives an empty list. A marker in the
    place of what was left out names a message by its position in the list, from 0: "message 12".

    - `settings`, and the keywords that change them: see ConversationOptions. If no budget is given, it is 128,000
      tokens, with a warning.
    - `dialect`: the API whose messages come in and go out; OpenAI Chat if none is given.
    - `system`: what goes beside the messages in its request (Anthropic's `system`, Gemini's `systemInstruction`, the
      `instructions` of Responses); it only counts. OpenAI Chat has no such place: the system prompt is the first
      message of the result.
    - `tools`: the schemas that go with the request; they count. None, like [], means none.

    Raises BudgetImpossible with the bill, InvalidMessage, InvalidSetting.
    """
    found, lost = _fitted(messages, tools, settings, changes)
    if messages and not found:
        why = "none has content or calls" if not lost else "only results that answer no call have content"
        where = "messages" if len(messages) > 1 else "messages[0]"
        raise InvalidMessage(where, f"{why}, so there is nothing to send")
    if found:
        warn_without_budget(settings, changes)
    if lost:
        text = f"fit: 1 tool result is left out ({lost[0]}): it answers no open call"
        if len(lost) > 1:
            text = f"fit: {len(lost):,} tool results are left out (the first: {lost[0]}): they answer no open call"
        warnings.warn(text, UserWarning, stacklevel=2)
    return found


def fit_or_empty(
    messages: Sequence[object], *, tools: Sequence[Raw | Tool] | None = None, **changes: Unpack[ConversationOptions]
) -> list[Any]:
    """As `fit`, but it never warns, and it gives an empty list where `fit` raises because nothing is left: if nothing
    has content or calls, or only results of tools that answer no call. Settings are given as keywords only."""
    return _fitted(messages, tools, None, changes)[0]


def _fitted(
    messages: Sequence[object],
    tools: Sequence[Raw | Tool] | None,
    settings: Settings | None,
    changes: ConversationOptions,
) -> tuple[list[Any], list[str]]:
    """The messages of `fit`, and where in the list the results are that no window shows."""
    framework = format_of_list(messages)
    if framework is not None:
        if changes.get("digest_role") is not None:
            raise InvalidSetting(f"digest_role: not for messages of {framework.name}")
        changes["dialect"] = framework.dialect
    settings = Settings.of(settings, **changes)
    settings = replace(settings, dialect=with_foreign_tools(settings.dialect))  # the caller sends the tools
    pieces = [] if framework is None else framework.read(messages)
    head, facts = split_head(messages, dialect=settings.dialect, suggests_dialect=True)
    log = MemoryStore().open("fit")

    def ref(seq: int) -> str:
        return f"message {_position(log, seq)}"

    head = [*(settings.system or ()), *head]
    conversation = Conversation(
        log, replace(settings, system=tuple(head), clock=lambda: 0.0, ref=ref, shared_limits=None)
    )
    for _ in replay(conversation, facts, tools=tools):
        pass
    view = conversation.plan_request(tools=tools).view
    bodies = (view.fetch(seq).body for seq in range(view.length)) if STRAY_RESULT in view.unit_of else ()
    noted = {seq for body in bodies if isinstance(body, Note) for seq in body.refs}  # read as late results
    lost = [ref(seq) for seq, key in enumerate(view.unit_of) if key == STRAY_RESULT and seq not in noted]
    if framework is None:
        return render_messages(view, settings.dialect), lost
    entries = [entry.seq for entry in log.read() if entry.meta is not None and entry.meta.source is not None]
    of_head = {-at: piece for at, piece in enumerate(pieces[: len(pieces) - len(entries)], 1)}
    of_log = dict(zip(reversed(entries), reversed(pieces), strict=False))
    return framework.write(view, of_head | of_log), lost


def _position(log: Log, seq: int) -> int:
    """The position in the list of the message that an entry came from; else that of the one before it."""
    for at in range(min(seq, len(log) - 1), -1, -1):
        if (meta := log[at].meta) is not None and meta.source is not None:
            return meta.source
    return 0
