"""The calls of a run's tools: whether each may run, its job for a driver, and its result in the log.

`RunRecord` is how a run logs what it does.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from transom import quoting, texts
from transom.conversation.appending.mcp_results import read_mcp
from transom.conversation.appending.parse_messages import result_content, result_fact, why_unreadable
from transom.conversation.approvals import approved_calls, with_change
from transom.conversation.events import Compacted, Event, Replied, ToolCalled, ToolReturned
from transom.conversation.runnable import RunnableConversation, RunSettings
from transom.conversation.runs.awaited_work import Approve, Caller, RunTools, ToolJob, ToolOutcome, Work
from transom.conversation.runs.own_tools import context_outcome
from transom.core.entry import Meta
from transom.core.message import Assistant, Fact, Failure, ToolResult
from transom.core.pairing import call_labels
from transom.core.usage import SUB_AGENT, TotalUsage
from transom.errors import InvalidMessage, InvalidSetting, TransomError, quote
from transom.providers.base import Provider

_logger = logging.getLogger(__name__)


class RunRecord:
    """Logs what one run does: each fact with the name of the run ("run 41", by its first entry) and its number within
    the run, from 1 (`Meta.evaluation_id` and `sequence`). `first`: the number that the first entry of the run gets."""

    def __init__(self, conversation: RunnableConversation) -> None:
        self._conv = conversation
        self.first = conversation.view.length
        self._sequence = 0
        self._used_before = conversation.view.usage

    def log(self, fact: Fact, **meta: Any) -> int:
        """Append a fact, and return the number of its entry. `meta`: more fields of its `Meta`."""
        self._sequence += 1
        return self._conv.append(fact, Meta(evaluation_id=f"run {self.first}", sequence=self._sequence, **meta))

    @property
    def usage(self) -> TotalUsage:
        """What the run has used, from the log: its requests, its sub-agents, and the summaries that came in
        meanwhile."""
        return self._conv.view.usage.since(self._used_before)


class ToolCalls:
    """The calls of one run. `known`: the names of the tools that the model was given."""

    def __init__(
        self, conversation: RunnableConversation, settings: RunSettings, record: RunRecord, known: set[str]
    ) -> None:
        self._conv, self._settings, self._record, self._known = conversation, settings, record, known

    def run(
        self, turn: Assistant, key: int, replied: Replied, provider: Provider
    ) -> Generator[Work | Event, Any, None]:
        """Run the calls of a turn that `provider` gave: yields `replied`, the events of the calls, and work. `key`: of
        the unit of the turn. Each call gets a result in the log: the tool's, or one that says why there is none. Only a
        call that needs a person's approval may go without one, until that is decided."""
        jobs = [self._job(called) for called in _called(turn, key)]
        pending: set[int] = set()
        try:
            yield replied
            for job in jobs:
                yield job.call
                if job.outcome is None:
                    yield from self._ask(job)
            if waiting := [job.call for job in jobs if job.waits]:
                self._conv._log_pending(waiting)  # pyright: ignore[reportPrivateUsage] - as for a request
                pending.update(call.index for call in waiting)
            yield from self._results([job for job in jobs if not job.waits], provider)
        except BaseException:
            self._close_calls([job for job in jobs if job.call.index not in pending])
            raise

    def _ask(self, job: ToolJob) -> Generator[Work, Any, None]:
        """Ask whether a call may run. The job says afterwards that it runs, waits, or was refused."""
        if self._settings.approve is None:
            job.waits = job.call.needs_approval
            return
        verdict = yield Approve(job)
        job.waits = verdict is None
        if not job.waits and verdict is not True:
            why = verdict if isinstance(verdict, str) else ""
            job.outcome = ToolOutcome(content=texts.not_approved(why), failed=True)

    def run_approved(self, provider: Provider) -> Generator[Work | Event, Any, None]:
        """Run the calls that a person has approved meanwhile. Raises InvalidSetting, with nothing started, if the run
        was not given the function of an approved call."""
        if not self._conv.view.approvals or not (approved := approved_calls(self._conv.view)):
            return
        names = {each.name for each in approved} - {texts.CONTEXT_MANAGER}
        if missing := sorted(names - self._settings.functions.keys()):
            raise InvalidSetting(f"run: a call of {quote(missing[0])} was approved: give the function in tools=")
        jobs = [self._job(each) for each in self._conv.take_approved()]
        try:
            for job in jobs:
                yield job.call
            yield from self._results(jobs, provider)
        except BaseException:
            self._close_calls(jobs)
            raise

    def _results(self, jobs: Sequence[ToolJob], provider: Provider) -> Generator[Work | Event, Any, None]:
        """Run the calls at the same time, and log each result as it comes; then the calls of `context_manager`."""
        for job in jobs:
            if job.outcome is not None:
                yield self._log_result(job)
        waiting = tuple(job for job in jobs if job.outcome is None and not job.compacts)
        for job in waiting:
            job.caller = self._caller(len(waiting), provider)
        work = RunTools(waiting)
        for _ in waiting:
            job = yield work
            work = RunTools()
            if job.outcome.waits:  # a sub-agent's: calls in its conversation need a person's approval
                job.is_logged = True
                self._conv._log_pending([job.call])  # pyright: ignore[reportPrivateUsage] - as for a request
            else:
                yield self._log_result(job)
        for job in [job for job in jobs if job.outcome is None and job.compacts]:
            if (compacted := (yield from self._compact(job, jobs))) is not None:
                yield compacted
            yield self._log_result(job)

    def _close_calls(self, jobs: Sequence[ToolJob]) -> None:
        """Log a result for each call without one: the run was stopped."""
        for job in jobs:
            if not job.is_logged:
                why = texts.STOPPED if job.started else texts.NOT_STARTED
                job.give_up(ToolOutcome(content=why, failed=True, given_up=job.started))
                self._log_result(job)

    def _compact(self, job: ToolJob, jobs: Sequence[ToolJob]) -> Generator[Work, Any, Compacted | None]:
        """Answer a call of `context_manager`, the first one of a reply."""
        if any(other.compacts and other.outcome is not None for other in jobs):
            job.outcome = ToolOutcome(content=texts.ALREADY_COMPACTED, failed=True)
            return None
        job.started = True
        job.outcome, compacted = yield from context_outcome(self._conv, job.call.arguments)
        return compacted

    def _caller(self, calls: int, provider: Provider) -> Caller:
        """What a sub-agent may know of this run and use."""
        settings, conv, used = self._settings, self._conv, self._record.usage
        tokens, dollars = settings.max_total_tokens, settings.max_cost
        return Caller(
            log=conv.log.name,
            store=conv.store,
            settings=conv.settings,
            tags=conv.tags,
            provider=provider,
            approve=settings.approve,
            tokens_left=None if tokens is None else (tokens - used.total) // calls,
            cost_left=None if dollars is None or used.cost is None else (dollars - used.cost) / calls,
        )

    def _job(self, called: ToolCalled) -> ToolJob:
        """Make a job of a call, for a driver. It has its outcome already if no function has to run."""
        tool = self._settings.functions.get(called.name)
        job = ToolJob(called, tool, {}, self._settings.tool_timeout if tool is None else tool.timeout)
        if job.timeout is None:
            job.timeout = self._settings.tool_timeout
        if called.name in self._settings.unavailable():
            job.outcome = ToolOutcome(content=texts.tool_unavailable(called.name), failed=True)
        elif tool is not None:
            try:
                job.arguments = tool.arguments(called.arguments)
                job.call = replace(called, needs_approval=tool.needs_approval(job.arguments))
            except InvalidMessage as wrong:
                job.outcome = ToolOutcome(content=str(wrong), failed=True)
        elif called.name == texts.CONTEXT_MANAGER and called.name in self._known:
            job.compacts = True
        elif called.name in texts.READ_BACK and called.name in self._known:
            job.outcome = ToolOutcome(content=self._conv.readback(called.name, called.arguments))
        elif called.name in self._known:
            job.outcome = ToolOutcome(content=texts.tool_unavailable(called.name), failed=True)
        else:
            names = ", ".join(sorted(self._known)) or "none"
            job.outcome = ToolOutcome(
                content=f"there is no tool {quoting.plain_name(called.name) or 'without a name'}; there are: {names}",
                failed=True,
            )
        return job

    def _log_result(self, job: ToolJob) -> ToolReturned:
        assert job.outcome is not None
        job.is_logged = True
        called, outcome = job.call, readable(job.outcome)
        fact = replace(self._fact_of(called, outcome), synthetic=outcome.given_up)
        entry = self._log_outcome(fact, called, outcome, outcome.duration)
        if outcome.given_up:
            job.log_late(partial(self._log_late, called))
        return ToolReturned(
            entry=entry,
            name=called.name,
            id=called.id,
            turn=called.turn,
            index=called.index,
            content=outcome.content,
            failed=outcome.failed,
            duration=outcome.duration,
        )

    def _fact_of(self, called: ToolCalled, outcome: ToolOutcome) -> ToolResult:
        fact = result_fact(self._conv.dialect, called.id, outcome.content)
        fact = replace(fact, failed=outcome.failed, place=(called.turn, called.index))
        view = self._conv.view
        return with_change(view, fact) if view.approvals else fact

    def _log_late(self, called: ToolCalled, outcome: ToolOutcome) -> None:
        """Log what a tool came to after it was given up, in the tool's own thread. The model reads it in a note with
        the next request. Of a sub-agent that was told to stop, only its usage is logged: it has nothing to say. No
        duration is logged, by which a result counts as a call: this one counted when it was given up."""
        stopped = outcome.failed and bool(outcome.log)
        if stopped and outcome.usage is None:
            return
        outcome = readable(outcome)
        try:
            if stopped:
                why = f"sub-agent {called.name} ended after its call"
                self._log_outcome(Failure(failure=SUB_AGENT, error=why, usage=outcome.usage), called, outcome)
            else:
                self._log_outcome(self._fact_of(called, outcome), called, outcome)
        except TransomError as error:  # the conversation is closed
            what = f"the late result of {called.name} (call {called.turn}.{called.index} {quote(called.id)})"
            _logger.warning("conversation %s: %s is lost: %s", quote(self._conv.log.name), what, error)

    def _log_outcome(self, fact: Fact, called: ToolCalled, outcome: ToolOutcome, duration: float | None = None) -> int:
        return self._record.log(
            fact,
            tool_name=called.name,
            duration=duration,
            extra={"log": outcome.log} if outcome.log else None,
            usage=outcome.usage,
            cost=outcome.cost,
        )


def _called(turn: Assistant, key: int) -> Iterator[ToolCalled]:
    """The calls of a turn, each under the label by which its result names it."""
    for index, (call, label) in enumerate(zip(turn.calls, call_labels(turn.calls, key), strict=True)):
        yield ToolCalled(name=call.name, arguments=call.args, id=call.id and label, turn=key, index=index)


# ---- what a tool returned


def readable(outcome: ToolOutcome) -> ToolOutcome:
    """The outcome with its content as a text, an object or content parts (`result_content`). The result of an MCP tool
    may make it a failed one. Never raises: an object that cannot be read (its repr raises, it is nested too deep) makes
    the call a failed one that says so."""
    try:
        is_text = isinstance(outcome.content, str)
        if not is_text and (mcp := read_mcp(outcome.content)) is not None:
            return replace(outcome, content=mcp.parts or texts.NO_OUTPUT, failed=outcome.failed or mcp.failed)
        return replace(outcome, content=result_content(outcome.content))
    except Exception as error:  # noqa: BLE001 - the code of the object has run
        failed = f"the tool ran, but its result cannot be read: {why_unreadable(error)}"
        return replace(outcome, content=failed, failed=True)
