"""What `Conversation.stream` gives: typed events, in the order in which things happen.

Every fact an event names is in the log already when the event comes. Only the two deltas are ahead of the log: the text
of a reply is logged when the reply has ended or broken off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from transom.core.edit import Fold, Trim
from transom.core.entry import Entry
from transom.core.message import Usage
from transom.core.usage import TotalUsage
from transom.core.view import View
from transom.wire.rendering import Request
from transom.wire.replies import StopReason

__all__ = [
    "Compacted",
    "Event",
    "Finished",
    "ReasoningDelta",
    "Replied",
    "RequestFailed",
    "Requested",
    "Retrying",
    "RunResult",
    "TextDelta",
    "ToolCalled",
    "ToolReturned",
]


class TextDelta(Struct, frozen=True, tag=True):
    """A piece of the reply's text. After `Retrying`, the pieces of the failed reply no longer count."""

    text: str
    """The piece."""


class ReasoningDelta(Struct, frozen=True, tag=True):
    """A piece of the reply's reasoning."""

    text: str
    """The piece."""


class Compacted(Struct, frozen=True, kw_only=True, tag=True):
    """The window was made smaller. `edits`: the folds and trims that did it; `undo` takes them back. Only
    `Conversation.compact` gives one without edits, if nothing was done. `summary`: the entry of the summary that a new
    fold shows, if one does.

    `failure`: why there is no summary as it was asked for, in one line; empty if nothing failed. `degraded`: no model
    made the summary that is shown; it has the notes, and what the summary before it held.
    """

    edits: tuple[int, ...]
    tokens_before: int
    """The tokens of the window before the compaction, calibrated."""
    tokens_after: int
    """The tokens of the window after it, calibrated."""
    summary: int | None = None
    failure: str = ""
    degraded: bool = False

    @classmethod
    def of(cls, before: View, after: View, entries: Sequence[Entry]) -> Compacted:
        """The event of a compaction or an edit that appended these entries, of which only folds and trims are in its
        `edits`. `before`, `after`: the views. `failure` is empty."""
        edits = [entry for entry in entries if isinstance(entry.body, (Fold, Trim))]
        named = {one.body.summary for one in edits if isinstance(one.body, Fold)}
        shown = next(((seq, summary) for seq, summary in after.newest_summaries() if seq in named), None)
        return cls(
            edits=tuple(entry.seq for entry in edits),
            tokens_before=before.tokens,
            tokens_after=after.tokens,
            summary=None if shown is None else shown[0],
            degraded=shown is not None and shown[1].degraded,
        )


class Requested(Struct, frozen=True, kw_only=True, tag=True):
    """A request was logged, and is sent now. `Replied` or `RequestFailed` ends it; neither comes if the run is stopped
    before."""

    entry: int
    """The seq of the `Sent`."""
    model: str
    """The model that is asked."""
    request: Request
    """What the conversation sends; `request.window` is the window."""
    settings: Mapping[str, Any]
    """The other arguments of the SDK's call, as the run was given them."""
    max_tokens: int | None = None
    """The most tokens of the answer; None: what the provider object sets, else the API's own limit."""
    stream: bool = False
    """Whether the reply is streamed."""


class Replied(Struct, frozen=True, kw_only=True, tag=True):
    """A reply of the model was logged. `usage`: what the provider reported; None if nothing."""

    entry: int
    """The seq of the reply."""
    text: str
    """Its text, without reasoning."""
    calls: int
    """How many tools it calls."""
    stop: StopReason
    """Why the model stopped."""
    model: str
    """The model that answered."""
    usage: Usage | None = None
    cost: float | None = None
    """In US dollars; None if a price is not known."""


class ToolCalled(Struct, frozen=True, kw_only=True, tag=True):
    """The model calls a tool: call `index`, from 0, of the turn with the key `turn`. The key of a turn is the seq of
    the `Sent` that its reply answers; without one, that of the reply. `arguments` is what the model wrote; or what a
    person put in its place, if an approved call runs now."""

    name: str
    """The tool."""
    arguments: str
    id: str
    """The id of the call, as its result names it."""
    turn: int
    index: int
    needs_approval: bool = False
    """Whether the tool says that a person must approve this call; true in `pending` and `approved`."""
    conversation: str = ""
    """The conversation of the sub-agent that this call has begun, if calls in it wait for approval; else empty."""


class ToolReturned(Struct, frozen=True, kw_only=True, tag=True):
    """The result of a tool call was logged. `turn` and `index` name the call, as in `ToolCalled`. `content`: what the
    tool returned, as the model can read it: a text, content parts or a JSON value; of a call that was not run, the text
    that says why."""

    entry: int
    """The seq of the result."""
    name: str
    """The tool."""
    id: str
    """The id of the call."""
    turn: int
    index: int
    content: object
    failed: bool = False
    """True if the tool raised, reported an error or took too long, or if the call was refused, had wrong arguments, or
    named no tool."""
    duration: float | None = None
    """Seconds that the tool took; None if it was not run."""


class RequestFailed(Struct, frozen=True, kw_only=True, tag=True):
    """A request gave no usable reply, and its `Failure` was logged. `text`: what had arrived of the reply; it may be
    empty. `Retrying` follows if the request is sent again."""

    entry: int
    """The seq of the `Failure`."""
    kind: str
    """The kind of the ProviderError; "reasoning_refused" if the provider refused the reasoning in the request."""
    error: str
    """The error in one line."""
    model: str
    """The model that was asked."""
    text: str = ""
    usage: Usage | None = None
    """What the provider reported for it, although no usable reply came."""
    cost: float | None = None
    """In US dollars; None if it is not known."""
    limit: int = 0
    """Of an overflow: the tokens that a request to this model may have from now on; 0 if that is not known."""
    used: int = 0
    """Of an overflow: the tokens of this request, as the provider counts them; 0 if it has not said."""


class Retrying(Struct, frozen=True, kw_only=True, tag=True):
    """The request is sent again after `wait` seconds, as attempt number `attempt` (2 or more) at this reply, to
    `model`, which may be a fallback."""

    attempt: int
    wait: float
    model: str


class RunResult(Struct, frozen=True, kw_only=True):
    """How a run ended. `text`: the final answer; if the run waits for a person, the text of the reply that called,
    perhaps empty. `stop`: why the model stopped; "length" if its answer was cut. "tool_calls" if the run waits for a
    person: `pending` has the calls that need approval.

    `entries`: the first entry of the log that the run added, and the number after its last; entries of other writers
    may lie between. `cost`: in US dollars, None if a price is not known. `failures`: how many requests failed on the
    way. `summary`: the text of the newest summary of the conversation, empty if there is none; what summaries of this
    run cost is part of its usage and cost.
    """

    text: str = ""
    output: Any = None
    """The answer as a value of the run's `output_type`; None without one."""
    stop: StopReason = "unknown"
    usage: TotalUsage = TotalUsage()
    """What the run used: its requests, answered or not, its summaries and its sub-agents."""
    cost: float | None = None
    model: str = ""
    """The model that was asked last, as in "openai:gpt-5"."""
    failures: int = 0
    entries: tuple[int, int] = (0, 0)
    summary: str = ""
    pending: tuple[ToolCalled, ...] = ()
    """The calls that wait for approval now: decide with `Conversation.approve` or `reject`, and run again."""


class Finished(Struct, frozen=True, tag=True):
    """The run is over: the last event."""

    result: RunResult
    """What `run` returns."""


Event = (
    TextDelta
    | ReasoningDelta
    | Compacted
    | Requested
    | Replied
    | ToolCalled
    | ToolReturned
    | RequestFailed
    | Retrying
    | Finished
)
"""What `stream` yields."""
