"""One line of the log: a fact, an edit or a trace, with when, in what, and how many tokens."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.message import (
    Assistant,
    Failure,
    Handoff,
    Head,
    Instruction,
    Note,
    Opaque,
    Recalled,
    ToolResult,
    User,
)
from transom.core.summary import Summary


class Sent(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="sent"):
    """A window left for the provider. Written before the request.

    `limit`: in tokens, that the window was planned for. `tokens`: its raw size, not calibrated. `shared_tokens`: of the
    prefix that it shares with the window before, head and overhead of the request included. `breaks`: the first slot
    that changed since that one, the entry that changed it, and why; None if nothing did.
    """

    digest: str
    limit: int
    tokens: int
    messages: int
    shared_tokens: int = field(default=0, name="kept")
    breaks: tuple[int, int, str] | None = None


class Forked(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="forked"):
    """The conversation was forked here: the entries before this one are a copy of the first ones of `source`."""

    source: str


class Meta(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """Where a fact belongs. If `include_in_context` is false, people can see it, but it is never sent.

    `user_id` and `session_id` are those of the whole conversation; its first entry has them, and no other.
    """

    include_in_context: bool = True
    evaluation_id: str = ""
    sequence: int = 0
    mode: str = ""
    run_id: str = ""
    workflow_id: str = ""
    agent_id: str = ""
    tool_name: str = ""
    duration: float | None = None
    source: int | None = None
    """Position in the list a fact was imported from."""
    extra: dict[str, Any] | None = None
    user_id: str = ""
    session_id: str = ""


Body = (
    User
    | Assistant
    | ToolResult
    | Instruction
    | Note
    | Recalled
    | Failure
    | Head
    | Handoff
    | Opaque
    | Fold
    | Trim
    | Pin
    | Undo
    | Sent
    | Forked
    | Summary
)


class Entry(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """`seq` numbers the entries of a log from 0. `tokens` are counted once, by the tokenizer named in `counter`.

    For a fact: its envelope (ids, names, message overhead), then each part in the order of `addressed_parts`.
    For a fold: its message; for a trim: the shown form; for the rest: nothing.

    `plan`: of an edit or a summary that a plan made, the seq of the plan's first entry. It names the plan: what has the
    same number was decided together, appended together, and can be undone together.
    """

    seq: int
    at: float
    body: Body
    tokens: tuple[int, ...] = ()
    counter: str = ""
    meta: Meta | None = None
    plan: int | None = None
