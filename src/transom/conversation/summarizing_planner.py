"""Plans requests and compactions that may wait for a summary first, and logs what becomes of each summary.

How a summary is made: `summary_job.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar, cast

from msgspec.structs import replace

from transom.conversation.events import Compacted
from transom.conversation.function_tool import ToolLike
from transom.conversation.lock_and_lease import Guard
from transom.conversation.planning.request_planner import RequestPlanner
from transom.conversation.state_and_head_parts import State
from transom.conversation.summary_job import (
    AwaitSummary,
    SummaryJob,
    SummaryOutcome,
    SummarySettings,
    SummarySteps,
    await_summary,
    run_job,
)
from transom.conversation.worker_pool import Ticket
from transom.core.entry import Meta
from transom.core.message import Failure
from transom.core.summary import NO_SUMMARY, UNUSED_SUMMARY, Summarise, Summary, SummaryOptions
from transom.core.unit import FoldedSlot
from transom.core.window import Window
from transom.errors import BudgetImpossible, InvalidSetting, shorten
from transom.providers import Provider
from transom.providers.base import model_name
from transom.providers.model_prices import context_size
from transom.strategies.summary.folds import why_not_shown
from transom.strategies.summary.when_to_summarise import LEAST_SUMMARY
from transom.summaries.base import Model

R = TypeVar("R")

GIVE_UP_AFTER = 600.0
"""Seconds after which a summary that is made in the background counts as failed."""

UNKNOWN_CONTEXT = 32_000
"""Tokens of the context window of a model of which nothing is known."""

SMALL_CONTEXT = 8_000
"""A model with a context window of fewer tokens is asked for plain sentences: it is too small for headings and JSON,
and the instructions for them would take much of its window."""

_NO_SUMMARIZER = SummarySettings()

NOTHING_NEW = (
    "no summary was made, because a compaction now would fold nothing; the focus and the notes were not kept: give "
    "them again when there are more turns"
)
NOT_WANTED = (
    "no summary was made, because policy {} has none in this compaction; the focus and the notes were not kept: use "
    'policy "summary"'
)
FOCUS_UNUSED = "the focus was not used: no model makes summaries here; give the conversation a summarizer"
SAME_SUMMARY = "the new summary would say the same as the one before, which stays"
NEWER_SUMMARY = "a newer summary was made meanwhile, which stays"
RUN_AT_WORK = "compact: a run of this conversation is at work"
RUN_BEGAN = "compact: a run of this conversation began while the summary was made; compact again when it is done"
NOT_SHOWN = "the summary was made, but the window does not show it: no fold has room for it"
NOT_FOLDED = "the summary was made, but the window does not show it: nothing was folded that it could stand in"
NOTES_NOT_KEPT = "the notes were not kept: the provider's own compaction takes none"
NOBODY_WAITED = "nobody waited for the summary any longer"
OLD_SUMMARY_STAYS = "the summary before stays, without this focus and these notes"


class SummarizingPlanner:
    """Plans requests and compactions that may wait for a summary first; decides whether a plan may ask for one, and who
    makes it. At most one summary at a time is made in the background.

    `request` and `compact` are generators: where they must wait, they yield an `AwaitSummary`, and go on with its
    `SummaryOutcome`. They take the lock of the conversation themselves, and do not hold it while they wait; whoever
    calls another method holds it. `live`: the model of the last run; None if there was none.
    """

    def __init__(self, planner: RequestPlanner, guard: Guard, live: Provider | None = None) -> None:
        self._planner, self._guard, self.live = planner, guard, live
        self._settings = planner.settings.summarizer or _NO_SUMMARIZER
        self._pending: tuple[Ticket[SummaryOutcome], SummaryJob, float] | None = None
        self._stop_watching: Callable[[], None] = lambda: None
        """Ends the look behind each append whether the summary in the background is done."""

    def compact(self, asked: SummaryOptions, *, within_run: bool = False) -> SummarySteps[Compacted]:
        """The steps of `Conversation.compact`: compact now, with a summary if the policy shows summaries.

        `asked`: has the focus and the notes. `within_run`: a run itself compacts, between two of its requests.
        Otherwise InvalidSetting is raised while a run is at work, also if it began while this generator waited: no
        edits may come between a request of a run and its reply.
        """
        with self._guard.lock:
            self._guard.must_be_open()
            if not within_run:
                self._guard.must_not_run(RUN_AT_WORK)
                self._guard.lease.check()
            self.take_finished()
            policy = self._planner.settings.policy
            may_have = self._shows_summaries
            if (asked.focus or asked.notes) and not may_have:
                raise InvalidSetting(self._why_no_summary(asked))
            newest = self._planner.view.summary
            may_replace = bool(asked.focus or asked.notes) or self._lacks_summary(newest)
            can_be_made = self._has_summarizer or bool(asked.notes)
            asked = replace(asked, can_be_made=can_be_made, may_replace=may_replace, least=self._least)
            want = self._planner.compaction_want(asked) if may_have else None
            if want is None:
                why = self._no_room(asked) if may_have else ""
                done = self._planner.compact()
                if not why and asked.focus and not can_be_made:
                    why = FOCUS_UNUSED
                elif not why and (asked.focus or asked.notes):
                    why = NOT_WANTED.format(policy.name) if done.edits else NOTHING_NEW
                return replace(done, summary=None, failure=why)
            wanted = self._work(want)
            known = None if newest is None else newest[0]
        outcome = yield from self._awaited(wanted)
        with self._guard.lock, self._counted_if_unused(outcome):
            self._guard.must_be_open()
            if not within_run:
                self._guard.must_not_run(RUN_BEGAN)
                self._guard.lease.check()
            self._planner.writer.catch_up()
            summary, failure = self._failure_logged(outcome), _failure_line(outcome)
            if asked.focus and not self._has_summarizer:
                failure = FOCUS_UNUSED
            if summary is not None and not self._is_news(summary, may_replace=may_replace, known=known):
                why = (
                    NEWER_SUMMARY if self._has_newer(summary, known) else OLD_SUMMARY_STAYS if failure else SAME_SUMMARY
                )
                self._log_unused(outcome, why)
                summary, failure = None, "; ".join(filter(None, (failure, why)))
            elif summary is None and failure and newest is not None and (asked.focus or asked.notes):
                failure = f"{failure}; {OLD_SUMMARY_STAYS}"
            elif summary is not None and (left := _left_out(wanted.job.want.notes, summary)):
                failure = "; ".join(filter(None, (failure, left)))
            done = self._planner.compact(summary)
            if summary is not None and done.summary is None:
                failure = "; ".join(filter(None, (failure, NOT_SHOWN if done.edits else NOT_FOLDED)))
            return replace(done, failure=failure)

    def request(
        self, tools: Sequence[ToolLike] | None, state: Mapping[str, State] | None, finish: Callable[[Window], R]
    ) -> SummarySteps[R]:
        """The steps of `Conversation.request`: plan and log the next request, after a summary if the policy waits for
        one. Returns what `finish` makes of its window; that is called while the lock is held."""
        with self._guard.lock:
            self._guard.must_be_open()
            self._guard.lease.take()
            self.take_finished()
            planned = self._planner.request(tools, state, asked=self._asked())
            if planned.window is not None:
                if planned.want is not None:
                    work = self._work(planned.want)
                    ticket = work.pool.submit(lambda: run_job(work.job))
                    self._pending = ticket, work.job, self._planner.settings.clock()
                    self._stop_watching = self._planner.writer.subscribe(
                        lambda _before, _after, _new: self.take_finished()
                    )
                return finish(planned.window)
            assert planned.want is not None
            wanted = self._work(planned.want)
        outcome = yield from self._awaited(wanted)
        with self._guard.lock, self._counted_if_unused(outcome):
            self._guard.must_be_open()
            self._guard.lease.take()
            planned = self._planner.request(tools, state, summary=self._failure_logged(outcome))
            assert planned.window is not None, "nothing is waited for twice"
            return finish(planned.window)

    def why_no_summary(self) -> str:
        """Why no summary would be asked for now, as a sentence for people: there is too little room for one, or the
        limits on summaries forbid it. If one may be asked for, it says why the window does not show the newest one.
        Empty if the window shows it, if there is none, if the conversation makes no summaries, or if no window fits the
        budget."""
        if not self._shows_summaries:
            return ""
        try:
            limited = self._limited() or self._no_room(SummaryOptions(waits=True, least=self._least))
        except BudgetImpossible:
            return ""  # there is no window at all
        return limited or why_not_shown(self._planner.view)

    def _why_no_summary(self, asked: SummaryOptions) -> str:
        """A sentence that says that a compaction here has no summary, and the shortest way to one."""
        able = replace(asked, can_be_made=True, may_replace=True, least=0)
        lacks_only_model = self._planner.compaction_want(able) is not None
        ways = ["give the conversation a summarizer"] if lacks_only_model else []
        if not asked.focus:
            ways.append('use policy "summary", which keeps notes without a summarizer')
        elif not lacks_only_model:
            ways.append('use policy "summary" with a summarizer')
        name = self._planner.settings.policy.name
        return f"compact: focus and notes need a summary, and policy {name} makes none here: {', or '.join(ways)}"

    def _no_room(self, asked: SummaryOptions) -> str:
        """A sentence that says that there is too little room for the summary which a compaction now would want."""
        want = self._planner.compaction_want(replace(asked, least=0))
        if want is None or want.max_tokens >= asked.least:
            return ""
        return (
            f"no summary is asked for: it may have {want.max_tokens:,} tokens in this room, and needs {asked.least:,} "
            "to hold anything; the record has the room"
        )

    # ---- what comes out

    def take_finished(self) -> None:
        """Append the summary that was made in the background, if it is done and the log has none of more turns by now;
        otherwise only its usage is logged. A failure is logged too; after 600 seconds (`GIVE_UP_AFTER`) a summary is
        given up, and that is a failure. Nothing happens while a request is in flight: `request()` must give the same
        request again, and a new entry would change it."""
        if self._planner.view.in_flight is not None or (outcome := self._finished()) is None:
            return
        self._stop_watching()
        summary = self._failure_logged(outcome)
        if summary is not None and self._is_news(summary):
            self._planner.writer.append_new(lambda view, at: (view.entry(summary, at),))
        elif summary is not None:
            self._log_unused(outcome, NEWER_SUMMARY)

    def abandon(self) -> None:
        """Give up a summary that is being made in the background, and log the usage of its requests. Nothing happens if
        there is none."""
        self._stop_watching()
        if self._pending is not None:
            self._log_unused(self._given_up().so_far(), NOBODY_WAITED)

    def _finished(self) -> SummaryOutcome | None:
        """What became of the summary in the background, once; None if there is none, or it is not done. After 600
        seconds it is given up, and the outcome has an error."""
        if self._pending is None:
            return None
        ticket, job, since = self._pending
        if ticket.done.is_set():
            self._pending = None
            return ticket.result or job.failed("its work broke off")
        if (waited := self._planner.settings.clock() - since) < GIVE_UP_AFTER:
            return None
        return self._given_up().failed(f"no answer after {waited:,.0f} seconds")

    def _given_up(self) -> SummaryJob:
        """The job of the summary in the background, for which nobody waits from now on."""
        assert self._pending is not None
        ticket, job, _ = self._pending
        self._settings.pool.abandon(ticket)
        self._pending = None
        return job

    def _awaited(self, wanted: AwaitSummary) -> SummarySteps[SummaryOutcome]:
        """Wait for a summary. If the wait is given up, the usage of its requests is logged."""
        try:
            return (yield wanted)
        except BaseException:
            with self._guard.lock:
                self._log_unused(wanted.job.so_far(), NOBODY_WAITED)
            raise

    @contextmanager
    def _counted_if_unused(self, outcome: SummaryOutcome) -> Generator[None]:
        """Around the block that appends the summary: if it raises before that, the usage is logged all the same."""
        before = self._planner.view.usage.summaries
        try:
            yield
        except BaseException as reason:
            if self._planner.view.usage.summaries == before:
                self._log_unused(outcome, str(reason))
            raise

    def _log_unused(self, outcome: SummaryOutcome, why: str) -> None:
        """Log the usage of the requests for a summary that is not in the log."""
        if outcome.usage is None or outcome.error or self._guard.is_closed:
            return
        failure = Failure(failure=UNUSED_SUMMARY, error=shorten(why), model=outcome.model, usage=outcome.usage)
        self._planner.writer.append_facts([failure], Meta(cost=outcome.cost))

    def _failure_logged(self, outcome: SummaryOutcome) -> Summary | None:
        """Log the error of an outcome, if it has one, and return its summary; None if it has none."""
        if outcome.error:
            failure = Failure(failure=NO_SUMMARY, error=outcome.error, model=outcome.model, usage=outcome.usage)
            self._planner.writer.append_facts([failure], Meta(cost=outcome.cost))
        return outcome.summary

    def _is_news(self, summary: Summary, *, may_replace: bool = False, known: int | None = None) -> bool:
        """Whether a summary that was made is worth a place in the log: it covers more turns than the newest one. If it
        covers no more, it must have another text, and not be degraded where the newest is not; and `may_replace` (a
        new focus, new notes), or the newest is a degraded one of the same turns. `known`: the seq of the newest summary
        when this one was asked for; one that came since then and covers more turns stays."""
        newest = self._planner.view.summary
        if newest is None or newest[1].last < summary.last:
            return True
        if self._has_newer(summary, known):
            return False
        if (summary.degraded and not newest[1].degraded) or summary.text == newest[1].text:
            return False
        return may_replace or (newest[1].last == summary.last and newest[1].degraded and not summary.degraded)

    def _lacks_summary(self, newest: tuple[int, Summary] | None) -> bool:
        """Whether some folded turns are in no summary of a model. `newest`: the newest summary of the log."""
        if newest is None or newest[1].degraded:
            return True
        return any(slot.last > newest[1].last for slot in self._planner.view.slots if isinstance(slot, FoldedSlot))

    def _has_newer(self, summary: Summary, known: int | None) -> bool:
        """Whether the log has a summary of more turns, which was not there when this one was asked for."""
        newest = self._planner.view.summary
        return newest is not None and newest[0] != known and newest[1].last > summary.last

    # ---- whether a plan may ask for a summary, and who makes it

    @property
    def _shows_summaries(self) -> bool:
        """Whether a compaction may have a summary, if a strategy of the policy asks for one."""
        settings = self._planner.settings
        return settings.summarizer is not None or settings.policy.soft_trigger is not None

    @property
    def _has_summarizer(self) -> bool:
        """Whether a model or a summarizer of the caller makes summaries; else code only keeps notes."""
        return self._settings.provider is not None or self._settings.summarizer is not None

    @property
    def _least(self) -> int:
        """The tokens that a summary needs to hold anything: what its summarizer says, else `LEAST_SUMMARY`."""
        return getattr(self._settings.summarizer, "least_tokens", LEAST_SUMMARY)

    def _limited(self) -> str:
        """Why the limits on summaries forbid one now; empty if they do not."""
        return self._settings.limits.reason(self._planner.view, self._planner.limits().usable)

    def _asked(self) -> SummaryOptions | None:
        """How the next plan may ask for a summary; None if it may not, also while one is being made."""
        if not self._shows_summaries or self._pending is not None or self._limited():
            return None
        waits = self._planner.settings.policy.soft_trigger is None
        return SummaryOptions(waits=waits, can_be_made=self._has_summarizer, least=self._least)

    def _work(self, want: Summarise) -> AwaitSummary:
        """The want as work for a driver. Without a summarizer of the caller's, a model is asked with the prompts of the
        policy; a model with a small context window with the plain prompts."""
        want, settings = self._with_what_is_known(want), self._settings
        provider = self._live_or(settings.provider)
        provider = self.live if want.by_provider and provider is None else provider
        model = None if provider is None else self._model(provider)
        summarizer = settings.summarizer
        if want.by_provider or (summarizer is None and model is not None):
            from transom.summaries.llm import LlmSummarizer, NativeSummarizer  # noqa: PLC0415 - only where it is needed
            from transom.summaries.prompts import prompts_named  # noqa: PLC0415 - as above

            name = (
                "plain" if model is not None and model.context < SMALL_CONTEXT else self._planner.settings.policy.name
            )
            summarizer = NativeSummarizer() if want.by_provider else LlmSummarizer(prompts=prompts_named(name))
        job = SummaryJob(
            want,
            summarizer,
            self._planner.settings.counter,
            provider=provider,
            model=model,
            timeout=None if provider is None else settings.deadline,
            prices=settings.prices,
        )
        return AwaitSummary(job=job, deadline=settings.deadline, pool=settings.pool)

    def _with_what_is_known(self, want: Summarise) -> Summarise:
        """The want with the notes of the newest summary if the new one does not go on from that; and with the live
        request if its prefix helps: if the model of the summaries is the live one, or if the provider itself
        compacts."""
        newest = self._planner.view.summary
        if newest is not None and newest[0] != want.prior_seq:
            want = replace(want, notes=tuple(dict.fromkeys((*newest[1].notes, *want.notes))))
        if self._planner.settings.redact is not None:  # the live request is not redacted
            return want
        provider = self._live_or(self._settings.provider)
        may_fork = want.by_provider or (provider is not None and self._is_live(provider))
        if not may_fork or (live := self._planner.last_request()) is None:
            return want
        if want.by_provider:  # it covers what was sent, and not what came since
            want = replace(want, last=self._planner.last_sent_unit())
        return replace(want, request=live[0], request_tokens=live[1])

    def _live_or(self, given: str | Provider | None) -> Provider | None:
        return self.live if given == "run" else cast("Provider | None", given)  # a named one was made with the settings

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
        return self.live is not None and model_name(self.live) == model_name(provider)


def run_steps(steps: SummarySteps[R]) -> R:
    """Run the steps of a request or a compaction in this thread: wait for each summary that they want. Returns what the
    steps return."""
    try:
        wanted = next(steps)
        while True:
            wanted = steps.send(await_summary(wanted))
    except StopIteration as done:
        return done.value


def _left_out(notes: Sequence[str], summary: Summary) -> str:
    """A sentence that says how many notes are not in a summary; empty if they all are."""
    if summary.compaction is not None:
        return NOTES_NOT_KEPT if notes else ""
    lost = sum(note not in summary.text for note in notes)
    return f"{lost:,} of {len(notes):,} notes are not in the summary: it has no room for them" if lost else ""


def _failure_line(outcome: SummaryOutcome) -> str:
    """The error of an outcome in one line, with the model; empty if there is none."""
    if not outcome.error:
        return ""
    return " ".join((f"{outcome.model}: {outcome.error}" if outcome.model else outcome.error).split())
