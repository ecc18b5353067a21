"""The agent loop, written once. It uses no network and never waits: its only I/O is that of the store, inside a step.

`AgentLoop.steps` is a generator. It yields events, which somebody may look at, and work (`awaited_work.py`), which a
driver does (`sync_driver.py`, `async_driver.py`). Everything else is an ordinary call: the conversation plans, logs and
renders inside a step. So the same code runs under a sync and an async driver, and a driver may run each step in a
worker thread.

What holds at every yield: the log is valid, and whatever an event has named is in it. A driver that must stop throws
the reason into the generator at the yield; the generator then closes the request or the calls that are open, each with
what is true, and lets the reason pass.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from transom import texts
from transom.conversation.appending.parse_messages import user_message
from transom.conversation.approvals import blocks_the_model
from transom.conversation.events import (
    Compacted,
    Event,
    Finished,
    Replied,
    Requested,
    RequestFailed,
    Retrying,
    RunResult,
)
from transom.conversation.failures import leave_out_refused
from transom.conversation.function_tool import names_of
from transom.conversation.model_calls.model_call import PartialReply, read_reply
from transom.conversation.model_calls.retry import Attempts, FailedAttempt
from transom.conversation.runnable import RunnableConversation, RunSettings
from transom.conversation.runs.awaited_work import CallModel, Sleep, Work
from transom.conversation.runs.own_tools import with_readback
from transom.conversation.runs.tool_calls import RunRecord, ToolCalls
from transom.core.edit import Fold
from transom.core.message import Assistant, Failure, Usage, said_in
from transom.errors import (
    BudgetImpossible,
    InvalidMessage,
    InvalidOutput,
    ProviderError,
    RunStopped,
    TransomError,
    quote,
)
from transom.providers import model_prices
from transom.providers.base import Provider, model_name
from transom.wire.dialect import Dialect
from transom.wire.rendering import Request
from transom.wire.replies import StopReason
from transom.wire.request_fields import (
    refuses_structured_output,
    structured_output,
    without_choice_of,
    without_forced_call,
)

_logger = logging.getLogger(__name__)

LATE_REPLY = "the reply came after the run was stopped"
INTERRUPTED = FailedAttempt(kind="interrupted", text="")
"""What follows a request during which the run was stopped."""

RunSteps = Generator[Work | Event, Any, RunResult]

_NO_OUTPUT = object()
"""An answer that is not of the type that was asked for."""


class AgentLoop:
    """One run on a conversation: model calls and tool calls until the model answers. Making one logs nothing, but sets
    the conversation to the model and the dialect of the first provider; `steps` may be run once."""

    def __init__(self, conversation: RunnableConversation, settings: RunSettings) -> None:
        self._conv, self._settings = conversation, settings
        self._provider = settings.providers[0]
        self._use_model = conversation._use_model  # pyright: ignore[reportPrivateUsage] - as for a request
        self._use_model(self._provider)
        self._record = RunRecord(conversation)
        self._max_tokens = settings.max_tokens
        self._sdk_arguments = settings.sdk_arguments
        self._asks_for_schema = settings.output is not None
        """Whether requests give the schema of the wanted type: no longer once a server has refused that."""
        self._repairs = 0
        self._schemas = with_readback(conversation, settings.schemas, settings.readback)
        known = names_of(conversation.head.tools if self._schemas is None else self._schemas)
        self._tools = ToolCalls(conversation, settings, self._record, known)

    def steps(self, answer: str | None = None) -> RunSteps:
        """The steps of the run: yields events and work, returns the result. `answer`: the text of the model's last
        reply, if nobody has said anything since; the run then ends with it, without a request. None: there is something
        to answer.

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
                yield from self._tools.run_approved(self._provider)
                if self._conv.view.approvals and blocks_the_model(self._conv.view):
                    result = self._result("" if replied is None else replied.text, "tool_calls")
                    yield Finished(result)
                    return result
                self._check_limits()
                turn, key, replied = yield from self._model_call()
                if turn.calls:
                    yield from self._tools.run(turn, key, replied, self._provider)
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
        self._record.log(user_message(self._conv.dialect, content))

    # ---- limits

    def _check_limits(self) -> None:
        settings, used = self._settings, self._record.usage
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
        """The answer as a value of the type that was asked for."""
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
            self._record.log(user_message(self._conv.dialect, notice), injected=True)
            return _NO_OUTPUT

    def _result(self, text: str = "", stop: StopReason = "unknown", output: Any = None) -> RunResult:
        used = self._record.usage
        return RunResult(
            text=text,
            output=output,
            stop=stop,
            usage=used,
            cost=used.cost,
            model=model_name(self._provider),
            failures=used.failures,
            entries=(self._record.first, self._conv.view.length),
            summary="" if self._conv.summary is None else self._conv.summary.text,
            pending=tuple(self._conv._pending_calls()),  # pyright: ignore[reportPrivateUsage] - as for a request
        )

    # ---- the model

    def _model_call(self) -> Generator[Work | Event, Any, tuple[Assistant, int, Replied]]:
        """Ask for one reply, with as many attempts as the settings allow."""
        attempts = Attempts(self._settings.retry, self._settings.providers, self._max_tokens)
        while True:
            self._provider, self._max_tokens = attempts.provider, attempts.max_tokens
            try:
                request, compacted = yield from self._request(attempts)
            except BudgetImpossible as impossible:
                if attempts.refused is None:
                    raise
                self._end_attempts(attempts)
                raise attempts.cannot_shrink(impossible) from impossible
            work = self._complete(request)
            in_flight = self._conv.view.in_flight
            assert in_flight is not None
            try:
                if compacted is not None:
                    yield compacted
                yield Requested(
                    entry=in_flight.seq,
                    model=model_name(self._provider),
                    request=request,
                    settings=self._sdk_arguments,
                    max_tokens=self._max_tokens,
                    stream=self._settings.stream,
                )
                outcome = yield work
            except BaseException:
                self._log_failure(PartialReply.of(work, None), INTERRUPTED, in_flight.seq, final=True)
                raise
            try:
                turn, stop = read_reply(work, outcome)
            except ProviderError as raised:
                partial = PartialReply.of(work, outcome)
                failed = attempts.after(raised, request)
                if failed.error is not None and self._schema_was_refused(raised):
                    failed = FailedAttempt(kind=failed.kind, text=failed.text)
                yield self._log_failure(partial, failed, in_flight.seq, final=failed.error is not None)
                leave_out_refused(self._conv, failed, request.window.view, said=partial.text)
                if failed.error is not None:
                    self._end_attempts(attempts)
                    raise failed.error from raised
                yield Retrying(attempt=attempts.number, wait=failed.wait, model=model_name(attempts.provider))
                if failed.wait:
                    yield Sleep(failed.wait)
                continue
            replied = self._log_reply(replace(turn, answers=in_flight.seq), stop)
            # not always the request's place: another writer may have sent a request since
            return turn, self._conv.view.unit_of[replied.entry], replied

    def _end_attempts(self, attempts: Attempts[Provider]) -> None:
        """Plan without the limit that only further attempts have to keep to."""
        if attempts.at_most:
            self._use_model(self._provider)

    def _request(self, attempts: Attempts[Provider]) -> Generator[Work, Any, tuple[Request, Compacted | None]]:
        """Plan and log the next request, after a summary if its policy waits for one."""
        conv, settings = self._conv, self._settings
        self._use_model(self._provider, was_refused=attempts.refused is not None, at_most=attempts.at_most)
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
        left_out = self._conv.dialect.left_out_tools(request.window.view.head.tools)
        return CallModel(
            provider=self._provider,
            dialect=self._conv.dialect,
            request=without_choice_of(arguments, left_out, self._conv.dialect.name),
            max_tokens=self._max_tokens,
            timeout=self._settings.timeout,
            accumulator=self._conv.dialect.accumulator() if self._settings.stream else None,
            on_late=partial(self._log_late_reply, self._provider, self._conv.dialect),
        )

    def _schema_arguments(self) -> dict[str, Any]:
        """The arguments that ask for an answer of the wanted type; empty if the API has none."""
        wanted = self._settings.output
        if wanted is None or not self._asks_for_schema:
            return {}
        return structured_output(self._conv.dialect.name, wanted.name, wanted.schema)

    def _schema_was_refused(self, error: ProviderError) -> bool:
        """Whether the server has refused a request because it gives the schema of the answer."""
        is_refused = error.kind == "bad_request" and bool(self._schema_arguments())
        if not is_refused or not refuses_structured_output(error.body or str(error)):
            return False
        self._asks_for_schema = False
        return True

    def _log_late_reply(self, provider: Provider, dialect: Dialect, reply: object) -> None:
        """Log the usage of a reply that came after the run was stopped: its request was closed by then."""
        if (usage := dialect.usage_of(reply)) is None:
            return
        failure = Failure(failure="interrupted", error=LATE_REPLY, model=model_name(provider), usage=usage)
        try:
            self._record.log(failure, cost=model_prices.cost(usage, model_name(provider), self._settings.prices))
        except TransomError as error:  # the conversation is closed
            what = f"{usage.prompt + usage.output:,} tokens of a late reply"
            _logger.warning("conversation %s: %s are not counted: %s", quote(self._conv.log.name), what, error)

    def _log_reply(self, turn: Assistant, stop: StopReason) -> Replied:
        if self._sdk_arguments and self._settings.reset_tool_choice:
            self._sdk_arguments = without_forced_call(self._sdk_arguments)
        model, cost = model_name(self._provider), self._cost_of(turn.usage)
        entry = self._record.log(turn, model=model, cost=cost)
        return Replied(
            entry=entry, text=said_in(turn), calls=len(turn.calls), stop=stop, model=model, usage=turn.usage, cost=cost
        )

    def _log_failure(self, partial: PartialReply, failed: FailedAttempt, answers: int, *, final: bool) -> RequestFailed:
        failure = failed.failure(partial, answers=answers, model=model_name(self._provider), final=final)
        cost = self._cost_of(partial.usage)
        return RequestFailed(
            entry=self._record.log(failure, cost=cost),
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
        return model_prices.cost(usage, model_name(self._provider), self._settings.prices)
