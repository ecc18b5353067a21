"""Requests and compactions of a conversation that may want a summary first, and what comes out of summaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from transom.conversation import argument_checks as check
from transom.conversation.argument_checks import State
from transom.conversation.events import Compacted
from transom.conversation.facts import append_facts
from transom.conversation.properties import ConversationProperties, locked
from transom.conversation.summary_job import SummaryOutcome
from transom.conversation.summary_wait import run_steps
from transom.conversation.wants import SummarySteps
from transom.core.message import Failure, Raw
from transom.core.summary import NO_SUMMARY, Summarise, Summary, SummaryOptions
from transom.core.tool import Tool
from transom.core.window import Window
from transom.errors import InvalidSetting

R = TypeVar("R")

NOTHING_NEW = (
    "no summary was made, because a compaction now would fold nothing; the focus and the notes were not kept: give "
    "them again when there are more turns"
)
SAME = "the new summary would say the same as the one before, which stays"
NEWER = "a newer summary was made meanwhile, which stays"
STAYS = "the summary before stays, without this focus and these notes"


class ConversationCompaction(ConversationProperties):
    """The base class of `Conversation` that plans requests and compactions, with summaries.

    What may wait for a summary is a generator that yields a `AwaitSummary`. The lock is not held while it waits.
    """

    def compact(self, *, focus: str = "", notes: str | Sequence[str] = ()) -> Compacted:
        """Compact the window now, although it is not full: what the policy would do if it were full at its size now.

        With a summarizer, and a policy that shows summaries, it waits for a summary of all that is folded, until the
        deadline; without one it goes on. `focus`: what the summary should keep above all. `notes`: texts that it holds
        to the letter from now on.

        The edits and the summary are one plan, so `undo` without a number takes all of them back. There are none if the
        policy never compacts, or finds nothing to take away. Nothing is sent to the conversation's model. If the model
        of the summary fails, the fallback makes it, and `failure` of the result says why.

        Raises InvalidSetting while a run is at work, and for a focus or notes that no summary can have;
        BudgetImpossible.
        """
        return run_steps(self._compact_steps(focus=focus, notes=notes))

    def _compact_steps(self, *, focus: str = "", notes: str | Sequence[str] = ()) -> SummarySteps[Compacted]:
        """The steps of `compact`."""
        asked = SummaryOptions(waits=True, focus=check.focus(focus), notes=check.notes(notes))
        with self._lock:
            self._must_be_open()
            if self._is_running:
                raise InvalidSetting("compact: a run of this conversation is at work")
        return (yield from self._compacted(asked))

    def _compacted(self, asked: SummaryOptions) -> SummarySteps[Compacted]:
        with self._lock:
            self._take_finished()
            may_have = self._summaries.shows_summaries(self.policy)
            if (asked.focus or asked.notes) and not may_have:
                raise InvalidSetting(
                    f"compact: focus and notes need a summary, and policy {self.policy.name} makes none here: "
                    'use policy "summary", or give the conversation a summarizer'
                )
            newest = self.view.summary
            again = bool(asked.focus or asked.notes) or (newest is not None and newest[1].degraded)
            want = self._planner.compaction_want(replace(asked, again=again)) if may_have else None
            if want is None:
                done = self._planner.compact()
                return replace(done, summary=None, failure=NOTHING_NEW) if asked.focus or asked.notes else done
            wanted = self._summaries.awaited(self._with_what_is_known(want), self.policy)
            known = None if newest is None else newest[0]
        outcome = yield wanted
        with self._lock:
            self._must_be_open()
            self._planner.writer.catch_up()
            summary, failure = self._failure_logged(outcome), _failure_line(outcome)
            if summary is not None and not self._is_news(summary, again=again, known=known):
                why = NEWER if self._has_newer(summary, known) else STAYS if failure else SAME
                summary, failure = None, "; ".join(filter(None, (failure, why)))
            elif summary is not None and (left := _left_out(wanted.job.want.notes, summary)):
                failure = "; ".join(filter(None, (failure, left)))
            return replace(self._planner.compact(summary), failure=failure)

    def _planned_steps(
        self, tools: Sequence[Raw | Tool] | None, state: Mapping[str, State] | None, finish: Callable[[Window], R]
    ) -> SummarySteps[R]:
        """Plan and log the next request, after a summary if the policy waits for one. `finish` is called with its
        window while the lock is held."""
        with self._lock:
            self._must_be_open()
            self._take_finished()
            asked = self._summaries.asked(self.view, self.policy, self._planner.limits().usable)
            planned = self._planner.request(tools, state, asked=asked)
            if planned.window is not None:
                if planned.want is not None:
                    self._summaries.start(self._with_what_is_known(planned.want), self.policy)
                return finish(planned.window)
            assert planned.want is not None
            wanted = self._summaries.awaited(self._with_what_is_known(planned.want), self.policy)
        outcome = yield wanted
        with self._lock:
            self._must_be_open()
            planned = self._planner.request(tools, state, summary=self._failure_logged(outcome))
            assert planned.window is not None, "nothing is waited for twice"
            return finish(planned.window)

    # ---- what comes out

    @locked
    def _take_finished(self) -> None:
        """Append what a summary in the background has come to, if one is done. Not while a request is in flight:
        `request()` must give the same request again, and a new entry would change it."""
        if self.view.in_flight is not None or (outcome := self._summaries.finished()) is None:
            return
        summary = self._failure_logged(outcome)
        if summary is not None and self._is_news(summary):
            self._planner.writer.append_new(lambda view, at: (view.entry(summary, at),))

    def _failure_logged(self, outcome: SummaryOutcome) -> Summary | None:
        """The summary that was made, by the fallback if need be; a failure is logged."""
        if outcome.error:
            failure = Failure(failure=NO_SUMMARY, error=outcome.error, model=outcome.model)
            append_facts(self._planner.writer, [failure], self.tags)
        return outcome.summary

    def _is_news(self, summary: Summary, *, again: bool = False, known: int | None = None) -> bool:
        """Whether it says more than the newest one in the log: another process may have made one meanwhile.

        `again`: also if it says something else of the same turns. `known`: the seq of the newest one when this one was
        asked for; none but that may be replaced by one of fewer turns, where a note or a focus makes it again.
        """
        newest = self.view.summary
        if newest is None or newest[1].last < summary.last:
            return True
        if self._has_newer(summary, known):
            return False
        if (summary.degraded and not newest[1].degraded) or summary.text == newest[1].text:
            return False
        return again or (newest[1].last == summary.last and newest[1].degraded and not summary.degraded)

    def _has_newer(self, summary: Summary, known: int | None) -> bool:
        """Whether the log has a summary of more turns, which was not there when this one was asked for."""
        newest = self.view.summary
        return newest is not None and newest[0] != known and newest[1].last > summary.last

    def _with_what_is_known(self, want: Summarise) -> Summarise:
        """The want with the live request, and with the notes of the newest summary if it does not go on from that."""
        newest = self.view.summary
        if newest is not None and newest[0] != want.prior_seq:
            want = replace(want, notes=tuple(dict.fromkeys((*newest[1].notes, *want.notes))))
        return self._with_live_request(want)

    def _with_live_request(self, want: Summarise) -> Summarise:
        if self._planner.redact is not None:  # the live request is not redacted
            return want
        if not self._summaries.may_fork() or (live := self._planner.last_request()) is None:
            return want
        return replace(want, request=live[0], request_tokens=live[1])


def _left_out(notes: Sequence[str], summary: Summary) -> str:
    """That notes are not in a summary, for want of room; empty if they all are."""
    lost = sum(note not in summary.text for note in notes)
    return f"{lost:,} of {len(notes):,} notes are not in the summary: it has no room for them" if lost else ""


def _failure_line(outcome: SummaryOutcome) -> str:
    """Why the model made no summary, in one line."""
    if not outcome.error:
        return ""
    return " ".join((f"{outcome.model}: {outcome.error}" if outcome.model else outcome.error).split())
