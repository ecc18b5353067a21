"""A conversation's summaries: who makes them, which one is being made, and whether another may be asked for.

The conversation holds its lock and appends what comes out; nothing here reads or writes the log.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import TypeVar, cast

from msgspec import Struct
from msgspec.structs import force_setattr

from transom.conversation.failures import model_name
from transom.conversation.summary_job import Settled, SummaryJob, drive
from transom.conversation.wants import Settle
from transom.conversation.worker_pool import SHARED, Pool, Ticket
from transom.core.brakes import Brakes
from transom.core.policy import Policy
from transom.core.summary import Summarise, SummaryOptions
from transom.core.tokens import TokenCounter
from transom.core.view import View
from transom.errors import InvalidSetting, quote
from transom.providers import Provider, provider_named
from transom.providers.models import TokenPrices, context_size
from transom.summaries.base import Model, Summarizer

R = TypeVar("R")

DEADLINE = 60.0
"""Seconds that a request waits for a summary, if it waits at all."""

GIVEN_UP = 600.0
"""Seconds after which a summary that is made in the background counts as failed."""

UNKNOWN_CONTEXT = 32_000
"""Tokens of the context window of a model of which nothing is known."""

SMALL_CONTEXT = 8_000
"""A model with a context window of fewer tokens is asked for plain sentences: it is too small for headings and JSON,
and the instructions for them would take much of its window."""


class SummarySettings(Struct, frozen=True, kw_only=True, eq=False):
    """Who makes a conversation's summaries, and when not.

    `summarizer`: an object with `steps` (docs/summaries.md); None: `LlmSummarizer()` with a provider, with the prompts
    "plain" if its context window has fewer than 8,000 tokens; else `Extractive()`. `provider`: the model that answers
    it, a name or a provider; "run": the model of the run. `deadline`: seconds that a request waits for a summary, where
    it waits; and the timeout of each request to the summary's model, in the background too. `brakes`: see `Brakes`.
    `prices`: of the model. `context`: the tokens of its context window, if they are not known otherwise. `pool`: the
    threads for the background. Raises InvalidSetting.
    """

    summarizer: Summarizer | None = None
    provider: str | Provider | None = None
    deadline: float = DEADLINE
    brakes: Brakes = Brakes()
    prices: TokenPrices | None = None
    context: int | None = None
    pool: Pool = SHARED

    def __post_init__(self) -> None:
        deadline = cast("object", self.deadline)
        if (
            isinstance(deadline, bool)
            or not isinstance(deadline, (int, float))
            or not 0 < deadline < threading.TIMEOUT_MAX
        ):
            raise InvalidSetting(f"summarizer: deadline must be seconds above 0, not {quote(deadline)}")
        if self.provider is not None and self.provider != "run":
            try:
                force_setattr(self, "provider", provider_named(self.provider))
            except InvalidSetting as error:
                raise InvalidSetting(f"summarizer: {error}") from None
        if self.summarizer is not None and not callable(getattr(self.summarizer, "steps", None)):
            raise InvalidSetting(f"summarizer: must have a method steps, not {quote(self.summarizer)}")


SummarizedBy = str | Provider | Summarizer | SummarySettings
"""Who makes summaries, as `Conversation.open` takes it."""


_SUMMARIZERS = '"extractive", "run", a model as provider:model, a provider, a Summarizer or SummarySettings'


def summary_settings(given: object) -> SummarySettings | None:
    """Settings of whatever `Conversation.open` takes. Raises InvalidSetting."""
    if given is None or isinstance(given, SummarySettings):
        return given
    if given == "extractive":
        return SummarySettings()
    if callable(getattr(given, "steps", None)):
        return SummarySettings(summarizer=cast("Summarizer", given))
    if given == "run":
        return SummarySettings(provider="run")
    if isinstance(given, str) or callable(getattr(given, "complete", None)):
        try:
            return SummarySettings(provider=provider_named(cast("str | Provider", given)))
        except InvalidSetting as error:
            raise InvalidSetting(f"summarizer: must be {_SUMMARIZERS}; {error}") from None
    raise InvalidSetting(f"summarizer: must be {_SUMMARIZERS}, not {quote(given)}")


class SummaryWork:
    """The summary that is being made in the background, if there is one."""

    def __init__(self, settings: SummarySettings | None, counter: TokenCounter, clock: Callable[[], float]) -> None:
        self.settings = settings
        self._counter, self._clock = counter, clock
        self._live: Provider | None = None
        self._pending: tuple[Ticket[Settled], SummaryJob, float] | None = None

    def fork(self) -> SummaryWork:
        """The same settings, for another conversation."""
        other = SummaryWork(self.settings, self._counter, self._clock)
        other._live = self._live
        return other

    def use_model(self, provider: Provider) -> None:
        """The model of the run that is at work."""
        self._live = provider

    @property
    def is_at_work(self) -> bool:
        """Whether a summary is being made in the background."""
        return self._pending is not None

    def asked(self, view: View, policy: Policy, usable: int) -> SummaryOptions | None:
        """Whether the next plan is to ask for a summary. Without settings only a policy that makes summaries in the
        background asks for any."""
        if self.settings is None and policy.soft_trigger is None:
            return None
        if self.is_at_work or self._settings.brakes.reason(view, usable):
            return None
        settings = self._settings
        is_free = settings.provider is None and settings.summarizer is None
        return SummaryOptions(waits=policy.soft_trigger is None, costs=not is_free)

    def shows_summaries(self, policy: Policy) -> bool:
        """Whether a compaction may have a summary, if a strategy wants one."""
        return self.settings is not None or policy.soft_trigger is not None

    def job(self, want: Summarise, policy: Policy) -> SummaryJob:
        """The want, with who settles it. A model is asked with the prompts of the policy, if it has its own; one with a
        small window with the plain ones."""
        from transom.summaries.extractive import Extractive  # noqa: PLC0415 - only where there are summaries

        settings, provider = self._settings, self._provider()
        model = None if provider is None else self._model(provider)
        summarizer = settings.summarizer
        if summarizer is None and model is not None:
            from transom.summaries.llm import LlmSummarizer  # noqa: PLC0415 - only where there is a model
            from transom.summaries.prompts import prompts_named  # noqa: PLC0415 - only where there is a model

            name = "plain" if model.context < SMALL_CONTEXT else policy.name
            summarizer = LlmSummarizer(prompts=prompts_named(name))
        return SummaryJob(
            want,
            summarizer or Extractive(),
            self._counter,
            provider=provider,
            model=model,
            fallback=None if summarizer is None else Extractive(),
            timeout=None if provider is None else settings.deadline,
            prices=settings.prices,
        )

    def may_fork(self) -> bool:
        """Whether a fork of the live request may be sent: to the model that has its prefix in the cache."""
        provider = self._provider()
        return provider is not None and self._is_live(provider)

    def settle(self, want: Summarise, policy: Policy) -> Settle:
        """The want for a pump, which waits for it."""
        return Settle(job=self.job(want, policy), deadline=self._settings.deadline, pool=self._settings.pool)

    def start(self, want: Summarise, policy: Policy) -> None:
        """Begin to make a summary in the background. One that only our own code makes is made at once."""
        job = self.job(want, policy)
        if job.needs_no_model:
            ticket = Ticket(lambda: drive(job))
            ticket.run()
        else:
            ticket = self._settings.pool.submit(lambda: drive(job))
        self._pending = ticket, job, self._clock()

    def finished(self) -> Settled | None:
        """What became of the summary in the background, once; None if there is none, or it is not done."""
        if self._pending is None:
            return None
        ticket, job, since = self._pending
        if ticket.done.is_set():
            self._pending = None
            return ticket.result or job.failed("its work broke off")
        if (waited := self._clock() - since) < GIVEN_UP:
            return None
        self.abandon()
        return job.failed(f"no answer after {waited:,.0f} seconds")

    def abandon(self) -> None:
        """Nobody waits for the summary in the background any more."""
        if self._pending is not None:
            self._settings.pool.abandon(self._pending[0])
            self._pending = None

    @property
    def _settings(self) -> SummarySettings:
        return self.settings or _EXTRACTIVE

    def _provider(self) -> Provider | None:
        given = self._settings.provider
        if given == "run":
            return self._live
        return cast("Provider | None", given)  # named ones were made when the settings were

    def _model(self, provider: Provider) -> Model:
        known = self._settings.context or getattr(provider, "context_size", None)
        known = known or context_size(provider.name, provider.model)
        return Model(
            name=model_name(provider),
            dialect=provider.dialect,
            context=known or UNKNOWN_CONTEXT,
            same_as_live=self._is_live(provider),
        )

    def _is_live(self, provider: Provider) -> bool:
        return self._live is not None and model_name(self._live) == model_name(provider)


_EXTRACTIVE = SummarySettings()


def settle_now(want: Settle, *, check: Callable[[], None] = lambda: None, tick: float = 0.1) -> Settled:
    """Make a summary and wait for it, until its deadline. `check` is called again and again, and may raise."""
    job = want.job
    if job.needs_no_model:
        return drive(job)
    ticket = want.pool.submit(lambda: drive(job))
    left = want.deadline
    try:
        while left > 0:
            check()
            if ticket.done.wait(min(tick, left)):
                return ticket.result or job.failed("its work broke off")
            left -= tick
    finally:
        if not ticket.done.is_set():
            want.pool.abandon(ticket)
    return job.failed(f"no answer within {want.deadline:g} seconds")


def settled(steps: Generator[Settle, Settled, R]) -> R:
    """Do what the steps of a request or a compaction want, in this thread; what they return."""
    try:
        want = next(steps)
        while True:
            want = steps.send(settle_now(want))
    except StopIteration as done:
        return done.value
