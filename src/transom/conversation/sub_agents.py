"""Sub-agents: a tool whose work is a run of its own, on a log of its own.

A sub-agent has its own conversation: system prompt, window, budget and tools. Its log is a child of the caller's, in
the same store. The caller's log gets one fact, the tool result, whose `Meta.extra` names the child log. Several calls
in one reply run at the same time, as all tools do. Whatever goes wrong in a sub-agent is a failed result.

If a call in a sub-agent waits for a person's approval, the call of the sub-agent waits too. When that is approved, the
sub-agent goes on in its log: a decision about its call is one about every call in it that nobody has decided.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Unpack, cast

from msgspec import Struct
from msgspec.structs import replace

from transom.conversation import argument_checks as check
from transom.conversation.conversation import Conversation
from transom.conversation.function_tool import FunctionTool, error_text
from transom.conversation.runs.awaited_work import CURRENT_JOB, Caller, Cancel, ToolJob, ToolOutcome
from transom.conversation.runs.run_options import RunOptions, check_options
from transom.conversation.settings import ConversationOptions, Settings
from transom.core.budget import Budget
from transom.core.entry import Meta
from transom.core.policy import Policy
from transom.errors import InvalidSetting, no_setting, quote
from transom.redaction import Redactor
from transom.stores.fork import sub_agent_name
from transom.texts import agent_needs_approval

MAX_DEPTH = 3

_depth: ContextVar[int] = ContextVar("transom_agent_depth", default=0)
"""How many sub-agents the running code is in: a tool runs in a copy of its caller's context."""


class SubAgent(FunctionTool):
    """An agent as a tool of another agent, the caller. The caller's model gives it a `task`, and reads its final
    answer.

        research = SubAgent("research", "Finds facts in the library.", system="You are a librarian.", tools=[search])
        conv.run("Who built it?", provider=…, tools=[research])

    `settings`: the options of its run, as in `RunOptions` without `messages`. Not given, `provider`, `approve` and the
    `budget` of the window are the caller's. Store, token counter, redaction, owner and learned limits are always the
    caller's. Nothing else is inherited: system prompt, policy, tools and state are the ones given here, and it can have
    no summarizer and no head parts, so no memory.

    `max_total_tokens` and `max_cost` are at most what is left of the caller's own limits, shared evenly among the calls
    of one reply. What a sub-agent uses counts for the caller, in `TotalUsage.agents` and in the cost. `max_depth`: at
    how many levels below the main agent this one may run; 1: only the main agent may call it. `agent_timeout`: seconds
    for its whole run; None: the `tool_timeout` of the caller's run, if it has one.

    If one of its tool calls needs a person's approval, the caller's call of the sub-agent waits too
    (docs/approvals.md). Whatever goes wrong while it runs is a failed result for the caller's model; nothing is raised.
    Making one raises InvalidSetting for a wrong or unknown setting.
    """

    def __init__(
        self,
        name: str,
        description: str,
        *,
        system: str | None = None,
        budget: Budget | int | str | None = None,
        policy: str | Policy = "default",
        max_depth: int = MAX_DEPTH,
        agent_timeout: float | None = None,
        **settings: Unpack[RunOptions],
    ) -> None:
        if type(max_depth) is not int or max_depth < 1:
            raise InvalidSetting(f"max_depth: must be a whole number above 0, not {quote(max_depth)}")
        known = [name for name in RunOptions.__annotations__ if name != "messages"]
        if unknown := set(settings).difference(known):
            raise InvalidSetting(f"sub-agent: {no_setting(min(unknown), known)}")
        check_options(settings)
        limits = None if budget is None else check.limits(budget)
        of_window = ConversationOptions(system=system, budget=limits, policy=policy)
        Settings.of(**of_window)  # checks them
        check.positive("agent_timeout", agent_timeout, check.LONGEST)
        super().__init__(self._answer, name=name, description=description, timeout=agent_timeout)
        self._window, self._max_depth, self._settings = of_window, max_depth, settings

    def __repr__(self) -> str:
        return f"SubAgent({self.name!r})"

    def _answer(self, task: str) -> ToolOutcome:
        job = CURRENT_JOB.get(None)
        if job is None or job.caller is None:
            return _failed("a sub-agent runs only as a tool of a run")
        depth = _depth.get() + 1
        if depth > self._max_depth:
            return _failed(f"sub-agents may not be nested deeper than {self._max_depth}")
        _depth.set(depth)
        caller, redact = job.caller, job.caller.settings.redact
        name = sub_agent_name(caller.log, self.name, (job.call.turn, job.call.index))
        try:
            settings = self._limited(caller, job)
            store, of_child = caller.store or "memory:", caller.settings.of_sub_agent().changed(**self._window)
            with Conversation.open(store, name, of_child) as child:
                child.tags = Meta(mode=caller.tags.mode, run_id=caller.tags.run_id, agent_id=self.name)
                has_begun = len(child.log) > 0
                for waiting in child.pending() if has_begun else ():
                    child.approve(waiting)
                outcome = _run(child, None if has_begun else task, settings, redact)
                return outcome if caller.store is not None else replace(outcome, waits=False)  # nothing could go on
        except Exception as error:  # noqa: BLE001 - as for any tool
            return _failed(_shown(error, redact))

    def _limited(self, caller: Caller, job: ToolJob) -> RunOptions:
        """The options of the sub-agent's run, with limits within what the caller has left."""
        settings = cast("dict[str, Any]", {**self._settings})
        settings["cancel"] = _GivenUp(job, self._settings.get("cancel"))
        settings.setdefault("provider", caller.provider)
        if caller.approve is not None:
            settings.setdefault("approve", caller.approve)
        for limit, left in (("max_total_tokens", caller.tokens_left), ("max_cost", caller.cost_left)):
            if left is None:
                continue
            if left <= 0:
                raise InvalidSetting(f"{limit}: nothing is left for a sub-agent")
            own = settings.get(limit)
            settings[limit] = left if own is None else min(own, left)
        return cast("RunOptions", settings)


class _GivenUp(Struct, frozen=True, eq=False):
    """The `cancel` of a sub-agent's run. It is set when the caller no longer waits for the call, because it took too
    long or the caller's run was stopped; and when the `cancel` that the sub-agent was made with, `own`, is set."""

    job: ToolJob
    own: Cancel | None

    def is_set(self) -> bool:
        return self.job.outcome is not None or (self.own is not None and self.own.is_set())


def _run(child: Conversation, task: str | None, settings: RunOptions, redact: Redactor | None) -> ToolOutcome:
    """Run a sub-agent, and return its answer, or its error, as the outcome of the call."""
    failed = waits = False
    try:
        result = child.run(task, **settings)
        content, waits = result.text, bool(result.pending)
        if waits:  # read only if the caller no longer waits for this call
            content, failed = agent_needs_approval([call.name for call in result.pending]), True
    except Exception as error:  # noqa: BLE001 - a failure of the sub-agent is a result for its caller
        content, failed = _shown(error, redact), True
    used = child.view.usage
    log = child.log.name
    return ToolOutcome(content=content, failed=failed, usage=used.all_tokens, cost=used.cost, log=log, waits=waits)


def _shown(error: BaseException, redact: Redactor | None) -> str:
    """The text of an exception for the caller's model, redacted: it may quote what was said in the sub-agent."""
    return error_text(error) if redact is None else redact(error_text(error))


def _failed(why: str) -> ToolOutcome:
    return ToolOutcome(content=why, failed=True)
