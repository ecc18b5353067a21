"""An entry of the log (`Entry`): a body, with its number, time, token counts and `Meta`.

Also the bodies `Sent`, `Forked` and `Approval`. Facts and heads are in `message`, edits in `edit`, summaries in
`summary`.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from transom.cache_prices import CompactionCosts
from transom.core import message as m
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.summary import Summary


class Sent(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="sent"):
    """Records that a window is sent to the provider. Appended before the request leaves.

    - `fingerprint`: the hash of what the window shows.
    - `limit`: the tokens, as the provider counts them, that the window was planned for.
    - `tokens`: the raw size of the window, head included, not calibrated.
    - `messages`: how many messages it has, counted as for `Budget.max_messages`.
    - `shared_tokens`: the raw tokens of the prefix that it shares with the window before, head included.
    - `breaks`: the index of the first slot that differs from the window before (-1: the head), the seq of the entry
      that changed it, and why. None if this window begins with the whole window before, or is the first one.
    - `costs`: with prices, the costs by which a compaction for this request was chosen, or (`why` is "soon") by which a
      summary for the next compaction was asked for. None if neither was decided.
    - `model`: the model that it was planned for, as "provider:model"; empty if none was named.
    """

    fingerprint: str
    limit: int
    tokens: int
    messages: int
    shared_tokens: int = 0
    breaks: tuple[int, int, str] | None = None
    costs: CompactionCosts | None = None
    model: str = ""


class Forked(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="forked"):
    """Marks a fork: the entries before this one are a copy of the first entries of another conversation. `source`: its
    name."""

    source: str


CallPlace = tuple[int, int]
"""A tool call: the key of its turn's unit, and its index in the turn."""

ApprovalState = Literal["pending", "approved", "rejected", "started"]


class Approval(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag_field="kind", tag="approval"):
    """Says what became of a tool call that needs a person's approval.

    - `place`: the call.
    - `state`: "pending" (it waits, and has no result yet), "approved", "rejected" (a result that says so stands behind
      this entry), or "started" (a run has begun to run it; if there is no result after a crash, it may have run).
    - `arguments`: of "approved" and "started": what the tool gets in place of the arguments that the model wrote, as
      JSON; empty if nothing changes.
    - `why`: the reason of the person who decided.

    An `Approval` that cannot follow the state before it changes nothing. Only a call that waits can be approved, and an
    approved call can be rejected only until it starts. The started call of a sub-agent may wait again, if another call
    in it needs approval.
    """

    place: CallPlace
    state: ApprovalState
    arguments: str = ""
    why: str = ""


class Meta(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """What is known of a fact beside what it says: its run, agent, workflow, cost, owner. No field of it is sent to the
    model.

    `include_in_context`: false for a fact that people can see, but that no window contains. `user_id` and `session_id`:
    the owner of the whole conversation; only the first entry has them.
    """

    include_in_context: bool = True
    evaluation_id: str = ""
    """The run of `Conversation.run` to which the entry belongs: "run " and the number of the first entry after the run
    began, for example "run 12". Empty if it belongs to none."""
    sequence: int = 0
    """The position within the run `evaluation_id`, from 1; 0 if the entry is of no run."""
    mode: str = ""
    """The mode in which the entry was made: "chat", "agent" or "run"; empty if none was set."""
    run_id: str = ""
    """The caller's id of a run, from `Directive.run_id`. It is no id of `Conversation.run`: see `evaluation_id`."""
    workflow_id: str = ""
    """The caller's own id; Transom does not read it."""
    agent_id: str = ""
    """The agent, for example the name of a sub-agent."""
    tool_name: str = ""
    """The tool that a result is from; empty if it is not known, and for other entries."""
    duration: float | None = None
    """The seconds that the tool took; None if it is not known, and for entries that are no result."""
    model: str = ""
    """The model of a reply, as in "openai:gpt-5"; empty if it is not known. (A `Failure` names its own.)"""
    usage: m.Usage | None = None
    """Of a sub-agent's result: the tokens of its whole run."""
    cost: float | None = None
    """In US dollars: of a reply or a failure what its request cost, of a sub-agent's result what its run cost. None if
    that is not known."""
    source: int | None = None
    """The index in the list from which the fact was imported; None if it was not."""
    injected: bool = False
    """Of a message in the user's role: the program around the agent wrote it, not the user. Windows contain it like any
    other message, but it is neither the first task nor the newest user message. A caller or an importer says so; the
    text never does."""
    extra: dict[str, Any] | None = None
    """Whatever else was to be kept beside the fact."""
    user_id: str = ""
    session_id: str = ""


Body = (
    m.User
    | m.Assistant
    | m.ToolResult
    | m.Instruction
    | m.Note
    | m.Recalled
    | m.Failure
    | m.Head
    | m.Handoff
    | m.Opaque
    | Fold
    | Trim
    | Pin
    | Undo
    | Sent
    | Forked
    | Approval
    | Summary
)
"""What an entry can hold: a fact, an edit, a trace, a head, or an unknown kind."""


class Entry(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """One numbered entry of a log.

    - `seq`: its number, from 0. `at`: its time, in seconds since 1970. `body`: what it says.
    - `tokens`: its raw token counts, made once by the tokenizer named `counter`. Of a fact: one for its envelope (ids,
      names, message overhead), then one for each part in the order of `addressed_parts`. Of a fold: one for its
      message. Of a trim: one for the part as it then shows; none if that is dropped reasoning. Of a head: one. Others
      have none.
    - `plan`: if a plan made this edit or summary, the seq of the plan's first entry. Entries with the same number were
      decided together, and are undone together. An edit that `undo` places again has the number of its first plan.
    """

    seq: int
    at: float
    body: Body
    tokens: tuple[int, ...] = ()
    counter: str = ""
    meta: Meta | None = None
    """What is known of a fact beside what it says; None if nothing is."""
    plan: int | None = None

    @property
    def by_user(self) -> bool:
        """True for a message that the user wrote: in the user's role, and not injected by a program."""
        return isinstance(self.body, m.User) and (self.meta is None or not self.meta.injected)
