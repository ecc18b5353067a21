"""Whether a plan may ask for a summary, who makes it, and the one that is made in the background."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from transom.conversation.summary_job import AwaitSummary, SummaryJob, SummaryOutcome, SummarySettings, run_job
from transom.conversation.worker_pool import Ticket
from transom.core.policy import Policy
from transom.core.summary import Summarise, SummaryOptions
from transom.core.summary_limits import SummaryLimits
from transom.core.tokens import TokenCounter
from transom.core.view import View
from transom.providers import Provider
from transom.providers.base import model_name
from transom.providers.models import context_size
from transom.strategies.summary.when_to_summarise import LEAST_SUMMARY
from transom.summaries.base import Model

GIVE_UP_AFTER = 600.0
"""Seconds after which a summary that is made in the background counts as failed."""

UNKNOWN_CONTEXT = 32_000
"""Tokens of the context window of a model of which nothing is known."""

SMALL_CONTEXT = 8_000
"""A model with a context window of fewer tokens is asked for plain sentences: it is too small for headings and JSON,
and the instructions for them would take much of its window."""

_NO_SUMMARIZER = SummarySettings()


class SummaryScheduler:
    """Decides whether a plan may ask for a summary, and who makes it. It also holds the summary that is made in the
    background; there is at most one.

    `settings`: None if the caller gave no summarizer. `clock`: gives the time in seconds.
    """

    def __init__(self, settings: SummarySettings | None, counter: TokenCounter, clock: Callable[[], float]) -> None:
        self.settings = settings
        self._counter, self._clock = counter, clock
        self._live: Provider | None = None
        self._pending: tuple[Ticket[SummaryOutcome], SummaryJob, float] | None = None

    def fork(self) -> SummaryScheduler:
        """The scheduler of a fork: the same settings and model, nothing in the background."""
        other = SummaryScheduler(self.settings, self._counter, self._clock)
        other._live = self._live
        return other

    def use_model(self, provider: Provider) -> None:
        """Note the model of the run: it makes the summaries if the settings say "run"."""
        self._live = provider

    def asked(self, view: View, policy: Policy, usable: int) -> SummaryOptions | None:
        """How the next plan may ask for a summary; None if it may not. It may not while one is being made, if the
        limits forbid it, or if there are no settings and the policy makes no summaries in the background.

        `usable`: the tokens of a window within the budget.
        """
        if self.settings is None and policy.soft_trigger is None:
            return None
        if self._pending is not None or self.limits.reason(view, usable):
            return None
        return SummaryOptions(waits=policy.soft_trigger is None, can_be_made=self.has_summarizer, least=self.least)

    @property
    def has_summarizer(self) -> bool:
        """Whether a model or a summarizer of the caller makes summaries; else code only keeps notes."""
        return self._settings.provider is not None or self._settings.summarizer is not None

    @property
    def limits(self) -> SummaryLimits:
        """When no summary is asked for."""
        return self._settings.limits

    @property
    def least(self) -> int:
        """The tokens that a summary needs to hold anything: what its summarizer says, else `LEAST_SUMMARY`."""
        return getattr(self._settings.summarizer, "least_tokens", LEAST_SUMMARY)

    def shows_summaries(self, policy: Policy) -> bool:
        """Whether a compaction under this policy may have a summary, if one of its strategies asks for one."""
        return self.settings is not None or policy.soft_trigger is not None

    def job(self, want: Summarise, policy: Policy) -> SummaryJob:
        """Make the job that settles a want. Without a summarizer of the caller's, a model is asked with the prompts of
        the policy; a model with a small context window with the plain prompts."""
        settings, provider = self._settings, self._provider()
        from transom.summaries.native_summarizer import NativeSummarizer  # noqa: PLC0415 - only where there are summaries

        provider = self._live if want.by_provider and provider is None else provider
        model = None if provider is None else self._model(provider)
        summarizer = NativeSummarizer() if want.by_provider else settings.summarizer
        if summarizer is None and model is not None:
            from transom.summaries.llm import LlmSummarizer  # noqa: PLC0415 - only where there is a model
            from transom.summaries.prompts import prompts_named  # noqa: PLC0415 - only where there is a model

            name = "plain" if model.context < SMALL_CONTEXT else policy.name
            summarizer = LlmSummarizer(prompts=prompts_named(name))
        return SummaryJob(
            want,
            summarizer,
            self._counter,
            provider=provider,
            model=model,
            timeout=None if provider is None else settings.deadline,
            prices=settings.prices,
        )

    def may_fork(self, want: Summarise) -> bool:
        """Whether a summary may be asked for with the live request and one more message. That helps only if the model
        of the summaries is the live one, which has the prefix in its cache, or if the provider itself compacts."""
        if want.by_provider:
            return True
        provider = self._provider()
        return provider is not None and self._is_live(provider)

    def awaited(self, want: Summarise, policy: Policy) -> AwaitSummary:
        """The want as work for a driver, which waits until the summary is made."""
        return AwaitSummary(job=self.job(want, policy), deadline=self._settings.deadline, pool=self._settings.pool)

    def start(self, want: Summarise, policy: Policy) -> None:
        """Begin to make a summary in the background."""
        job = self.job(want, policy)
        ticket = self._settings.pool.submit(lambda: run_job(job))
        self._pending = ticket, job, self._clock()

    def finished(self) -> SummaryOutcome | None:
        """What became of the summary in the background, once; None if there is none, or it is not done. After 600
        seconds it is given up, and the outcome has an error."""
        if self._pending is None:
            return None
        ticket, job, since = self._pending
        if ticket.done.is_set():
            self._pending = None
            return ticket.result or job.failed("its work broke off")
        if (waited := self._clock() - since) < GIVE_UP_AFTER:
            return None
        self.abandon()
        return job.failed(f"no answer after {waited:,.0f} seconds")

    def abandon(self) -> SummaryJob | None:
        """Give up the summary in the background. Returns its job, which knows the usage until now; None if there was
        none."""
        if self._pending is None:
            return None
        ticket, job, _ = self._pending
        self._settings.pool.abandon(ticket)
        self._pending = None
        return job

    @property
    def _settings(self) -> SummarySettings:
        return self.settings or _NO_SUMMARIZER

    def _provider(self) -> Provider | None:
        given = self._settings.provider
        if given == "run":
            return self._live
        return cast("Provider | None", given)  # named ones were made when the settings were

    def _model(self, provider: Provider) -> Model:
        known = self._settings.context or getattr(provider, "context_size", None)
        known = known or context_size(model_name(provider))
        return Model(
            name=model_name(provider),
            dialect=provider.dialect,
            context=known or UNKNOWN_CONTEXT,
            same_as_live=self._is_live(provider),
        )

    def _is_live(self, provider: Provider) -> bool:
        return self._live is not None and model_name(self._live) == model_name(provider)
