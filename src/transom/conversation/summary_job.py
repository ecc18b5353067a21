"""Who makes a conversation's summaries (`SummarySettings`), how one is made, and how a thread waits for it.

`SummaryJob.steps` is a generator without I/O: it yields the requests to send (`CallModel`), is sent each reply, and
returns what came out. It never raises: whatever a summarizer or a model does, the end is a `SummaryOutcome`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from transom.conversation.model_calls.model_call import CallModel, read_reply, reported_usage
from transom.conversation.worker_pool import SHARED_POOL, Pool
from transom.core.message import Text, Usage
from transom.core.summary import Summarise, Summary
from transom.core.summary_limits import SummaryLimits
from transom.core.tokens import TokenCounter
from transom.errors import InvalidSetting, ProviderError, SummaryFailed, quote, shorten
from transom.providers import provider_named
from transom.providers.base import Compacts, Provider, model_name
from transom.providers.model_prices import TokenPrices, cost
from transom.redaction import without_keys
from transom.summaries.base import Answer, Ask, Model, Summarizer
from transom.wire.dialects import dialect_named
from transom.wire.request_fields import http_body

R = TypeVar("R")
W = TypeVar("W")

DEADLINE = 60.0
"""Seconds that a request waits for a summary, if it waits at all."""


class SummarySettings(Struct, frozen=True, kw_only=True, eq=False):
    """Who makes a conversation's summaries, and when none is made.

    - `provider`: the model that is asked, a name or a provider; "run": the model of the run. None: no model is asked.
    - `summarizer`: an object with `steps`, which decides what the model is asked (docs/summaries.md). None:
      `LlmSummarizer()` if there is a provider, with the prompts "plain" if the model's context window has fewer than
      8,000 tokens. With neither, only notes are kept.
    - `deadline`: the most seconds that a request or `compact` waits for a summary. It is also the timeout of each
      request to the model of the summaries, in the background too.
    - `limits`: when no summary is asked for. `prices`: what that model's tokens cost. `context`: the tokens of its
      context window, if they are not known otherwise. `pool`: the threads that make summaries.

    Raises InvalidSetting for a `summarizer` without `steps`, a provider that cannot be made, and a wrong number.
    """

    summarizer: Summarizer | None = None
    provider: str | Provider | None = None
    deadline: float = DEADLINE
    limits: SummaryLimits = SummaryLimits()
    prices: TokenPrices | None = None
    context: int | None = None
    pool: Pool = SHARED_POOL

    def __post_init__(self) -> None:
        deadline = cast("object", self.deadline)
        if (
            isinstance(deadline, bool)
            or not isinstance(deadline, (int, float))
            or not 0 < deadline < threading.TIMEOUT_MAX
        ):
            raise InvalidSetting(f"summarizer: deadline must be seconds above 0, not {quote(deadline)}")
        context = cast("object", self.context)
        if context is not None and (type(context) is not int or context < 1):
            raise InvalidSetting(f"summarizer: context must be a whole number of at least 1, not {quote(context)}")
        if self.provider is not None and self.provider != "run":
            try:
                force_setattr(self, "provider", provider_named(self.provider))
            except InvalidSetting as error:
                raise InvalidSetting(f"summarizer: {error}") from None
        if self.summarizer is not None and not callable(getattr(self.summarizer, "steps", None)):
            is_model = isinstance(self.summarizer, str) or callable(getattr(self.summarizer, "complete", None))
            raise InvalidSetting(
                "summarizer: a model that writes summaries is SummarySettings(provider=…); summarizer=… is an object "
                "with a method steps, as LlmSummarizer()"
                if is_model
                else f"summarizer: must have a method steps, not {quote(self.summarizer)}"
            )
        least = cast("object", getattr(self.summarizer, "least_tokens", 0))
        if type(least) is not int or least < 0:
            raise InvalidSetting(f"summarizer: least_tokens must be a whole number of at least 0, not {quote(least)}")


SummarizedBy = str | Provider | Summarizer | SummarySettings
"""Who makes summaries, as `Conversation.open` takes it."""


_SUMMARIZERS = '"run", a model as provider:model, a provider, a Summarizer or SummarySettings'


def summary_settings(given: object) -> SummarySettings | None:
    """Make settings of what `Conversation.open` takes as `summarizer`; None stays None. Raises InvalidSetting for
    anything else, and for what SummarySettings refuses."""
    if given is None or isinstance(given, SummarySettings):
        return given
    if callable(getattr(given, "steps", None)):
        return SummarySettings(summarizer=cast("Summarizer", given))
    if given == "run":
        return SummarySettings(provider="run")
    if isinstance(given, str) or callable(getattr(given, "complete", None)):
        try:
            return SummarySettings(provider=provider_named(cast("str | Provider", given)))
        except InvalidSetting as error:
            is_model = not isinstance(given, str) or ":" in given
            raise InvalidSetting(f"summarizer: {'' if is_model else f'must be {_SUMMARIZERS}; '}{error}") from None
    raise InvalidSetting(f"summarizer: must be {_SUMMARIZERS}, not {quote(given)}")


# ---- one job

ERROR_CHARACTERS = 500

TRIES = 2
"""How often one request is sent, if it fails in a way that may pass."""


class SummaryOutcome(Struct, frozen=True, kw_only=True):
    """What a summary job came to: a summary; or an `error`, and then perhaps a summary that code made of the notes.

    `model`: who was asked. `usage`, `cost`: of the requests to it; None if not known.
    """

    summary: Summary | None = None
    error: str = ""
    model: str = ""
    usage: Usage | None = None
    cost: float | None = None


class SummaryJob(Struct, eq=False):
    """The making of one summary.

    `want`: the turns that it must cover. `summarizer`: who makes it; None: code, which only keeps notes. `counter`:
    counts the tokens of the summary. `provider`, `model`: who answers the summarizer's requests; None for a summarizer
    that asks no model. `timeout`: seconds for each request. `prices`: of the model, to know the cost.
    """

    want: Summarise
    summarizer: Summarizer | None
    counter: TokenCounter
    provider: Provider | None = None
    model: Model | None = None
    timeout: float | None = None
    prices: TokenPrices | None = None
    _usage: Usage | None = None

    @property
    def model_name(self) -> str:
        """The model that makes the summary, as the log names it; empty if none does."""
        return "" if self.provider is None else model_name(self.provider)

    def steps(self) -> Generator[CallModel, object, SummaryOutcome]:
        """The steps of making the summary: yields requests, is sent the reply to each or the ProviderError in its
        place, returns the outcome. Never raises."""
        if self.summarizer is None:
            return SummaryOutcome(summary=self._of_notes())
        try:
            made = yield from self._asked(self.summarizer)
        except Exception as error:  # noqa: BLE001 - a summarizer may be anybody's code
            return self.failed(_reason(error))
        return self._checked(made)

    def failed(self, error: str) -> SummaryOutcome:
        """The outcome with this error. If there are new notes, the outcome also has a summary that code makes of them,
        if there is room for it."""
        return SummaryOutcome(
            summary=self._of_notes(),
            error=shorten(without_keys(error), ERROR_CHARACTERS),
            model=self.model_name,
            usage=self._usage,
            cost=self._cost_of(self._usage),
        )

    def so_far(self) -> SummaryOutcome:
        """An outcome without a summary, with the usage of its requests until now."""
        return SummaryOutcome(model=self.model_name, usage=self._usage, cost=self._cost_of(self._usage))

    def _asked(self, summarizer: Summarizer) -> Generator[CallModel, object, Summary]:
        """Run the summarizer's steps: its requests are checked and yielded, and each answer or error is sent in."""
        steps = summarizer.steps(self.want, self.counter, self.model)
        try:
            ask = next(steps)
            while True:
                answer = yield from self._answer(ask)
                ask = steps.send(answer)
        except StopIteration as done:
            return done.value

    def _answer(self, ask: Ask) -> Generator[CallModel, object, Answer | ProviderError]:
        if self.provider is None or self.model is None:
            raise SummaryFailed("there is no model to ask")
        dialect = dialect_named(self.model.dialect)
        if broken := dialect.violations(http_body(ask.request)):
            return ProviderError("bad_request", f"the summary's own request is not valid: {broken[0].why}")
        if ask.compacts and not callable(getattr(self.provider, "compact", None)):
            raise SummaryFailed(f"provider {self.provider.name} cannot be asked for a compaction of its own")
        work = CallModel(
            provider=self.provider,
            dialect=dialect,
            request=ask.request,
            max_tokens=ask.max_tokens,
            timeout=self.timeout,
            compacts=ask.compacts,
        )
        for left in range(TRIES, 0, -1):
            outcome = yield work
            if (usage := reported_usage(work, outcome)) is not None:
                self._usage = usage.plus(self._usage)
            try:
                turn, _ = read_reply(work, outcome)
            except ProviderError as error:
                if left > 1 and error.is_retryable:
                    continue
                return error
            text = "".join(part.text for part in turn.parts if isinstance(part, Text))
            return Answer(text=text, called_tools=bool(turn.calls), usage=turn.usage, turn=turn)
        raise AssertionError("the last try returns")

    def _checked(self, made: object) -> SummaryOutcome:
        """The outcome with what a summarizer made; with an error if that is no summary that can be used."""
        if not isinstance(made, Summary):
            return self.failed("the summarizer returned no summary")
        keys = [turn.key for turn in self.want.turns]
        if made.last != self.want.last and made.last not in keys:
            return self.failed(f"its last turn, {made.last}, is none of those that it was given")
        if not made.text.strip():
            return self.failed("it is empty")
        if (tokens := self.counter.count(made.text)) > self.want.max_tokens:
            return self.failed(f"it has {tokens:,} tokens; it may have {self.want.max_tokens:,}")
        usage, by = self._usage or made.usage, made.made_by or self.model_name
        price = self._cost_of(usage)
        summary = replace(made, prior=self.want.prior_seq, usage=usage, cost=price, made_by=by)
        return SummaryOutcome(summary=summary, model=by, usage=usage, cost=price)

    def _cost_of(self, usage: Usage | None) -> float | None:
        """What requests with this usage cost, in US dollars; None if that is not known."""
        return None if self.provider is None else cost(usage, model_name(self.provider), self.prices)

    def _of_notes(self) -> Summary | None:
        """The summary that keeps the new notes; None if there are none, or no room for them."""
        from transom.summaries.rolling_summary import summary_without_model  # noqa: PLC0415 - only where there are summaries

        try:
            return None if self.want.by_provider else summary_without_model(self.want, self.counter)
        except SummaryFailed:
            return None


def run_job(job: SummaryJob) -> SummaryOutcome:
    """Make a summary in this thread, and return the outcome. Never raises."""
    steps = job.steps()
    step = next_step(steps, None)
    while not isinstance(step, SummaryOutcome):
        step = next_step(steps, _completed(step))
    return step


async def run_job_async(job: SummaryJob) -> SummaryOutcome:
    """Make a summary on an event loop, and return the outcome. The summarizer's own work is done in a worker thread,
    which is given up if the task is cancelled."""
    from anyio import to_thread  # noqa: PLC0415 - only where there is an event loop

    steps = job.steps()
    outcome: object = None
    while True:
        step = await to_thread.run_sync(next_step, steps, outcome, abandon_on_cancel=True)
        if isinstance(step, SummaryOutcome):
            return step
        try:
            if step.compacts:
                outcome = await cast("Compacts", step.provider).acompact(step.request, timeout=step.timeout)
            else:
                outcome = await step.provider.acomplete(step.request, max_tokens=step.max_tokens, timeout=step.timeout)
        except Exception as error:  # noqa: BLE001 - a provider may be anybody's code
            outcome = _as_provider_error(error)


def next_step(steps: Generator[W, Any, R], outcome: object) -> W | R:
    """Do one step of a generator: returns the work that the generator waits for next; at its end, what the generator
    returns. So no StopIteration is raised, which could not leave a thread. `outcome`: of the work before; None for the
    first step."""
    try:
        return steps.send(outcome)
    except StopIteration as done:
        return done.value


def _completed(work: CallModel) -> object:
    try:
        if work.compacts:
            return cast("Compacts", work.provider).compact(work.request, timeout=work.timeout)
        return work.provider.complete(work.request, max_tokens=work.max_tokens, timeout=work.timeout)
    except Exception as error:  # noqa: BLE001 - a provider may be anybody's code
        return _as_provider_error(error)


def _as_provider_error(error: Exception) -> ProviderError:
    return error if isinstance(error, ProviderError) else ProviderError("unknown", _reason(error))


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, (SummaryFailed, ProviderError)) else f"{type(error).__name__}: {error}"


# ---- waiting for it


class AwaitSummary(Struct, frozen=True, kw_only=True, eq=False):
    """Work for a driver: make a summary within `deadline` seconds. The outcome is a `SummaryOutcome`; after the
    deadline it has an error. The sync driver makes the summary in a thread of the `pool`, the async one on its event
    loop."""

    job: SummaryJob
    deadline: float
    pool: Pool


SummarySteps = Generator[AwaitSummary, SummaryOutcome, R]
"""A generator that may wait for summaries: whoever runs it makes each one and sends the outcome in. It returns an R."""


_TICK = 0.1


def await_summary(want: AwaitSummary, *, check: Callable[[], None] = lambda: None) -> SummaryOutcome:
    """Make a summary in a thread of the pool, and wait for the outcome. After the deadline the outcome has an error.

    A summary that code makes without a summarizer is made in this thread. `check` is called every tenth of a second; if
    it raises, the work is given up, and the error passes.
    """
    job = want.job
    if job.summarizer is None:
        return run_job(job)
    ticket = want.pool.submit(lambda: run_job(job))
    left = want.deadline
    try:
        while left > 0:
            check()
            if ticket.done.wait(min(_TICK, left)):
                return ticket.result or job.failed("its work broke off")
            left -= _TICK
    finally:
        if not ticket.done.is_set():
            want.pool.abandon(ticket)
    return job.failed(f"no answer within {want.deadline:g} seconds")
