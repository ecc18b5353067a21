"""When a summary is made, and by whom: whether a plan may ask for one, its job, and the one made in the background.

The conversation holds its lock and appends what comes out; nothing here reads or writes the log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from transom.conversation.effects import AwaitSummary
from transom.conversation.summary_job import SummaryJob, SummaryOutcome, run_job
from transom.conversation.summary_settings import SummarySettings
from transom.conversation.worker_pool import Ticket
from transom.core.policy import Policy
from transom.core.summary import Summarise, SummaryOptions
from transom.core.tokens import TokenCounter
from transom.core.view import View
from transom.providers import Provider
from transom.providers.base import model_name
from transom.providers.models import context_size
from transom.strategies.summary_wants import LEAST_SUMMARY
from transom.summaries.base import Model

GIVEN_UP = 600.0
"""Seconds after which a summary that is made in the background counts as failed."""

UNKNOWN_CONTEXT = 32_000
"""Tokens of the context window of a model of which nothing is known."""

SMALL_CONTEXT = 8_000
"""A model with a context window of fewer tokens is asked for plain sentences: it is too small for headings and JSON,
and the instructions for them would take much of its window."""

_EXTRACTIVE = SummarySettings()


class SummaryScheduler:
    """The summary that is being made in the background, if there is one."""

    def __init__(self, settings: SummarySettings | None, counter: TokenCounter, clock: Callable[[], float]) -> None:
        self.settings = settings
        self._counter, self._clock = counter, clock
        self._live: Provider | None = None
        self._pending: tuple[Ticket[SummaryOutcome], SummaryJob, float] | None = None

    def fork(self) -> SummaryScheduler:
        """The same settings, for another conversation."""
        other = SummaryScheduler(self.settings, self._counter, self._clock)
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
        if self.is_at_work or self._settings.limits.reason(view, usable):
            return None
        settings = self._settings
        is_free = settings.provider is None and settings.summarizer is None
        return SummaryOptions(waits=policy.soft_trigger is None, costs=not is_free, least=self.least)

    @property
    def least(self) -> int:
        """The tokens that a summary needs to hold anything: what its summarizer says, else `LEAST_SUMMARY`."""
        return getattr(self._settings.summarizer, "least_tokens", LEAST_SUMMARY)

    def why_not(self, view: View, usable: int) -> str:
        """Why the limits let no model be asked for a summary, as a sentence for people; empty if they do."""
        return self._settings.limits.reason(view, usable)

    def shows_summaries(self, policy: Policy) -> bool:
        """Whether a compaction may have a summary, if a strategy wants one."""
        return self.settings is not None or policy.soft_trigger is not None

    def job(self, want: Summarise, policy: Policy) -> SummaryJob:
        """The job for a want. A model is asked with the prompts of the policy, if it has its own; one with a
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

    def awaited(self, want: Summarise, policy: Policy) -> AwaitSummary:
        """The want for a pump, which waits for it."""
        return AwaitSummary(job=self.job(want, policy), deadline=self._settings.deadline, pool=self._settings.pool)

    def start(self, want: Summarise, policy: Policy) -> None:
        """Begin to make a summary in the background. One that only our own code makes is made at once."""
        job = self.job(want, policy)
        if job.needs_no_model:
            ticket = Ticket(lambda: run_job(job))
            ticket.run()
        else:
            ticket = self._settings.pool.submit(lambda: run_job(job))
        self._pending = ticket, job, self._clock()

    def finished(self) -> SummaryOutcome | None:
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

    def abandon(self) -> SummaryJob | None:
        """Nobody waits for the summary in the background any more. Returns the job of that summary, if there is one."""
        if self._pending is None:
            return None
        ticket, job, _ = self._pending
        self._settings.pool.abandon(ticket)
        self._pending = None
        return job

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
