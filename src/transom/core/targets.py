"""How full the window of a draft is, and what strategies must reach."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import cast

from msgspec.structs import replace

from transom.core.budget import between, pressure
from transom.core.message import Assistant, Failure, Recalled
from transom.core.plan_draft import Draft, due_size
from transom.core.plan_request import PlanRequest
from transom.core.policy import Target, is_at_trigger, name_of, naming, policy_limit
from transom.core.redact_derived_text import redacted_recall
from transom.core.tokens import ZERO, Size, fact_size
from transom.core.unit import Unit
from transom.core.view import View
from transom.errors import InvalidEdit, quote

MIN_FULLNESS = 0.2
"""How full a limit of messages or bytes must be, at least, before it lowers the token limit. Without this minimum, a
policy with a trigger of 0 would lower the token limit at every call."""


class Targets:
    """Measures the request that the draft of a plan makes, and makes the `Target` of each strategy. Used for one plan.

    `limit`: the limits of the budget, as a raw size. `lowered_limit`: the limits against which the trigger is measured:
    the policy's. For this plan, prices or a compaction that was asked for may have lowered them further.
    """

    def __init__(self, draft: Draft, request: PlanRequest) -> None:
        self.draft, self._request, self._policy, self._budget = draft, request, request.policy, request.budget
        self.limit = request.budget.limits(draft.view.calibration)
        self.lowered_limit = policy_limit(request.budget, request.policy, draft.view.calibration)
        self.may_replace_summary = False
        """As `Target.may_replace_summary`."""
        self._other_limit_is_full = False
        """True if messages or bytes were at the trigger in this plan."""
        self._asked: View | None = None
        """The view for which recall steps were asked last, and what they gave."""
        self._recalled: Recalled | None = None
        self._recall_size = ZERO

    def of_draft(self, draft: Draft) -> Targets:
        """A copy that measures `draft` instead of the own draft. `draft` must be a copy of that, on which edits are
        tried."""
        other = copy(self)
        other.draft = draft
        return other

    def lower_limit(self, tokens: int) -> None:
        """Lower the token limit of `lowered_limit` to this number, unless it is lower already."""
        self.lowered_limit = replace(self.lowered_limit, tokens=min(self.lowered_limit.tokens, tokens))

    def used(self) -> Size:
        """The size that the request will have: that of the view, and of what the plan will still add to it (due notes,
        and a first user message where the API needs one)."""
        view = self.draft.view
        is_all = not (self._request.options.state or view.notes or view.counter.user_first)
        return view.total if is_all else view.total.plus(self._due_size())

    def _due_size(self) -> Size:
        """The size of what the plan will still add to the view: due notes, and the user message that some APIs need in
        front of a turn of the model. (Of that message only the number of messages counts here: its tokens are in
        `FormatCounter.request`.)"""
        view = self.draft.view
        notes, first = due_size(view, self._request.options.state), view.slots[0] if view.slots else None
        is_of_model = isinstance(first, Unit) and isinstance(first.first_fact, Assistant | Failure)
        return notes.plus(Size(messages=1)) if view.counter.user_first and is_of_model else notes

    def used_with_recall(self) -> Size:
        """As `used`, with the text that is to be recalled (`due_recall`).

        Compare it with the trigger only. At the limit nothing is removed to make room for recalled text.
        """
        return self._with_recall(self.used())

    def _with_recall(self, size: Size) -> Size:
        return size if self.due_recall() is None else size.plus(self._recall_size)

    def due_recall(self) -> Recalled | None:
        """The fact that the policy's recall steps bring back for the newest unit: the last message of the user, turn of
        the model, failure or instruction. Notes and recalled texts behind it do not count.

        The steps are asked in order, once for each view; the first one that gives a fact decides, and its text is
        redacted. None if no step gives one, if something was recalled for this unit already, or if there is no unit
        yet. Nothing is appended here.

        Raises InvalidEdit if a step gives a value that is not a Recalled with a text.
        """
        view = self.draft.view
        if self._policy.recall and self._asked is not view:
            self._asked = view
            self._recalled = None if _has_recall_for_newest_unit(view) else self._ask_recall_steps(view)
            if self._recalled is not None:
                self._recall_size = fact_size(self._recalled, view.counter.count_body(self._recalled))
        return self._recalled

    def _ask_recall_steps(self, view: View) -> Recalled | None:
        """The first fact that a step gives, redacted; None if no step gives one."""
        target, redact = self.for_recall(), self._request.options.redact
        for step in self._policy.recall:
            with naming(step, self._policy):
                recalled = next(step(view, target), None)
                if recalled is None:
                    continue
                if not isinstance(cast("object", recalled), Recalled) or not recalled.text:
                    found = quote(recalled)
                    raise InvalidEdit(f"recall step {name_of(step)} must give a Recalled with a text, not {found}")
                return recalled if redact is None else redacted_recall(view, recalled, redact, target.indexes)
        return None

    def has_room_below_trigger(self, size: Size) -> bool:
        """Whether a window of this size would be below the trigger."""
        return not is_at_trigger(size, self.draft.view.fixed_size, self.lowered_limit, self.limit, self._policy.trigger)

    def is_surely_below(self, share: float) -> bool:
        """Whether the window is certainly below this share of the trigger, text to recall included. False says nothing:
        the window may be below it all the same.

        A cheap test, which does not compute the fixed size. Without that size the pressure comes out too high, never
        too low (as long as it is below 1).
        """
        trigger = min(1.0, self._policy.trigger * share)
        return all(
            used < trigger * limit for used, limit in zip(self.used_with_recall(), self.lowered_limit, strict=True)
        )

    # ---- targets

    def for_recall(self) -> Target:
        """The target of recall steps: its goal is the limits themselves, and no unit is required."""
        return Target(
            goal=self.limit,
            deep_goal=self.limit,
            limit=self.limit,
            fixed_size=ZERO,
            budget=self._budget,
            counter=self.draft.view.counter,
            reference=self._request.ref,
            newest_unit=self.draft.view.newest_unit,
            indexes=self._request.indexes,
            redact=self._request.options.redact,
        )

    def on_arrival(self) -> Target:
        """The target of arrival strategies. It is met by a window that is below the trigger, due notes included.

        A strategy that asks whether its target is met trims nothing then. Others trim whatever the target says.
        """
        view, goal = self.draft.view, self.lowered_limit
        if self._policy.trigger < 1:
            goal = between(view.fixed_size, goal, self._policy.trigger)
        return replace(self.for_recall(), goal=goal.minus(self.used().minus(view.total)))

    def under_pressure(self, kept: Iterable[int], *, over_limit: bool) -> Target:
        """The target of `pressure` strategies, and with `over_limit` of `last_resort` ones. `kept`: the keys of the
        units that keep rules name."""
        notes, fixed = self._due_size(), self.draft.view.fixed_size
        share = self._policy.target_share
        if not over_limit:
            notes = self._with_recall(notes)
        goal = self.limit if over_limit else between(fixed, self.lowered_limit, share)
        limit = self.limit if over_limit else self.lowered_limit
        return replace(
            self.for_recall(),
            goal=goal.minus(notes),
            deep_goal=between(self.draft.view.head_and_request_size, self.limit, share).minus(notes),
            limit=self._as_full_in_tokens(limit, fixed),
            fixed_size=fixed,
            required=self.draft.view.required,
            protected=frozenset((*self.draft.view.required, *kept)),
            over_limit=over_limit,
            due_notes=notes,
            may_replace_summary=self.may_replace_summary and not over_limit,
            policy_trigger=self._policy.trigger,
            policy_target=self._policy.target,
        )

    def _as_full_in_tokens(self, limit: Size, fixed: Size) -> Size:
        """The limits of a target: `limit`. If messages or bytes are at the trigger, and at least `MIN_FULLNESS` full,
        the token limit is lowered, until it is as full as they are. It stays so for the rest of the plan.

        Why: strategies divide tokens, a part for the newest turns, a part for a digest, a part that stays free. Where
        another limit is reached first, these would be shares of room that cannot be used, and each later window would
        need another compaction.
        """
        if self._budget.max_messages is None and self._budget.max_bytes is None:
            return limit
        used = self.used()
        fullest = pressure(replace(used, tokens=0, images=0), replace(fixed, tokens=0, images=0), self.limit)
        # Once this is so, it holds for the whole plan: a later strategy divides what an earlier one has left over.
        self._other_limit_is_full |= fullest >= max(self._policy.trigger, MIN_FULLNESS)
        if not self._other_limit_is_full or fullest <= 0:
            return limit
        tokens = fixed.tokens + int((used.tokens - fixed.tokens) / fullest)
        return replace(limit, tokens=min(limit.tokens, tokens))


def _has_recall_for_newest_unit(view: View) -> bool:
    """Whether a Recalled stands after the beginning of the newest unit; true if there is no such unit yet."""
    newest = view.newest_unit
    return newest < 0 or any(isinstance(view.fetch(seq).body, Recalled) for seq in range(newest + 1, view.length))
