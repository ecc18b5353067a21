"""The total usage: what requests took, in tokens and money.

A request counts as soon as its provider has reported tokens for it, whatever became of the reply. So the sum is over
replies, failures, summaries, and the results of sub-agents.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from transom.core.entry import Entry, Forked, Meta
from transom.core.message import Assistant, Failure, ToolResult, Usage
from transom.core.summary import NO_SUMMARY, UNUSED_SUMMARY, Summary

SUB_AGENT = "sub_agent"
"""The kind (`Failure.failure`) of the failure that says that a sub-agent ended when nobody waited for it any more."""

_NO_META = Meta()


class TotalUsage(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """What the requests of a run, of a conversation, or of several conversations took: requests, tokens and money.

    `requests` were answered, `failures` gave no usable reply. `tokens`, `failed`, `summaries` and `agents` are the
    tokens of answered and of failed requests, of summaries, and of sub-agents. All are as the providers report them; a
    request for which none were reported counts as 0 tokens.
    """

    requests: int = 0
    """Requests that were answered."""
    failures: int = 0
    """Requests that gave no usable reply."""
    tool_calls: int = 0
    """Tool calls that were run; not those that were refused."""
    tokens: Usage = Usage()
    """Of the requests that were answered."""
    failed: Usage = Usage()
    """Of the requests that gave no usable reply, as far as the provider reported it."""
    summaries: Usage = Usage()
    """Of the requests for summaries, used or not."""
    agents: Usage = Usage()
    """Of the sub-agents that were called; all that they took."""
    dollars: float = 0.0
    """The cost in US dollars of everything whose price is known."""
    unpriced: int = 0
    """How many of these requests, summaries and sub-agents have a cost that is not known."""
    recorded: int = 0
    """Replies that no request of this conversation brought: they were imported, replayed, or appended by the caller,
    without usage. What they took is not known, and is in no other field."""

    @property
    def total(self) -> int:
        """The number of all tokens: of prompts, cached ones included, and of outputs."""
        return self.all_tokens.prompt + self.all_tokens.output

    @property
    def all_tokens(self) -> Usage:
        """All tokens by kind: of answered and failed requests, of summaries, and of sub-agents."""
        return self.tokens.plus(self.failed).plus(self.summaries).plus(self.agents)

    @property
    def cost(self) -> float | None:
        """The cost in US dollars; None if the cost of a part is not known, or if all replies are `recorded`."""
        return None if self.unpriced or self.is_unknown else self.dollars

    @property
    def is_unknown(self) -> bool:
        """Whether there are replies, but nothing is known of what they took, as in an imported conversation."""
        return bool(self.recorded) and not (self.requests or self.failures or self.dollars or self.unpriced)

    def plus(self, other: TotalUsage) -> TotalUsage:
        """The sum of both, field by field."""
        return self._combined(other, 1)

    def since(self, before: TotalUsage) -> TotalUsage:
        """What was added since `before`, an earlier total of the same log."""
        return self._combined(before, -1)

    def plus_entry(self, entry: Entry, *, agents: bool = True) -> TotalUsage:
        """This total with one more entry of the log: a reply, a failure, a summary or a result of a tool. Any other
        entry changes nothing, but after a `Forked` entry everything is 0: the requests before it were billed to another
        conversation.

        `agents`: false leaves sub-agents out. (A sum over a store needs that, because it adds up their own logs too.)
        """
        body, meta = entry.body, entry.meta or _NO_META
        if isinstance(body, Assistant):
            if body.usage is None and (body.answers is None or meta.source is not None):  # no provider was asked
                return replace(self, recorded=self.recorded + 1)
            return self._billed("tokens", body.usage or Usage(), meta.cost, requests=self.requests + 1)
        if isinstance(body, Failure):
            return self if body.failure == SUB_AGENT and not agents else self._plus_failure(body, meta.cost)
        if isinstance(body, Summary):
            return self if body.usage is None else self._billed("summaries", body.usage, body.cost)
        if isinstance(body, ToolResult):
            total = replace(self, tool_calls=self.tool_calls + 1) if _was_run(body, meta) else self
            return total._billed("agents", meta.usage, meta.cost) if meta.usage is not None and agents else total
        return TotalUsage() if isinstance(body, Forked) else self

    def _plus_failure(self, failure: Failure, cost: float | None) -> TotalUsage:
        total = self if failure.answers is None else replace(self, failures=self.failures + 1)
        if failure.usage is None:
            return total
        kinds = {NO_SUMMARY: "summaries", UNUSED_SUMMARY: "summaries", SUB_AGENT: "agents"}
        return total._billed(kinds.get(failure.failure, "failed"), failure.usage, cost)

    def _billed(self, kind: str, usage: Usage, cost: float | None, **counts: int) -> TotalUsage:
        """This total with more tokens in the field `kind`, and their cost; `counts` are other fields to set."""
        money = {"unpriced": self.unpriced + 1} if cost is None else {"dollars": self.dollars + cost}
        return replace(self, **{kind: getattr(self, kind).plus(usage)}, **money, **counts)

    def _combined(self, other: TotalUsage, sign: int) -> TotalUsage:
        numbers = ("requests", "failures", "tool_calls", "dollars", "unpriced", "recorded")
        tokens = ("tokens", "failed", "summaries", "agents")
        return TotalUsage(
            **{name: getattr(self, name) + sign * getattr(other, name) for name in numbers},
            **{name: getattr(self, name).plus(getattr(other, name).times(sign)) for name in tokens},
        )


def _was_run(result: ToolResult, meta: Meta) -> bool:
    """Whether a result counts as a call that was run. One that did not come from a run (its `meta` names no tool): if
    it is real. One from a run: if it has the call's place, and a duration, or a synthetic text because the run gave the
    tool up."""
    if not meta.tool_name:
        return not result.synthetic
    return result.place is not None and (meta.duration is not None or result.synthetic)
