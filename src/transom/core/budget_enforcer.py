"""Brings the draft of a plan within the budget, by adding the edits that the policy's strategies propose.

First, `arrival` strategies trim entries that were not sent yet, which breaks no cached prefix. If the fullest limit is
at the trigger, one compaction runs the `pressure` strategies down to the target, so that many requests follow
without another. If the window would still not fit, the `last_resort` strategies run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import cast

from msgspec.structs import replace

from transom import texts
from transom.core.bill import impossible
from transom.core.budget import between, fits, pressure
from transom.core.choices import PricedWindow, choice_cost, compaction_costs, price_of_summary, try_choices
from transom.core.draft import Draft, due_size, pin_before_fold, pin_required
from transom.core.edit import Edit, Fold
from transom.core.message import Assistant, Failure, Note, Recalled
from transom.core.plan_request import PlanRequest
from transom.core.policy import (
    Choice,
    KeptUnit,
    Policy,
    Strategy,
    Target,
    is_at_trigger,
    name_of,
    naming,
    policy_limit,
    wants_of,
)
from transom.core.redact import Redact, redacted_recall, redacted_want
from transom.core.summary import Summarise, Summary, SummaryOptions
from transom.core.tokens import ZERO, Size, fact_size
from transom.core.unit import Unit
from transom.core.view import View
from transom.errors import BudgetImpossible, ContextStillTooLarge, InvalidEdit, quote
from transom.prices import CompactionCosts, Prices

PASSES = 16
"""The maximum number of passes of one plan. A second pass is needed if a fold has hidden a state note: the note is then
due again, and needs room. The passes end when one of them adds nothing, so that a second plan, made right after this
one, would have nothing to do (law 8 in CONTRIBUTING.md)."""

FUTILE = 1_000
"""How many edits in a row a strategy may propose that make the window no smaller: this number, plus one for each entry
of the log and each byte of the window. A strategy that proposes more would never end."""

MIN_FULLNESS = 0.2
"""How full a limit of messages or bytes must be, at least, before it lowers the token limit. Without this minimum, a
policy with a trigger of 0 would lower the token limit at every call."""

STEPS = 20
"""Whether a new summary is worth its price is asked again only when the window has grown past the next 1/20 of its
limit."""


class BudgetEnforcer:
    """Adds edits to the draft of a plan, until its window is within the budget. Used for one plan.

    The summaries that strategies want are collected in `wants`, if the request has `summary_options`.
    """

    def __init__(self, draft: Draft, request: PlanRequest) -> None:
        self.draft, self.budget, self.policy, self.ref = draft, request.budget, request.policy, request.ref
        self.state, self.redact, self.indexes = request.options.state, request.options.redact, request.indexes
        self.due_recall = DueRecall(self.policy, self.redact)
        self.summary_options = request.summary_options
        self.wants: list[Summarise] = []
        self.costs: CompactionCosts | None = None
        """With prices: the costs that were compared when this compaction was chosen, or, if their `why` is "soon", when
        it was decided whether to ask for a summary."""
        self._why = "full"  # as `CompactionCosts.why`
        self._now = False  # whether a compaction was asked for, although the window is not full
        self._may_replace_summary = False
        self._other_limit_is_full = False
        """Whether messages or bytes were at the trigger in this plan."""
        self.limit = self.budget.limits(draft.view.calibration)
        self.lowered_limit = policy_limit(self.budget, self.policy, draft.view.calibration)
        """The policy's limit; lower where prices, or a compaction that was asked for, have lowered it for this plan."""
        self._kept_units: dict[int, KeptUnit] = {}
        """What the policy's keep rules name, by key."""

    def run(self, *, now: bool = False) -> None:
        """Trim what is new, then compact if the window is full. `now`: compact as if it were full.

        Raises BudgetImpossible, with the size of each part, if nothing makes the window fit; ContextStillTooLarge, its
        subclass, if the policy had strategies to try.
        """
        head = self.draft.view.head_and_request_size
        if not fits(head, self.limit):  # before all other work, whose time grows with what is new in the log
            raise impossible(self.draft.view, head, self.budget, self.state)
        # Pins first: a fold of somebody else may hide the task. Pinned, it takes room that the strategies must find.
        pin_required(self.draft)
        self.run_arrival()
        if self.budget.prices is not None:
            self._lower_limit_where_it_pays(self.budget.prices)
        self._now = now
        if now:
            has_new_summary = any(isinstance(entry.body, Summary) for entry in self.draft.entries)
            self._may_replace_summary = has_new_summary or (
                self.summary_options is not None and self.summary_options.may_replace
            )
            # With a limit as high as the window, the window is full: the strategies then do what they always do.
            self.lowered_limit = replace(self.lowered_limit, tokens=min(self.lowered_limit.tokens, self.used().tokens))
        # Nearly every request ends here. What follows looks at the whole window, this at a few sums.
        if self._is_surely_quiet():
            return
        self._compact()
        if self.summary_options is not None and not self.summary_options.waits:
            self._ask_in_advance()

    def run_arrival(self) -> None:
        """Run the `arrival` strategies."""
        view = self.draft.view
        # Only slots that were not sent: a trim there breaks no cached prefix, so it needs no reason to wait.
        if self.policy.arrival and view.shared_slots < len(view.slots):
            self._take_edits(self.policy.arrival, self._target_on_arrival(), only_as_needed=False)

    def _compact(self) -> None:
        """Run passes until one proposes nothing. Raises as `run` does."""
        for _ in range(PASSES):
            before = len(self.draft.entries)
            self._one_pass()
            if len(self.draft.entries) == before:
                break
        if not fits(self.used(), self.limit):
            view = self.draft.view
            listed = {view.newest_unit: "newest_turn", view.newest_user: "newest_user"}
            listed |= dict.fromkeys(view.first_task, "first_task")
            kind = ContextStillTooLarge if self.policy.last_resort or self.policy.pressure else BudgetImpossible
            raise impossible(view, self.used(), self.budget, self.state, listed, kind)

    def recall(self) -> None:
        """Add the fact that the policy's recall steps give for the newest turn, if the window stays below the trigger
        with it.

        Nothing is added if something was recalled for this turn already. If the window is compacted, `run` has made
        room for the fact before, so that a second plan has nothing to do (law 8).
        """
        recalled = self.due_recall.of(self.draft.view, self._recall_target)
        # not against the limit that prices have lowered for this one request
        limit = policy_limit(self.budget, self.policy, self.draft.view.calibration)
        if (
            recalled is not None
            and pressure(self._used_with_recall(), self.draft.view.fixed_size, limit) < self.policy.trigger
        ):
            self.draft.add(recalled)

    def _one_pass(self) -> None:
        """Run the `pressure` strategies if the window is at the trigger, then the `last_resort` ones if it would not
        fit.

        If the prefix is broken by then, superseded notes are folded too.
        """
        # The trigger counts recalled text, the limit does not: nothing is ever removed to make room for it.
        if not self._has_room_below_trigger(self._used_with_recall()):
            self._make_room()
        if not fits(self.used(), self.limit):
            view = self.draft.view
            # Turns that the user restored and that do not fit are folded again as the policy folds, not left out.
            again = self.policy.pressure if any(map(view.user_restored, view.slots)) else ()
            self._run_strategies((*again, *self.policy.last_resort), over_limit=True)
        if self.draft.view.first_break is not None:
            self._fold_superseded_notes()

    def _make_room(self) -> None:
        """Run the `pressure` strategies; with prices the cheapest of the policy's choices instead, if one brings the
        window below the trigger."""
        prices = self.budget.prices
        if prices is None or self.costs is not None:
            self._run_strategies(self.policy.pressure, over_limit=False)
            return
        window, before = self._priced_window(prices), len(self.draft.entries)
        # Choices are tried with the summaries that there are. Where the request can wait for a new one, trying them
        # would decide before it is made.
        waits = self._now or (self.summary_options is not None and self.summary_options.waits)
        tried = [] if waits else try_choices(self.policy.choices, self._attempt, window)
        if tried:
            self.draft.become(tried[0].draft)
        else:
            self._run_strategies(self.policy.pressure, over_limit=False)
        if len(self.draft.entries) > before:
            all_costs = [one.cost for one in tried]
            if not tried:
                left = self.used().tokens
                all_costs = [choice_cost(self.policy.name, self.draft.view, left, window)]
            self.costs = compaction_costs(window, self.draft.view, self._why, all_costs, all_costs[0].name)

    def _run_strategies(self, strategies: Iterable[Strategy], *, over_limit: bool) -> None:
        """Run strategies in order until the target is met.

        Without `over_limit`, the keep rules are asked first. If the request waits for summaries, strategies are asked
        before they run which ones they want, until one wants some.
        """
        self._kept_units = {} if over_limit or not self.draft.view.slots else self._ask_keep_rules()
        for strategy in strategies:
            target = self._target(over_limit=over_limit)
            if target.is_met(self.draft.view) or not self.draft.view.slots:
                return
            if self.summary_options is not None and self.summary_options.waits and not over_limit and not self.wants:
                self._ask(strategy, self.summary_options, target)
            self._take_edits((strategy,), target, only_as_needed=True)

    # ---- wants

    def _ask_in_advance(self) -> None:
        """Collect the summaries that the next compaction will want, once the window has reached `soft_trigger`."""
        soft = self.policy.soft_trigger
        assert self.summary_options is not None
        if soft is None or not self._is_due_soon(soft):
            return
        self._kept_units = self._ask_keep_rules() if self.draft.view.slots else {}
        strategies = self.policy.pressure
        if self.budget.prices is not None and self.policy.choices:
            strategies = self._worth_a_summary(self.budget.prices)
        for strategy in strategies:
            self._ask(strategy, self.summary_options, self._target(over_limit=False))

    def _is_due_soon(self, soft: float) -> bool:
        """Whether the window has reached this share of the trigger, or of what the prices ask for."""
        if self.costs is not None:  # this plan has compacted it
            return False
        if self._is_soon_cheaper(soft):
            return True
        return pressure(self.used(), self.draft.view.fixed_size, self.lowered_limit) >= soft * self.policy.trigger

    def _is_soon_cheaper(self, soft: float) -> bool:
        view, prices = self.draft.view, self.budget.prices
        return prices is not None and self._compaction_pays(prices, view, self.used().tokens, soft)

    def _worth_a_summary(self, prices: Prices) -> tuple[Strategy, ...]:
        """The strategies of the choice that would be cheapest if the summaries that they want were made; none if that
        choice wants no summary. Sets `costs` if there are any."""
        window = self._priced_window(prices)
        step = max(1, window.limit // STEPS)
        if self.draft.view.sent_tokens // step == window.tokens // step:  # once a step: trying all choices takes time
            return ()
        wants = [want for choice in self.policy.choices for want in self.wants_of_choice(choice)]
        if self.summary_options is None or not any(want.max_tokens >= self.summary_options.least for want in wants):
            return ()
        tried = try_choices(self.policy.choices, self._attempt_as_if_full, window, with_new_summary=True)
        if not tried or not self.wants_of_choice(tried[0].choice):
            return ()
        self.costs = compaction_costs(
            window, self.draft.view, "soon", [one.cost for one in tried], tried[0].choice.name
        )
        return tried[0].choice.strategies

    # ---- choices

    def _attempt(self) -> BudgetEnforcer:
        """An enforcer with the same settings, on a copy of the draft."""
        other = copy(self)
        other.draft, other.summary_options, other.wants, other._kept_units = self.draft.copy(), None, [], {}
        return other

    def _attempt_as_if_full(self) -> BudgetEnforcer:
        other = self._attempt()
        other.lowered_limit = replace(self.lowered_limit, tokens=self.used().tokens)
        return other

    def run_choice(self, choice: Choice) -> bool:
        """Run the strategies of a choice. Returns whether the window is below the trigger after them."""
        self._run_strategies(choice.strategies, over_limit=False)
        return self._has_room_below_trigger(self._used_with_recall())

    def wants_of_choice(self, choice: Choice) -> list[Summarise]:
        """The summaries that the strategies of a choice want."""
        target = self._target(over_limit=False)
        return [w for one in choice.strategies for w in wants_of(one, self.draft.view, target, self.policy)]

    def _priced_window(self, prices: Prices) -> PricedWindow:
        used, view, fixed = self.used().tokens, self.draft.view, self.draft.view.fixed_size
        full = between(fixed, policy_limit(self.budget, self.policy, view.calibration), min(1.0, self.policy.trigger))
        return PricedWindow(prices, used, view.since_break.growth(used), full.tokens)

    def _ask(self, strategy: Strategy, summary_options: SummaryOptions, target: Target) -> None:
        """Add a strategy's wants to `wants`, with the caller's focus and notes, redacted."""
        target = replace(
            target, waits_for_wants=summary_options.waits, summaries_can_be_made=summary_options.can_be_made
        )
        for want in wants_of(strategy, self.draft.view, target, self.policy):
            if want.max_tokens < summary_options.least:
                continue
            whole = replace(want, focus=summary_options.focus, notes=summary_options.notes, waits=summary_options.waits)
            self.wants.append(whole if self.redact is None else redacted_want(whole, self.redact))

    # ---- measures

    def _lower_limit_where_it_pays(self, prices: Prices) -> None:
        """Lower the policy's limit to the window's size now if the prices say that a compaction pays. At most once for
        a request: only while there are slots that were not sent (law 8)."""
        view, used = self.draft.view, self.used().tokens
        has_new_slots = view.shared_slots < len(view.slots)
        if has_new_slots and used < self.lowered_limit.tokens and self._compaction_pays(prices, view, used):
            self.lowered_limit = replace(self.lowered_limit, tokens=used)
            self._why = "price"

    def _compaction_pays(self, prices: Prices, view: View, used: int, share: float = 1.0) -> bool:
        """Whether a compaction pays, or soon does. Where the policy has summaries made for compactions, the price of
        the newest one is a part of what the next compaction costs."""
        since = view.since_break
        if not since.pays(prices, used, share=share):
            return False
        newest = None if self.policy.soft_trigger is None else view.summary
        if newest is None:
            return True
        price = price_of_summary(newest[1], prices, view.counter, window=view.sent_tokens)
        return since.pays(prices, used, price, share)

    def used(self) -> Size:
        """The size that the request will have, with what is not in the view yet."""
        view = self.draft.view
        is_all = not (self.state or view.notes or view.counter.user_first)
        return view.total if is_all else view.total.plus(self._due_size())

    def _due_size(self) -> Size:
        """What the request will have beside the view: due notes, and the user message that some APIs need first. (The
        tokens of that message are in those of every request.)"""
        view = self.draft.view
        notes, first = due_size(view, self.state), view.slots[0] if view.slots else None
        is_of_model = isinstance(first, Unit) and isinstance(first.first_fact, Assistant | Failure)
        return notes.plus(Size(messages=1)) if view.counter.user_first and is_of_model else notes

    def _used_with_recall(self) -> Size:
        """The size that the request would have with the text that is to be recalled, due notes included.

        It counts at the trigger only: at the limit, nothing is removed to make room for recalled text.
        """
        return self.used().plus(self.due_recall.size(self.draft.view, self._recall_target))

    def _has_room_below_trigger(self, size: Size) -> bool:
        """Whether a window of this size would be below the trigger."""
        return not is_at_trigger(size, self.draft.view.fixed_size, self.lowered_limit, self.limit, self.policy.trigger)

    def _is_surely_quiet(self) -> bool:
        """Whether the window is certainly below the trigger, and below the soft trigger if summaries are asked for.

        A cheap test, which does not compute the fixed size. Without it the pressure comes out too high, never too low
        (as long as it is below 1), so False says nothing.
        """
        soft = self.policy.soft_trigger if self.summary_options is not None else None
        if soft is not None and self._is_soon_cheaper(soft):
            return False
        trigger = min(1.0, self.policy.trigger * (1.0 if soft is None else soft))
        return all(
            used < trigger * limit for used, limit in zip(self._used_with_recall(), self.lowered_limit, strict=True)
        )

    def _recall_target(self) -> Target:
        """The target of recall steps: the limits themselves, nothing required."""
        return Target(
            goal=self.limit,
            deep_goal=self.limit,
            limit=self.limit,
            fixed_size=ZERO,
            budget=self.budget,
            counter=self.draft.view.counter,
            reference=self.ref,
            newest_unit=self.draft.view.newest_unit,
            indexes=self.indexes,
            redact=self.redact,
        )

    def _target_on_arrival(self) -> Target:
        """The target of arrival strategies. A window below the trigger, due notes included, has reached it.

        A strategy that looks at its target trims nothing then; others, as `FreshResults`, trim all the same.
        """
        view, goal = self.draft.view, self.lowered_limit
        if self.policy.trigger < 1:
            goal = between(view.fixed_size, goal, self.policy.trigger)
        return replace(self._recall_target(), goal=goal.minus(self.used().minus(view.total)))

    def _target(self, *, over_limit: bool) -> Target:
        """What `pressure` strategies, or `last_resort` ones, must reach now."""
        notes, fixed = self._due_size(), self.draft.view.fixed_size
        share = self.policy.target_share
        if not over_limit:
            notes = notes.plus(self.due_recall.size(self.draft.view, self._recall_target))
        goal = self.limit if over_limit else between(fixed, self.lowered_limit, share)
        limit = self.limit if over_limit else self.lowered_limit
        return Target(
            goal=goal.minus(notes),
            deep_goal=between(self.draft.view.head_and_request_size, self.limit, share).minus(notes),
            limit=self._as_full_in_tokens(limit, fixed),
            fixed_size=fixed,
            budget=self.budget,
            counter=self.draft.view.counter,
            reference=self.ref,
            required=self.draft.view.required,
            protected=frozenset((*self.draft.view.required, *self._kept_units)),
            newest_unit=self.draft.view.newest_unit,
            over_limit=over_limit,
            due_notes=notes,
            indexes=self.indexes,
            redact=self.redact,
            may_replace_summary=self._may_replace_summary and not over_limit,
            policy_trigger=self.policy.trigger,
            policy_target=self.policy.target,
        )

    def _as_full_in_tokens(self, limit: Size, fixed: Size) -> Size:
        """The limits; if messages or bytes fill up first, with a lower token limit that is as full as they are.

        Strategies divide tokens: a part for the newest turns, a part for a digest, a part that stays free. Where
        another limit is reached first, these shares would be of room that cannot be used, and each later window would
        need another compaction.
        """
        if self.budget.max_messages is None and self.budget.max_bytes is None:
            return limit
        used = self.used()
        fullest = pressure(replace(used, tokens=0, images=0), replace(fixed, tokens=0, images=0), self.limit)
        # Once this is so, it holds for the whole plan: a later strategy divides what an earlier one has left over.
        self._other_limit_is_full |= fullest >= max(self.policy.trigger, MIN_FULLNESS)
        if not self._other_limit_is_full or fullest <= 0:
            return limit
        tokens = fixed.tokens + int((used.tokens - fixed.tokens) / fullest)
        return replace(limit, tokens=min(limit.tokens, tokens))

    # ---- steps

    def _ask_keep_rules(self) -> dict[int, KeptUnit]:
        """The units that the keep rules name, by key. Where several rules name a unit, the first one counts."""
        self._kept_units, kept = {}, dict[int, KeptUnit]()
        target = self._target(over_limit=False)
        for rule in self.policy.keep:
            with naming(rule, self.policy):
                for unit in rule(self.draft.view, target):
                    kept.setdefault(unit.key, unit)
        return kept

    def _take_edits(self, strategies: Iterable[Strategy], target: Target, *, only_as_needed: bool) -> None:
        """Add the proposed edits that apply. `only_as_needed`: stop as soon as the target is met.

        A fold is redacted first, and what must stay in the window is pinned out of it.
        """
        for strategy in strategies:
            for edit in self._proposals(strategy, target):
                taken = edit
                if isinstance(edit, Fold) and self.draft.view.refusal(edit) is None:
                    taken = target.as_logged(self.draft.view, edit)
                    if self.draft.view.refusal(taken) is not None:
                        continue  # the names of secrets are longer than what was to be quoted
                    pin_before_fold(self.draft, edit, self._kept_units)
                self.draft.propose(taken)
                if only_as_needed and target.is_met(self.draft.view):
                    return

    def _proposals(self, strategy: Strategy, target: Target) -> Iterator[Edit]:
        """The edits that a strategy proposes.

        Raises InvalidEdit if the strategy proposes a value that is not an edit, or if it does not end. A strategy may
        propose edits that do not apply, for example one for each part of the window. But if very many edits in a row
        (see `FUTILE`) make the window no smaller, it repeats itself.
        """
        least = self.draft.view.total.bytes
        most, without = FUTILE + self.draft.view.length + least, 0
        with naming(strategy, self.policy):
            for edit in strategy(self.draft.view, target):
                if not isinstance(cast("object", edit), Edit):
                    raise InvalidEdit(f"strategy {name_of(strategy)} must propose edits, not {quote(edit)}")
                yield edit
                size = self.draft.view.total.bytes
                without = 0 if size < least else without + 1
                least = min(size, least)
                if without > most:
                    raise InvalidEdit(
                        f"strategy {name_of(strategy)} proposed {without:,} edits in a row that make nothing smaller"
                    )

    def _fold_superseded_notes(self) -> None:
        """Fold each note that has a newer one of its key, from the first broken slot on: there it costs nothing more in
        the cache."""
        view = self.draft.view
        for slot in view.slots[max(0, view.shared_slots) :]:
            note = slot.first_fact if isinstance(slot, Unit) else None
            if (
                isinstance(note, Note)
                and note.key
                and view.notes[note.key][0] != slot.first
                and not view.user_restored(slot)
            ):
                text = texts.superseded_note(self.ref(slot.first))
                self.draft.propose(Fold(first=slot.first, last=slot.last, text=text, why="superseded"))


class DueRecall:
    """Asks the policy's recall steps for the fact to recall before the next request, once for each view. There is at
    most one after each new turn.

    Its size counts towards the pressure like a note that is due, so that a compaction makes room for it. It never
    counts towards the limit: the last resort removes nothing to make room for it.
    """

    def __init__(self, policy: Policy, redact: Redact | None = None) -> None:
        self._policy, self._redact = policy, redact
        self._asked: View | None = None
        self._recalled: Recalled | None = None
        self._size = ZERO

    def of(self, view: View, target: Callable[[], Target]) -> Recalled | None:
        """The fact to recall into this view. None if no step gives one, or if something was recalled for its newest
        turn already.

        `target` is called only if the steps are asked. Raises InvalidEdit if a step gives a value that is not a
        Recalled with a text.
        """
        if not self._policy.recall:
            return None
        if self._asked is not view:
            self._asked, self._size = view, ZERO
            self._recalled = None if _has_recall_for_newest_turn(view) else self._ask(view, target())
            if self._recalled is not None:
                self._size = fact_size(self._recalled, view.counter.count_body(self._recalled))
        return self._recalled

    def size(self, view: View, target: Callable[[], Target]) -> Size:
        """The size of the fact to recall; zero if there is none."""
        self.of(view, target)
        return self._size

    def _ask(self, view: View, target: Target) -> Recalled | None:
        """The first fact that a step gives, redacted; None if no step gives one."""
        for step in self._policy.recall:
            with naming(step, self._policy):
                recalled = next(step(view, target), None)
                if recalled is None:
                    continue
                if not isinstance(cast("object", recalled), Recalled) or not recalled.text:
                    found = quote(recalled)
                    raise InvalidEdit(f"recall step {name_of(step)} must give a Recalled with a text, not {found}")
                return recalled if self._redact is None else redacted_recall(view, recalled, self._redact)
        return None


def _has_recall_for_newest_turn(view: View) -> bool:
    """Whether a plan or the caller has added a Recalled after the newest turn. Also true if there is no turn yet."""
    newest = view.newest_unit
    return newest < 0 or any(isinstance(view.fetch(seq).body, Recalled) for seq in range(newest + 1, view.length))
