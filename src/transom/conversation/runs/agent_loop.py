"""The agent loop, written once. It uses no network and never waits: its only I/O is that of the store, inside a step.

`AgentLoop.steps` is a generator. It yields events, which somebody may look at, and work (`work.py`), which a driver
does (`driver.py`, `async_driver.py`). Everything else is an ordinary call: the conversation plans, logs and renders
inside a step. So the same code runs under a sync and an async driver, and a driver may run each step in a worker
thread.

What holds at every yield: the log is valid, and whatever an event has named is in it. A driver that must stop throws
the reason into the generator at the yield; the generator then closes the request or the calls that are open, each with
what is true, and lets the reason pass.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from transom import quoting, texts
from transom.conversation.appending.parse_messages import parse_result, user_message
from transom.conversation.approvals import approved_calls, blocks_the_model, with_change
from transom.conversation.events import (
    Compacted,
    Event,
    Finished,
    Replied,
    Requested,
    RequestFailed,
    Retrying,
    RunResult,
    ToolCalled,
    ToolReturned,
)
from transom.conversation.failures import leave_out_refused
from transom.conversation.function_tool import FunctionTool, names_of
from transom.conversation.model_calls.model_call import Partial, read_reply
from transom.conversation.model_calls.retry import Attempts, NextTry, Retry
from transom.conversation.output_type import OutputType
from transom.conversation.request import Request
from transom.conversation.runnable import RunnableConversation
from transom.conversation.runs.own_tools import context_outcome, with_readback
from transom.conversation.runs.readable_result import as_text, readable
from transom.conversation.runs.work import (
    Approve,
    Caller,
    CallModel,
    NextTool,
    RunTools,
    Sleep,
    ToolJob,
    ToolOutcome,
    Work,
)
from transom.core.edit import Fold
from transom.core.entry import Meta
from transom.core.message import Assistant, Fact, Failure, Raw, Text, ToolResult, Usage
from transom.core.pairing import call_labels
from transom.core.tool import Tool
from transom.core.usage import SUB_AGENT, TotalUsage
from transom.errors import (
    BudgetImpossible,
    InvalidMessage,
    InvalidOutput,
    InvalidSetting,
    ProviderError,
    RunStopped,
    TransomError,
    quote,
)
from transom.providers import models
from transom.providers.base import Provider, model_name
from transom.wire.dialects import dialect_named
from transom.wire.replies import StopReason
from transom.wire.request_fields import refuses_structured_output, structured_output, without_forced_call

_logger = logging.getLogger(__name__)

LATE_REPLY = "the reply came after the run was stopped"

RunSteps = Generator[Work | Event, Any, RunResult]

Approver = Callable[[ToolCalled], Any]
"""Whether a call may run: True, False, a text that says why not, or None to let it wait. May be async under an async
driver."""


class RunSettings(Struct, frozen=True, kw_only=True, eq=False):
    """The settings of a run, checked. The fields mean what they mean in `RunOptions`, except:

    - `providers`: the first one is asked for each reply; if it fails for good, the next one is. The next reply begins
      with the first again.
    - `sdk_arguments`: the `settings` of `RunOptions`.
    - `schemas`, `functions`: its `tools`, the functions by the name of their tool. None keeps the last schemas.
    - `output`: its `output_type`.
    """

    providers: tuple[Provider, ...]
    schemas: Sequence[Raw | Tool] | None = None
    functions: Mapping[str, FunctionTool] = {}
    readback: bool | None = None
    unavailable: Callable[[], Collection[str]] = tuple
    approve: Approver | None = None
    state: Mapping[str, Any] | None = None
    sdk_arguments: Mapping[str, Any] = {}
    reset_tool_choice: bool = True
    output: OutputType | None = None
    output_retries: int = 2
    max_tokens: int | None = None
    max_steps: int | None = None
    max_total_tokens: int | None = None
    max_cost: float | None = None
    timeout: float | None = None
    tool_timeout: float | None = None
    retry: Retry = Retry()
    stream: bool = False
    prices: models.TokenPrices | None = None


_NO_OUTPUT = object()
"""An answer that is not of the type that was asked for."""


class AgentLoop:
    """One run on a conversation: model calls and tool calls until the model answers."""

    def __init__(self, conversation: RunnableConversation, settings: RunSettings) -> None:
        self._conv, self._settings = conversation, settings
        self._provider = settings.providers[0]
        self._use_model = conversation._use_model  # pyright: ignore[reportPrivateUsage] - as for a request
        self._use_model(self._provider)
        self._first = conversation.view.length
        self._run = f"run {self._first}"
        self._sequence = 0
        self._used_before = conversation.view.usage
        self._max_tokens = settings.max_tokens
        self._sdk_arguments = settings.sdk_arguments
        self._asks_for_schema = settings.output is not None
        """Whether requests give the schema of the wanted type: no longer once a server has refused that."""
        self._repairs = 0
        self._schemas = with_readback(conversation, settings.schemas, settings.readback)
        self._known = names_of(conversation.head.tools if self._schemas is None else self._schemas)

    def steps(self, answer: str | None = None) -> RunSteps:
        """The steps of the run: yields events and work, returns the result. `answer`: what the model has said last, if
        nothing is left to answer. Then the run ends with that, without a request.

        Raises ProviderError, BudgetImpossible, RunStopped, InvalidOutput if no answer fits the wanted type,
        InvalidSetting if the function of an approved call was not given, and whatever a driver throws in.
        """
        try:
            if answer is not None and (output := self._read_output(answer)) is not _NO_OUTPUT:
                result = self._result(answer, "stop", output)
                yield Finished(result)
                return result
            replied: Replied | None = None
            while True:
                yield from self._approved_calls()
                if self._conv.view.approvals and blocks_the_model(self._conv.view):
                    result = self._result("" if replied is None else replied.text, "tool_calls")
                    yield Finished(result)
                    return result
                self._check_limits()
                turn, key, replied = yield from self._model_call()
                if turn.calls:
                    yield from self._tool_calls(turn, key, replied)
                    continue
                yield replied
                if replied.stop != "pause":
                    if (output := self._read_output(replied.text)) is _NO_OUTPUT:
                        continue
                    result = self._result(replied.text, replied.stop, output)
                    yield Finished(result)
                    return result
        except RunStopped as stopped:
            stopped.result = self._result()
            raise

    def log_user(self, content: Any) -> None:
        """Log what the user says. Raises InvalidMessage."""
        self._log(user_message(self._conv.dialect, content))

    # ---- limits

    @property
    def _usage(self) -> TotalUsage:
        """What the run has used, from the log: its requests, its sub-agents, and the summaries that came in
        meanwhile."""
        return self._conv.view.usage.since(self._used_before)

    def _check_limits(self) -> None:
        settings, used = self._settings, self._usage
        if settings.max_steps is not None and used.requests >= settings.max_steps:
            raise RunStopped("steps", f"no answer after {used.requests:,} step{'' if used.requests == 1 else 's'}")
        if settings.max_total_tokens is not None and used.total >= settings.max_total_tokens:
            raise RunStopped("tokens", f"no answer after {used.total:,} tokens, limit {settings.max_total_tokens:,}")
        if settings.max_cost is not None and used.cost is None:
            raise RunStopped(
                "cost", f"the limit of ${settings.max_cost:g} needs the model's prices: give run(prices=…)"
            )
        if settings.max_cost is not None and used.dollars >= settings.max_cost:
            raise RunStopped("cost", f"no answer after ${used.dollars:.4f}, limit ${settings.max_cost:g}")

    def _read_output(self, text: str) -> Any:
        """The answer as a value of the type that was asked for. If it does not fit, the model is told so, and the value
        is `_NO_OUTPUT`. Raises InvalidOutput after the last attempt."""
        if (wanted := self._settings.output) is None:
            return None
        try:
            return wanted.read(text)
        except InvalidMessage as wrong:
            if self._repairs >= self._settings.output_retries:
                raise InvalidOutput(wanted.name, wrong.why, self._repairs + 1, text) from None
            self._repairs += 1
            schema = msgspec.json.encode(wanted.schema).decode()
            notice = texts.output_does_not_fit(wrong.why, schema)
            self._log(user_message(self._conv.dialect, notice), injected=True)
            return _NO_OUTPUT

    def _result(self, text: str = "", stop: StopReason = "unknown", output: Any = None) -> RunResult:
        used = self._usage
        return RunResult(
            text=text,
            output=output,
            stop=stop,
            usage=used,
            cost=used.cost,
            model=model_name(self._provider),
            failures=used.failures,
            entries=(self._first, self._conv.view.length),
            summary="" if self._conv.summary is None else self._conv.summary.text,
            pending=tuple(self._conv._pending_calls()),  # pyright: ignore[reportPrivateUsage] - as for a request
        )

    # ---- the model

    def _model_call(self) -> Generator[Work | Event, Any, tuple[Assistant, int, Replied]]:
        """Ask for one reply, with as many attempts as the settings allow. Returns the turn, its key, and the event.
        Raises ProviderError when no attempt is left."""
        attempts = Attempts(self._settings.retry, self._settings.providers, self._max_tokens)
        while True:
            self._provider, self._max_tokens = attempts.provider, attempts.max_tokens
            try:
                request, compacted = yield from self._request(was_refused=attempts.refused is not None)
            except BudgetImpossible as impossible:
                if attempts.refused is None:
                    raise
                raise attempts.cannot_shrink(impossible) from impossible
            work = self._complete(request)
            in_flight = self._conv.view.in_flight
            assert in_flight is not None
            try:
                if compacted is not None:
                    yield compacted
                yield self._requested(request, in_flight.seq)
                outcome = yield work
            except BaseException:
                partial = Partial.of(work, None)
                failure = partial.failure("interrupted", answers=in_flight.seq, model=self._provider, final=True)
                self._log(failure, cost=self._cost_of(partial.usage))
                raise
            try:
                turn, stop = read_reply(work, outcome)
            except ProviderError as raised:
                partial = Partial.of(work, outcome)
                next_try = attempts.after(raised, request)
                if next_try.error is not None and self._schema_was_refused(raised):
                    next_try = NextTry(kind=next_try.kind, text=next_try.text)
                yield self._log_failure(partial, next_try, in_flight.seq)
                leave_out_refused(self._conv, next_try, request.window.view, said=partial.text)
                if next_try.error is not None:
                    raise next_try.error from raised
                yield Retrying(attempt=attempts.number, wait=next_try.wait, model=model_name(attempts.provider))
                if next_try.wait:
                    yield Sleep(next_try.wait)
                continue
            replied = self._log_reply(replace(turn, answers=in_flight.seq), stop)
            # not always the request's place: another writer may have sent a request since
            return turn, self._conv.view.unit_of[replied.entry], replied

    def _request(self, *, was_refused: bool) -> Generator[Work, Any, tuple[Request, Compacted | None]]:
        """Plan and log the next request, after a summary if its policy waits for one. Returns the request, and the
        event of the compaction that came with it; None if none did."""
        conv, settings = self._conv, self._settings
        self._use_model(self._provider, was_refused=was_refused)
        before = conv.view
        begin = conv._request_steps  # pyright: ignore[reportPrivateUsage] - work of its own, so that a driver waits
        request = yield from begin(tools=self._schemas, state=settings.state, cache=True)
        entries = [conv.log[seq] for seq in range(before.length, conv.view.length)]
        if not any(isinstance(entry.body, Fold) for entry in entries):
            return request, None
        return request, Compacted.of(before, request.window.view, entries)

    def _complete(self, request: Request) -> CallModel:
        arguments: dict[str, Any] = {**request}
        for key, value in (*self._schema_arguments().items(), *self._sdk_arguments.items()):
            inner = arguments.get(key)
            arguments[key] = {**inner, **value} if isinstance(inner, dict) and isinstance(value, Mapping) else value
        return CallModel(
            provider=self._provider,
            request=arguments,
            max_tokens=self._max_tokens,
            timeout=self._settings.timeout,
            accumulator=self._conv.dialect.accumulator() if self._settings.stream else None,
            on_late=partial(self._log_late_reply, self._provider),
        )

    def _schema_arguments(self) -> dict[str, Any]:
        """The arguments that ask for an answer of the wanted type; empty if the API has none."""
        wanted = self._settings.output
        if wanted is None or not self._asks_for_schema:
            return {}
        return structured_output(self._conv.dialect.name, wanted.name, wanted.schema)

    def _schema_was_refused(self, error: ProviderError) -> bool:
        """Whether the server has refused a request because it gives the schema of the answer. Then no later request
        of this run does: the model is told the schema if its answer does not fit."""
        is_refused = error.kind == "bad_request" and bool(self._schema_arguments())
        if not is_refused or not refuses_structured_output(error.body or str(error)):
            return False
        self._asks_for_schema = False
        return True

    def _requested(self, request: Request, entry: int) -> Requested:
        return Requested(
            entry=entry,
            model=model_name(self._provider),
            request=request,
            settings=self._sdk_arguments,
            max_tokens=self._max_tokens,
            stream=self._settings.stream,
        )

    def _log_late_reply(self, provider: Provider, reply: object) -> None:
        """Log the usage of a reply that came after the run was stopped. Its request was closed by then, so that the
        failure answers none."""
        if (usage := dialect_named(provider.dialect).usage_of(reply)) is None:
            return
        failure = Failure(failure="interrupted", error=LATE_REPLY, model=model_name(provider), usage=usage)
        try:
            self._log(failure, cost=models.cost(usage, model_name(provider), self._settings.prices))
        except TransomError as error:  # the conversation is closed
            what = f"{usage.prompt + usage.output:,} tokens of a late reply"
            _logger.warning("conversation %s: %s are not counted: %s", quote(self._conv.log.name), what, error)

    def _log_reply(self, turn: Assistant, stop: StopReason) -> Replied:
        if self._settings.reset_tool_choice:
            self._sdk_arguments = without_forced_call(self._sdk_arguments)
        model, cost = model_name(self._provider), self._cost_of(turn.usage)
        entry = self._log(turn, model=model, cost=cost)
        return Replied(
            entry=entry, text=_text(turn), calls=len(turn.calls), stop=stop, model=model, usage=turn.usage, cost=cost
        )

    def _log_failure(self, partial: Partial, next_try: NextTry, answers: int) -> RequestFailed:
        failure = partial.failure(
            next_try.kind,
            answers=answers,
            model=self._provider,
            final=next_try.error is not None,
            error=next_try.text,
            limit=next_try.limit,
            used=next_try.used,
        )
        cost = self._cost_of(partial.usage)
        return RequestFailed(
            entry=self._log(failure, cost=cost),
            kind=failure.failure,
            error=failure.error,
            model=failure.model,
            text=failure.text,
            usage=partial.usage,
            cost=cost,
            limit=failure.limit,
            used=failure.used,
        )

    def _cost_of(self, usage: Usage | None) -> float | None:
        """What a request to the present provider cost; None if that is not known."""
        return models.cost(usage, model_name(self._provider), self._settings.prices)

    # ---- tools

    def _tool_calls(self, turn: Assistant, key: int, replied: Replied) -> Generator[Work | Event, Any, None]:
        """Run the calls of a turn. Each gets a result: the tool's, or one that says why there is none. Only a call that
        needs a person's approval may go without one, until that is decided."""
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
            yield from self._results([job for job in jobs if not job.waits])
        except BaseException:
            self._close_calls([job for job in jobs if job.call.index not in pending])
            raise

    def _ask(self, job: ToolJob) -> Generator[Work, Any, None]:
        """Ask whether a call may run. The job says afterwards that it runs, waits, or was refused."""
        if self._settings.approve is not None:
            _judge(job, (yield Approve(job)))
        else:
            job.waits = job.call.needs_approval

    def _approved_calls(self) -> Generator[Work | Event, Any, None]:
        """Run the calls that a person has approved meanwhile. Raises InvalidSetting, with nothing started, if the
        function of one was not given."""
        if not self._conv.view.approvals or not (approved := approved_calls(self._conv.view)):
            return
        names = {each.name for each in approved} - {texts.CONTEXT_MANAGER}
        if missing := sorted(names - self._settings.functions.keys()):
            raise InvalidSetting(f"run: a call of {quote(missing[0])} was approved: give the function in tools=")
        jobs = [self._job(each) for each in self._conv.take_approved()]
        try:
            for job in jobs:
                yield job.call
            yield from self._results(jobs)
        except BaseException:
            self._close_calls(jobs)
            raise

    def _results(self, jobs: Sequence[ToolJob]) -> Generator[Work | Event, Any, None]:
        """Run the calls at the same time, and log each result as it comes; then the calls of `context_manager`."""
        for job in jobs:
            if job.outcome is not None:
                yield self._log_result(job)
        waiting = tuple(job for job in jobs if job.outcome is None and not job.compacts)
        for job in waiting:
            job.caller = self._caller(len(waiting))
        work: Work = RunTools(waiting)
        for _ in waiting:
            job = yield work
            work = NextTool()
            if job.outcome.waits:
                self._log_waiting(job)
            else:
                yield self._log_result(job)
        for job in [job for job in jobs if job.outcome is None and job.compacts]:
            if (compacted := (yield from self._compact(job, jobs))) is not None:
                yield compacted
            yield self._log_result(job)

    def _log_waiting(self, job: ToolJob) -> None:
        """Log that a sub-agent's call waits: calls in its conversation need a person's approval."""
        job.is_logged = True
        self._conv._log_pending([job.call])  # pyright: ignore[reportPrivateUsage] - as for a request

    def _close_calls(self, jobs: Sequence[ToolJob]) -> None:
        """Log a result for each call without one: the run was stopped."""
        for job in jobs:
            if not job.is_logged:
                job.give_up(_interrupted(job))
                self._log_result(job)

    def _compact(self, job: ToolJob, jobs: Sequence[ToolJob]) -> Generator[Work, Any, Compacted | None]:
        """Answer a call of `context_manager`, the first one of a reply."""
        if any(other.compacts and other.outcome is not None for other in jobs):
            job.outcome = ToolOutcome(content=texts.ALREADY_COMPACTED, failed=True)
            return None
        job.started = True
        job.outcome, compacted = yield from context_outcome(self._conv, job.call.arguments)
        return compacted

    def _caller(self, calls: int) -> Caller:
        """What a sub-agent may know of this run and use. `calls`: how many calls run now, which share what is left of
        the limits."""
        settings, conv, used = self._settings, self._conv, self._usage
        tokens, dollars = settings.max_total_tokens, settings.max_cost
        return Caller(
            log=conv.log.name,
            store=conv.store,
            settings=conv.settings,
            tags=conv.tags,
            provider=self._provider,
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
        content = outcome.content
        try:
            if isinstance(content, list):
                fact = parse_result(self._conv.dialect, called.id, cast("list[Any]", content))
            else:
                fact = self._conv.dialect.parse_tool_result(called.id, content)
        except InvalidMessage:  # parts that no API has
            fact = self._conv.dialect.parse_tool_result(called.id, as_text(content))
        assert isinstance(fact, ToolResult)
        fact = replace(fact, failed=outcome.failed, place=(called.turn, called.index))
        return with_change(self._conv.view, fact)

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
        return self._log(
            fact,
            tool_name=called.name,
            duration=duration,
            extra={"log": outcome.log} if outcome.log else None,
            usage=outcome.usage,
            cost=outcome.cost,
        )

    def _log(self, fact: Fact, **meta: Any) -> int:
        self._sequence += 1
        return self._conv.append(fact, Meta(evaluation_id=self._run, sequence=self._sequence, **meta))


def _called(turn: Assistant, key: int) -> Iterator[ToolCalled]:
    """The calls of a turn, each under the label by which its result names it."""
    for index, (call, label) in enumerate(zip(turn.calls, call_labels(turn.calls, key), strict=True)):
        yield ToolCalled(name=call.name, arguments=call.args, id=call.id and label, turn=key, index=index)


def _judge(job: ToolJob, verdict: object) -> None:
    job.waits = verdict is None
    if not job.waits and verdict is not True:
        why = verdict if isinstance(verdict, str) else ""
        job.outcome = ToolOutcome(content=texts.not_approved(why), failed=True)


def _interrupted(job: ToolJob) -> ToolOutcome:
    return ToolOutcome(content=texts.STOPPED if job.started else texts.NOT_STARTED, failed=True, given_up=job.started)


def _text(turn: Assistant) -> str:
    return "".join(part.text for part in turn.parts if isinstance(part, Text))
