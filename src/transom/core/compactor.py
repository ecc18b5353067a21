"""Brings the draft of a plan within the budget, by adding the edits that the policy's strategies propose.

First, `arrival` strategies trim entries that were not sent yet, which breaks no cached prefix. If the fullest limit is
above the trigger, one compaction runs the `pressure` strategies down to the target, so that many requests follow
without another. If the window would still not fit, the `hard` strategies run.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from copy import copy
from math import ceil
from operator import attrgetter
from typing import cast

from msgspec.structs import replace

from transom import texts
from transom.core.budget import Budget, fits, pressure
from transom.core.choices import PricedWindow, choice_cost, price_of_summary, sum_of_costs, try_choices
from transom.core.derived import Derived
from transom.core.draft import Draft
from transom.core.due_recall import DueRecall
from transom.core.edit import Edit, Fold, Pin, Undo
from transom.core.frame import Frame
from transom.core.message import Note
from transom.core.policy import NO_LIMITS, Choice, KeptUnit, Policy, Strategy, Target, name_of, naming, wants_of
from transom.core.prices import CompactionCosts, Prices
from transom.core.redact import redacted_fold, redacted_want
from transom.core.state_notes import due_size
from transom.core.summary import Summarise, Summary, SummaryOptions
from transom.core.tokens import ZERO, Size
from transom.core.unit import Unit
from transom.core.view import View
from transom.errors import BudgetImpossible, ContextStillTooLarge, InvalidEdit, quote

Ref = Callable[[int], str]
"""Gives the words by which a text names the entry with a seq."""

PASSES = 16
"""The maximum number of passes of one plan. A fold may hide a state note, which is then due again and needs room: so
there may be a second pass. Passes end when one proposes nothing. So a second plan has nothing to do (law 8)."""

FUTILE = 1_000
"""The number of edits in a row that may make nothing smaller, beside one for each entry of the log and each byte of the
window."""

MIN_FULLNESS = 0.2
"""Below this fullness, a limit of messages or bytes does not lower the token limit, also for a policy that compacts at
every call."""

STEPS = 20
"""Whether a new summary is worth its price is asked again each time the window has grown by this part of its limit."""

REQUIRED = "required"
"""The `why` of the pins that keep the first task and the newest user message out of folds."""

_NO_UNITS: Mapping[int | None, str] = {}


def soft_limit(budget: Budget, policy: Policy, calibration: float) -> Size:
    """The limits against which the trigger is measured: each the lower one of the budget's and the policy's
    `own_limits`.

    `calibration`: the provider's tokens for one of ours. The result is a raw size.
    """
    limit = budget.limits(calibration)
    if policy.own_limits is NO_LIMITS:
        return limit
    return Size(*map(min, limit, policy.own_limits.limits(calibration)))


def is_due(view: View, budget: Budget, policy: Policy) -> bool:
    """Whether the next plan will compact this view: its fullest limit is at the trigger, or it is over the budget.

    False is no promise: prices, new state and recalled text may still make the next plan compact.
    """
    full = pressure(view.total, _fixed_size(view), soft_limit(budget, policy, view.calibration))
    return full >= policy.trigger or not fits(view.total, budget.limits(view.calibration))


class Compactor:
    """Adds edits to the draft of a plan, until its window is within the budget. Used for one plan.

    `ref`: how texts name an entry. `asked`: if given, the summaries that strategies want are collected in `wants`.
    """

    def __init__(
        self,
        draft: Draft,
        frame: Frame,
        budget: Budget,
        policy: Policy,
        ref: Ref,
        derived: Derived,
        asked: SummaryOptions | None = None,
    ) -> None:
        self.draft, self.state, self.budget, self.policy, self.ref = draft, frame.state, budget, policy, ref
        self.redact, self.derived = frame.redact, derived
        self.due_recall = DueRecall(policy, frame.redact)
        self.asked = asked
        self.wants: list[Summarise] = []
        self.costs: CompactionCosts | None = None
        """With prices: the sum behind the compaction of this plan, or (`why` is "soon") behind the summary that it
        asks for."""
        self._why, self._now = "full", False
        self._may_replace_summary = False
        self._other_limit_is_full = False
        """Whether messages or bytes were at the trigger in this plan."""
        self.limit = budget.limits(draft.view.calibration)
        self.soft_limit = soft_limit(budget, policy, draft.view.calibration)
        self._kept_units: dict[int, KeptUnit] = {}
        """What keepers name, by key."""

    def run(self, *, now: bool = False) -> None:
        """Trim what is new, then compact if the window is full. `now`: compact as if it were full.

        Raises BudgetImpossible, with the size of each part, if nothing makes the window fit; ContextStillTooLarge, its
        subclass, if the policy had strategies to try.
        """
        if not fits(self._head_size(), self.limit):
            raise self._impossible(self._head_size())  # first, since all else depends on the length of the log
        self._pin_required()
        view = self.draft.view
        if self.policy.arrival and view.shared_slots < len(view.slots):
            self._take_edits(self.policy.arrival, self._no_pressure(), only_as_needed=False)
        if self.budget.prices is not None:
            self._lower_limit_where_it_pays(self.budget.prices)
        self._now = now
        if now:
            came = any(isinstance(entry.body, Summary) for entry in self.draft.entries)
            self._may_replace_summary = came or (self.asked is not None and self.asked.may_replace)
            self.soft_limit = replace(self.soft_limit, tokens=min(self.soft_limit.tokens, self.used().tokens))
        if self._is_surely_quiet():
            return
        self._compact()
        if self.asked is not None and not self.asked.waits:
            self._ask_in_advance()

    def _compact(self) -> None:
        """Run passes until one proposes nothing. Raises as `run` does."""
        for _ in range(PASSES):
            before = len(self.draft.entries)
            self.one_pass()
            if len(self.draft.entries) == before:
                break
        if not fits(self.used(), self.limit):
            view = self.draft.view
            listed = {view.newest_unit: "newest_turn", view.first_task: "first_task", view.newest_user: "newest_user"}
            kind = ContextStillTooLarge if self.policy.hard or self.policy.pressure else BudgetImpossible
            raise self._impossible(self.used(), listed, kind)

    def recall(self) -> None:
        """Add the fact that the policy's recall steps give for the newest turn, if the window stays below the trigger
        with it.

        There is none if something was recalled for this turn already. A compaction has made room for it before, so that
        a second plan has nothing to do (law 8).
        """
        recalled = self.due_recall.of(self.draft.view, self._no_pressure)
        # not against the limit that prices have lowered for this one request
        limit = soft_limit(self.budget, self.policy, self.draft.view.calibration)
        if recalled is not None and pressure(self._wanted(), self._fixed_size(), limit) < self.policy.trigger:
            self.draft.add(recalled)

    def one_pass(self) -> None:
        """Run the `pressure` strategies if the window is at the trigger, then the `hard` ones if it would not fit.

        If the prefix is broken by then, superseded notes are folded too.
        """
        if not self._has_room_below_trigger(self._wanted()):
            self._make_room()
        if not fits(self.used(), self.limit):
            self.run_strategies(self.policy.hard, hard=True)
        if self.draft.view.first_break is not None:
            self._fold_superseded_notes()

    def _make_room(self) -> None:
        """Run the `pressure` strategies; with prices the cheapest of the policy's choices instead, if one brings the
        window below the trigger."""
        prices = self.budget.prices
        if prices is None or self.costs is not None:
            self.run_strategies(self.policy.pressure, hard=False)
            return
        window, before = self._priced_window(prices), len(self.draft.entries)
        waits = self._now or (self.asked is not None and self.asked.waits)
        tried = [] if waits else try_choices(self.policy.choices, self._attempt, window)
        if tried:
            self.draft.become(tried[0].draft)
        else:
            self.run_strategies(self.policy.pressure, hard=False)
        if len(self.draft.entries) > before:
            all_costs = [one.cost for one in tried]
            if not tried:
                left = self.used().tokens
                all_costs = [choice_cost(self.policy.name, self.draft.view, left, window)]
            self.costs = sum_of_costs(window, self.draft.view, self._why, all_costs, all_costs[0].name)

    def run_strategies(self, strategies: Iterable[Strategy], *, hard: bool) -> None:
        """Run strategies in order until the target is met. Not hard: the keepers are asked first, and each strategy for
        its wants."""
        self._kept_units = {} if hard or not self.draft.view.slots else self._ask_keepers()
        for strategy in strategies:
            target = self._target(hard=hard)
            if target.is_met(self.draft.view) or not self.draft.view.slots:
                return
            if self.asked is not None and self.asked.waits and not hard and not self.wants:
                self._ask(strategy, self.asked, target)
            self._take_edits((strategy,), target, only_as_needed=True)

    # ---- wants

    def _ask_in_advance(self) -> None:
        """Collect the summaries that the next compaction will want, once the window has reached `soft_trigger`."""
        soft = self.policy.soft_trigger
        assert self.asked is not None
        if soft is None or not self._is_due_soon(soft):
            return
        self._kept_units = self._ask_keepers() if self.draft.view.slots else {}
        strategies = self.policy.pressure
        if self.budget.prices is not None and self.policy.choices:
            strategies = self._worth_a_summary(self.budget.prices, is_free=not self.asked.costs)
        for strategy in strategies:
            self._ask(strategy, self.asked, self._target(hard=False))

    def _is_due_soon(self, soft: float) -> bool:
        """Whether the window has reached this share of the trigger, or of what the prices ask for."""
        if self.costs is not None:  # this plan has compacted it
            return False
        if self._is_soon_cheaper(soft):
            return True
        return pressure(self.used(), self._fixed_size(), self.soft_limit) >= soft * self.policy.trigger

    def _is_soon_cheaper(self, soft: float) -> bool:
        view, prices = self.draft.view, self.budget.prices
        return prices is not None and self._compaction_pays(prices, view, self.used().tokens, soft)

    def _worth_a_summary(self, prices: Prices, *, is_free: bool) -> tuple[Strategy, ...]:
        """The strategies of the choice that would be cheapest if the summaries that they want were made."""
        window = self._priced_window(prices)
        step = max(1, window.limit // STEPS)
        if self.draft.view.sent_tokens // step == window.tokens // step:  # trying all choices takes time
            return ()
        wants = [want for choice in self.policy.choices for want in self.wants_of_choice(choice)]
        if self.asked is None or not any(want.max_tokens >= self.asked.least for want in wants):
            return ()
        tried = try_choices(self.policy.choices, self._attempt_as_if_full, window, with_new_summary=True, free=is_free)
        if not tried or not self.wants_of_choice(tried[0].choice):
            return ()
        self.costs = sum_of_costs(window, self.draft.view, "soon", [one.cost for one in tried], tried[0].choice.name)
        return tried[0].choice.strategies

    # ---- choices

    def _attempt(self) -> Compactor:
        """A compactor with the same settings, on a copy of the draft."""
        other = copy(self)
        other.draft, other.asked, other.wants, other._kept_units = self.draft.copy(), None, [], {}
        return other

    def _attempt_as_if_full(self) -> Compactor:
        other = self._attempt()
        other.soft_limit = replace(self.soft_limit, tokens=self.used().tokens)
        return other

    def run_choice(self, choice: Choice) -> bool:
        """Run the strategies of a choice; whether the window is below the trigger then."""
        self.run_strategies(choice.strategies, hard=False)
        return self._has_room_below_trigger(self._wanted())

    def wants_of_choice(self, choice: Choice) -> list[Summarise]:
        """The summaries that the strategies of a choice want."""
        target = self._target(hard=False)
        return [w for one in choice.strategies for w in wants_of(one, self.draft.view, target, self.policy)]

    def _priced_window(self, prices: Prices) -> PricedWindow:
        used, view, fixed = self.used().tokens, self.draft.view, self._fixed_size()
        full = _between(fixed, soft_limit(self.budget, self.policy, view.calibration), min(1.0, self.policy.trigger))
        return PricedWindow(prices, used, view.since_break.growth(used), full.tokens)

    def _ask(self, strategy: Strategy, asked: SummaryOptions, target: Target) -> None:
        """Add a strategy's wants to `wants`, with the caller's focus and notes, redacted."""
        target = replace(target, waits_for_wants=asked.waits, summaries_cost=asked.costs)
        for want in wants_of(strategy, self.draft.view, target, self.policy):
            if want.max_tokens < asked.least:
                continue
            whole = replace(want, focus=asked.focus, notes=asked.notes, waits=asked.waits)
            self.wants.append(whole if self.redact is None else redacted_want(whole, self.redact))

    # ---- measures

    def _lower_limit_where_it_pays(self, prices: Prices) -> None:
        """Lower the soft limit to the window's size now if the prices say that a compaction pays. At most once for a
        request: only while there are slots that were not sent (law 8)."""
        view, used = self.draft.view, self.used().tokens
        has_new_slots = view.shared_slots < len(view.slots)
        if has_new_slots and used < self.soft_limit.tokens and self._compaction_pays(prices, view, used):
            self.soft_limit = replace(self.soft_limit, tokens=used)
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
        """The size that the request will have, due notes included."""
        view = self.draft.view
        return view.total.plus(due_size(view, self.state)) if self.state or view.notes else view.total

    def _wanted(self) -> Size:
        """The size that the request would have with the text that is to be recalled, due notes included.

        It counts at the trigger only: at the limit, nothing is removed to make room for recalled text.
        """
        return self.used().plus(self.due_recall.size(self.draft.view, self._no_pressure))

    def _has_room_below_trigger(self, size: Size) -> bool:
        """Whether a window of this size would be below the trigger."""
        return pressure(size, self._fixed_size(), self.soft_limit) < self.policy.trigger

    def _is_surely_quiet(self) -> bool:
        """Whether the window is below the trigger (or the soft trigger) even if no part of it were fixed.

        A cheap test: a fixed size only lowers a pressure that is below 1.
        """
        soft = self.policy.soft_trigger if self.asked is not None else None
        if soft is not None and self._is_soon_cheaper(soft):
            return False
        trigger = min(1.0, self.policy.trigger * (1.0 if soft is None else soft))
        return all(used < trigger * limit for used, limit in zip(self._wanted(), self.soft_limit, strict=True))

    def _required(self) -> tuple[int, ...]:
        """The keys of the first task and the newest user message."""
        return _required(self.draft.view)

    def _head_size(self) -> Size:
        """The size of the head and of the request beside its messages."""
        return _head_size(self.draft.view)

    def _fixed_size(self) -> Size:
        """The size that no compaction can take away: the head, and the required units that are visible."""
        return _fixed_size(self.draft.view)

    def _no_pressure(self) -> Target:
        """The target of arrival strategies and recall steps: the limits themselves, nothing required. Arrival
        strategies trim an entry because of its own size."""
        return Target(
            goal=self.limit,
            deep_goal=self.limit,
            limit=self.limit,
            fixed_size=ZERO,
            budget=self.budget,
            counter=self.draft.view.counter,
            reference=self.ref,
            newest_unit=self.draft.view.newest_unit,
            derived=self.derived,
        )

    def _target(self, *, hard: bool) -> Target:
        """What `pressure` strategies, or `hard` ones, must reach now."""
        notes, fixed, share = due_size(self.draft.view, self.state), self._fixed_size(), self.policy.target
        if not hard:
            notes = notes.plus(self.due_recall.size(self.draft.view, self._no_pressure))
        goal = self.limit if hard else _between(fixed, self.soft_limit, share)
        limit = self.limit if hard else self.soft_limit
        return Target(
            goal=goal.minus(notes),
            deep_goal=_between(self._head_size(), self.limit, share).minus(notes),
            limit=self._as_full_in_tokens(limit, fixed),
            fixed_size=fixed,
            budget=self.budget,
            counter=self.draft.view.counter,
            reference=self.ref,
            required=self._required(),
            protected=frozenset((*self._required(), *self._kept_units)),
            newest_unit=self.draft.view.newest_unit,
            hard=hard,
            due_notes=notes,
            derived=self.derived,
            may_replace_summary=self._may_replace_summary and not hard,
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

    def _pin_required(self) -> None:
        """Pin the first task and the newest user message where a fold of somebody else hides them."""
        for key in (self.draft.view.first_task, self.draft.view.newest_user):
            if key is not None and not self.draft.view.is_present(key):
                self.draft.propose(Pin(entry=key, why=REQUIRED, implied=True))

    def _ask_keepers(self) -> dict[int, KeptUnit]:
        """The units that keepers name, by key. Where several keepers name a unit, the first one counts."""
        self._kept_units, kept = {}, dict[int, KeptUnit]()
        target = self._target(hard=False)
        for keeper in self.policy.keepers:
            with naming(keeper, self.policy):
                for unit in keeper(self.draft.view, target):
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
                    taken = edit if self.redact is None else redacted_fold(self.draft.view, edit, self.redact)
                    if self.draft.view.refusal(taken) is not None:
                        continue  # the names of secrets are longer than what was to be quoted
                    self.pin_before_fold(taken)
                self.draft.propose(taken)
                if only_as_needed and target.is_met(self.draft.view):
                    return

    def _proposals(self, strategy: Strategy, target: Target) -> Iterator[Edit]:
        """The edits that a strategy proposes.

        Raises InvalidEdit if the strategy proposes a value that is not an edit, or if it does not end. A strategy may
        propose edits that do not apply, for example one for each part of the window. But one that proposes more edits
        in a row than the log has entries and the window bytes (and `FUTILE` more), none of which makes the window
        smaller, repeats itself.
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

    def pin_before_fold(self, fold: Fold) -> None:
        """Prepare for a fold: pin the required and kept units that it would hide, and take back the pins of earlier
        plans on other units in its range.

        Kept units beside the fold that are sent again because of it are shortened in the same break.
        """
        view, staying = self.draft.view, dict.fromkeys((*self._required(), *self._kept_units))
        for key in staying:
            if fold.first <= key <= fold.last and key not in fold.carries:
                self._pin(view.unit(key), self._kept_units.get(key) or KeptUnit(key, REQUIRED))
            elif (kept := self._kept_units.get(key)) is not None and self._is_rewritten(key, fold, staying):
                self._shorten(view.unit(key), kept)
        for unit in tuple(self.draft.view.visible_units()):
            if fold.first <= unit.key <= fold.last and unit.key not in staying and unit.key not in fold.carries:
                self._unpin(unit)

    def _pin(self, unit: Unit, kept: KeptUnit) -> None:
        """Pin a kept unit with its reason, and shorten it. A plan's older pin that says only `required` is replaced by
        one with the keeper's reason. A pin that the user set is left as it is, and so is its unit."""
        pins = [pin for seq in unit.pins if isinstance(pin := self.draft.view.fetch(seq).body, Pin)]
        if not all(pin.implied for pin in pins):
            return
        if all(pin.why == REQUIRED != kept.why for pin in pins):
            self.draft.propose(Pin(entry=unit.seqs[0], why=kept.why, implied=True))
            self._unpin(unit)
        self._shorten(unit, kept)

    def _shorten(self, unit: Unit, kept: KeptUnit) -> None:
        """Propose the trim of a kept unit, unless the user has restored the unit."""
        if kept.trim is not None and not self.draft.view.user_restored(unit):
            self.draft.propose(kept.trim)

    def _is_rewritten(self, key: int, fold: Fold, staying: Container[int]) -> bool:
        """Whether shortening this unit costs nothing more in the cache: it stands behind the fold's beginning, or only
        units that stay stand between the two."""
        view = self.draft.view
        start = min(view.slot_index(fold.first), max(0, view.shared_slots))
        while start > 0 and view.slots[start - 1].first in staying:
            start -= 1
        return view.slot_index(key) >= start

    def _unpin(self, unit: Unit) -> None:
        """Take back the pins on a unit that plans have placed; those of the user stay."""
        for seq in unit.pins:
            pin = self.draft.view.fetch(seq).body
            if isinstance(pin, Pin) and pin.implied:
                self.draft.propose(Undo(edit=seq, why="compaction"))

    def _fold_superseded_notes(self) -> None:
        """Fold each note that has a newer one of its key, from the first broken slot on: there it costs nothing more in
        the cache."""
        view = self.draft.view
        for slot in view.slots[max(0, view.shared_slots) :]:
            note = slot.head if isinstance(slot, Unit) else None
            if (
                isinstance(note, Note)
                and note.key
                and view.notes[note.key][0] != slot.first
                and not view.user_restored(slot)
            ):
                text = texts.superseded_note(self.ref(slot.first))
                self.draft.propose(Fold(first=slot.first, last=slot.last, text=text, why="superseded"))

    def _impossible(
        self, used: Size, listed: Mapping[int | None, str] = _NO_UNITS, kind: type[BudgetImpossible] = BudgetImpossible
    ) -> BudgetImpossible:
        """The error that lists what takes the room, in the unit of the first limit that is exceeded.

        `listed`: keys of the units that get a line of their own, with the names of these lines. `kind`: the class of
        the error.
        """
        view = self.draft.view
        which = next(name for name in Size.__struct_fields__ if getattr(used, name) > getattr(self.limit, name))
        scale, of = view.calibration if which == "tokens" else 1.0, attrgetter(which)
        bill = {"head": of(self._head_size())}
        if which == "tokens" and view.head_entry is not None:
            bill["tools"] = view.counter.count_tools(view.head.tools)
            bill["head"] -= bill["tools"]
        if listed:
            bill["notes"] = of(due_size(view, self.state))
        for key, name in listed.items():
            if key is not None and key >= 0 and view.is_visible(key):
                bill[name] = of(view.unit(key).size)
        bill["other"] = of(used) - sum(bill.values())
        scaled = {name: round(value * scale) for name, value in bill.items() if value}
        limit = self.budget.usable if which == "tokens" else of(self.limit)
        return kind({"need": ceil(of(used) * scale), "limit": limit, **scaled}, which)


def _between(low: Size, high: Size, share: float) -> Size:
    """The size at `share` of the way from `low` to `high`, for each of its numbers; `high` where that is not above
    `low`."""
    return Size(*(int(a + share * (b - a)) if b > a else b for a, b in zip(low, high, strict=True)))


def _required(view: View) -> tuple[int, ...]:
    """The keys of the first task and the newest user message, each once."""
    return tuple(dict.fromkeys(key for key in (view.first_task, view.newest_user) if key is not None))


def _head_size(view: View) -> Size:
    """The size of the head and of the request beside its messages."""
    return view.head_size.plus(Size(view.counter.request))


def _fixed_size(view: View) -> Size:
    """The size that no compaction can take away: the head, and the required units that are visible."""
    size = _head_size(view)
    for key in _required(view):
        if view.is_visible(key):
            size = size.plus(view.unit(key).size)
    return size
