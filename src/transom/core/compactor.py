"""Where the budget is enforced: a draft is brought within its limits, as gently as possible.

On arrival, strategies trim entries that were not sent yet, which breaks no cached prefix. If the fullest limit is above
the trigger, one compaction runs the policy's strategies until enough room is free for a long quiet time. If the window
would still not fit, the hard strategies run.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from math import ceil
from operator import attrgetter
from typing import cast

from msgspec.structs import replace

from transom import texts
from transom.core.budget import Budget, fits, pressure
from transom.core.derived import Derived
from transom.core.draft import Draft
from transom.core.due_recall import DueRecall
from transom.core.edit import Edit, Fold, Pin, Undo
from transom.core.frame import Frame
from transom.core.message import Note
from transom.core.policy import NO_LIMITS, KeptUnit, Policy, Strategy, Target, name_of, naming, wants_of
from transom.core.prices import Prices
from transom.core.redact import redacted_fold, redacted_want
from transom.core.state_notes import due_size
from transom.core.summary import Summarise, SummaryOptions
from transom.core.tokens import ZERO, Size
from transom.core.unit import Unit
from transom.core.view import View
from transom.errors import BudgetImpossible, ContextStillTooLarge, InvalidEdit, quote

Ref = Callable[[int], str]
"""How a text names an entry."""

PASSES = 16
"""A bound for the passes of one plan. A fold may hide a note that is then due again and needs room, so there may be a
second pass; each one shrinks what shows. The plan is done when a pass proposes nothing: then planning again has
nothing to do (law 8)."""

FUTILE = 1_000
"""So many edits that make nothing smaller may a strategy propose in a row, beside one for each entry and each byte."""

MIN_FULLNESS = 0.2
"""Below this, a limit of messages or bytes does not matter, also for a policy that acts at every call."""

REQUIRED = "required"
"""Why the first task and the newest user message are pinned out of folds."""

_NO_UNITS: Mapping[int | None, str] = {}


def soft_limit(budget: Budget, policy: Policy, calibration: float) -> Size:
    """The limits below which the policy keeps a window: the budget's, or its own where they are lower."""
    limit = budget.limits(calibration)
    if policy.own_limits is NO_LIMITS:
        return limit
    return Size(*map(min, limit, policy.own_limits.limits(calibration)))


def is_due(view: View, budget: Budget, policy: Policy) -> bool:
    """Whether the next plan compacts this view. Prices, new state and rendering may make it compact earlier."""
    full = pressure(view.total, _fixed_size(view), soft_limit(budget, policy, view.calibration))
    return full >= policy.trigger or not fits(view.total, budget.limits(view.calibration))


class Compactor:
    """Brings a draft within its limits."""

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
        self.limit = budget.limits(draft.view.calibration)
        self.soft_limit = soft_limit(budget, policy, draft.view.calibration)
        self._kept_units: dict[int, KeptUnit] = {}
        """What keepers name, by key."""

    def run(self, *, now: bool = False) -> None:
        """`now`: the window counts as full. Raises BudgetImpossible, with the bill, if nothing makes it fit."""
        if not fits(self._head_size(), self.limit):
            raise self._impossible(self._head_size())  # first, since all else depends on the length of the log
        self._pin_required()
        view = self.draft.view
        if self.policy.arrival and view.shared_slots < len(view.slots):
            self._take_edits(self.policy.arrival, self._no_pressure(), only_as_needed=False)
        if self.budget.prices is not None:
            self._lower_limit_where_it_pays(self.budget.prices)
        if now:
            self.soft_limit = replace(self.soft_limit, tokens=min(self.soft_limit.tokens, self._used().tokens))
        if self._is_surely_quiet():
            return
        self._compact()
        if self.asked is not None and not self.asked.waits:
            self._ask_in_advance()

    def _compact(self) -> None:
        """Passes until one proposes nothing. Raises BudgetImpossible."""
        for _ in range(PASSES):
            before = len(self.draft.entries)
            self.one_pass()
            if len(self.draft.entries) == before:
                break
        if not fits(self._used(), self.limit):
            view = self.draft.view
            listed = {view.newest_unit: "newest_turn", view.first_task: "first_task", view.newest_user: "newest_user"}
            kind = ContextStillTooLarge if self.policy.hard or self.policy.pressure else BudgetImpossible
            raise self._impossible(self._used(), listed, kind)

    def recall(self) -> None:
        """Add what the policy recalls for the newest turn, if there is room below the trigger. (Then planning again
        finds nothing to do, law 8.)"""
        recalled = self.due_recall.of(self.draft.view, self._no_pressure)
        # not against the limit that prices have lowered for this one request
        limit = soft_limit(self.budget, self.policy, self.draft.view.calibration)
        if recalled is not None and pressure(self._wanted(), self._fixed_size(), limit) < self.policy.trigger:
            self.draft.add(recalled)

    def one_pass(self) -> None:
        """Gently if there is pressure, hard if the window would not fit."""
        if not self._has_room_below_trigger(self._wanted()):
            self.run_strategies(self.policy.pressure, hard=False)
        if not fits(self._used(), self.limit):
            self.run_strategies(self.policy.hard, hard=True)
        if self.draft.view.first_break is not None:
            self._fold_superseded_notes()

    def run_strategies(self, strategies: Iterable[Strategy], *, hard: bool) -> None:
        """One strategy after the other, until there is room."""
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
        """Ask for what the next compaction will want, while the window is nearly full."""
        soft = self.policy.soft_trigger
        assert self.asked is not None
        if soft is None or pressure(self._used(), self._fixed_size(), self.soft_limit) < soft * self.policy.trigger:
            return
        self._kept_units = self._ask_keepers() if self.draft.view.slots else {}
        for strategy in self.policy.pressure:
            self._ask(strategy, self.asked, self._target(hard=False))

    def _ask(self, strategy: Strategy, asked: SummaryOptions, target: Target) -> None:
        for want in wants_of(strategy, self.draft.view, replace(target, waits_for_wants=asked.waits), self.policy):
            whole = replace(want, focus=asked.focus, notes=asked.notes, waits=asked.waits)
            self.wants.append(whole if self.redact is None else redacted_want(whole, self.redact))

    # ---- measures

    def _lower_limit_where_it_pays(self, prices: Prices) -> None:
        """Where a compaction pays, the window counts as full at its size now; once for each request (law 8)."""
        view, used = self.draft.view, self._used().tokens
        has_new_slots = view.shared_slots < len(view.slots)
        if has_new_slots and used < self.soft_limit.tokens and view.since_break.pays(prices, used):
            self.soft_limit = replace(self.soft_limit, tokens=used)

    def _used(self) -> Size:
        """What the request will take, due notes included."""
        view = self.draft.view
        return view.total.plus(due_size(view, self.state)) if self.state or view.notes else view.total

    def _wanted(self) -> Size:
        """As `_used`, with what is to be recalled. Nothing is taken away at the limit for that, only at the trigger."""
        return self._used().plus(self.due_recall.size(self.draft.view, self._no_pressure))

    def _has_room_below_trigger(self, size: Size) -> bool:
        return pressure(size, self._fixed_size(), self.soft_limit) < self.policy.trigger

    def _is_surely_quiet(self) -> bool:
        """Below the trigger even if nothing were fixed. (What is fixed can only lower a pressure that is below 1.)"""
        soft = self.policy.soft_trigger if self.asked is not None else None
        trigger = min(1.0, self.policy.trigger * (1.0 if soft is None else soft))
        return all(used < trigger * limit for used, limit in zip(self._wanted(), self.soft_limit, strict=True))

    def _required(self) -> tuple[int, ...]:
        return _required(self.draft.view)

    def _head_size(self) -> Size:
        return _head_size(self.draft.view)

    def _fixed_size(self) -> Size:
        return _fixed_size(self.draft.view)

    def _no_pressure(self) -> Target:
        """Arrival strategies run without pressure: they trim an entry because of its own size."""
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
        )

    def _as_full_in_tokens(self, limit: Size, fixed: Size) -> Size:
        """The limits. If messages or bytes fill up first, the token limit is lowered to match.

        Strategies share out tokens: so much for the newest turns, so much for a digest, so much stays free. Where
        another limit is reached first, those shares would be of room that cannot be used, and each later window would
        need another compaction.
        """
        if self.budget.max_messages is None and self.budget.max_bytes is None:
            return limit
        used = self._used()
        fullest = pressure(replace(used, tokens=0, images=0), replace(fixed, tokens=0, images=0), self.limit)
        if fullest < max(self.policy.trigger, MIN_FULLNESS):
            return limit
        tokens = fixed.tokens + int((used.tokens - fixed.tokens) / fullest)
        return replace(limit, tokens=min(limit.tokens, tokens))

    # ---- steps

    def _pin_required(self) -> None:
        """A required unit that somebody's fold hides is pinned out of it."""
        for key in (self.draft.view.first_task, self.draft.view.newest_user):
            if key is not None and not self.draft.view.is_present(key):
                self.draft.propose(Pin(entry=key, why=REQUIRED, implied=True))

    def _ask_keepers(self) -> dict[int, KeptUnit]:
        """The units that keepers name, each by the first that names it."""
        self._kept_units, kept = {}, dict[int, KeptUnit]()
        target = self._target(hard=False)
        for keeper in self.policy.keepers:
            with naming(keeper, self.policy):
                for unit in keeper(self.draft.view, target):
                    kept.setdefault(unit.key, unit)
        return kept

    def _take_edits(self, strategies: Iterable[Strategy], target: Target, *, only_as_needed: bool) -> None:
        """Take the proposed edits that apply; `only_as_needed`: until the target is met."""
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
        """What a strategy proposes. Raises InvalidEdit for what is no edit, and for a strategy that never ends.

        A strategy may propose edits that do not apply, for example one for each part of the window. One that proposes
        more of them than the window has bytes, without making the window smaller, repeats itself.
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
        """Pin what is to stay before a fold hides it; take back stale pins of earlier plans, in the same break."""
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
        """A pin that says why, also in place of an older plan's that says `required`. A pin set by the user is left
        as it is."""
        pins = [pin for seq in unit.pins if isinstance(pin := self.draft.view.fetch(seq).body, Pin)]
        if not all(pin.implied for pin in pins):
            return
        if all(pin.why == REQUIRED != kept.why for pin in pins):
            self.draft.propose(Pin(entry=unit.seqs[0], why=kept.why, implied=True))
            self._unpin(unit)
        self._shorten(unit, kept)

    def _shorten(self, unit: Unit, kept: KeptUnit) -> None:
        if kept.trim is not None and not self.draft.view.user_restored(unit):
            self.draft.propose(kept.trim)

    def _is_rewritten(self, key: int, fold: Fold, staying: Container[int]) -> bool:
        """Whether a unit beside a fold is sent again because of it, or nothing but other units that stay would be sent
        again if it were."""
        view = self.draft.view
        start = min(view.slot_index(fold.first), max(0, view.shared_slots))
        while start > 0 and view.slots[start - 1].first in staying:
            start -= 1
        return view.slot_index(key) >= start

    def _unpin(self, unit: Unit) -> None:
        """Take back the pins that plans have placed."""
        for seq in unit.pins:
            pin = self.draft.view.fetch(seq).body
            if isinstance(pin, Pin) and pin.implied:
                self.draft.propose(Undo(edit=seq, why="compaction"))

    def _fold_superseded_notes(self) -> None:
        """Notes with a newer note of the same key go where the prefix is broken anyway."""
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
        """The bill, in the limit that is exceeded. `listed`: the units that get a line of their own."""
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
    """`share` of the way from what is fixed to the limit."""
    return Size(*(int(a + share * (b - a)) if b > a else b for a, b in zip(low, high, strict=True)))


def _required(view: View) -> tuple[int, ...]:
    return tuple(dict.fromkeys(key for key in (view.first_task, view.newest_user) if key is not None))


def _head_size(view: View) -> Size:
    return view.head_size.plus(Size(view.counter.request))


def _fixed_size(view: View) -> Size:
    """What no compaction can take away: head and required units."""
    size = _head_size(view)
    for key in _required(view):
        if view.is_visible(key):
            size = size.plus(view.unit(key).size)
    return size
