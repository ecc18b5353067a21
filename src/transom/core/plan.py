"""The plan: the entries that must be appended before the next request may leave. Pure; one atomic append.

In this order, because each step may need room that a later one makes: an abandoned request is closed, open calls are
closed, late results said, the head renewed, the model's last word followed by a nudge where its API wants one, new
entries clipped while that is free; then, if the fullest room has passed the trigger, one deep cut; if the window would
still not fit, the hard ladder; then the words of the frame that are due; and `Sent` last. Planning again after a plan
gives only `Sent`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import ceil
from operator import attrgetter
from typing import Generic

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core.budget import Budget, fits, pressure
from transom.core.derived import Derived
from transom.core.edit import Edit, Fold, Pin, Undo
from transom.core.entry import Body, Entry, Sent
from transom.core.frame import Frame
from transom.core.log import PendingLog
from transom.core.message import Assistant, Failure, Head, Note, Text, ToolResult
from transom.core.policy import NO_LIMITS, KeptUnit, Policy, Strategy, Target
from transom.core.prices import Prices
from transom.core.reducer import apply
from transom.core.tokens import ZERO, Size, fact_size
from transom.core.unit import Unit, call_labels
from transom.core.view import View
from transom.core.window import W, assemble
from transom.errors import BudgetImpossible

Ref = Callable[[int], str]

ROUNDS = 16
"""A plan goes on until a round proposes nothing, so that planning again has nothing to do (law 8). A fold may cover a
word of the frame, which is then due again and needs room; every round shrinks what shows, and this is only a bound."""

REQUIRED = "required"
"""Why the first task and the newest user message are pinned out of folds."""

_NOBODY: Mapping[int | None, str] = {}


def entry_ref(seq: int) -> str:
    """How a marker names an entry of a log."""
    return f"entry {seq}"


class Plan(Struct, Generic[W], frozen=True, eq=False):
    """`entries` to append in one go, the window they make, and the view `before` the last of them, its `Sent`."""

    entries: tuple[Entry, ...]
    window: W
    before: View


def plan(
    view: View,
    frame: Frame,
    budget: Budget,
    policy: Policy,
    *,
    at: float,
    kind: type[W],
    ref: Ref = entry_ref,
    derived: Derived | None = None,
) -> Plan[W]:
    """What to append so that the next request may leave. Raises BudgetImpossible, with the bill, if nothing fits."""
    draft = _Draft(view, at)
    if view.in_flight is not None:
        draft.add(Failure(failure="abandoned", answers=view.in_flight.seq))
    if view.open_units:
        _close_calls(draft)
    if view.late_results:
        _say_late(draft, budget, ref)
    _renew_head(draft, frame.head)
    if nudge := _nudge(draft.view, frame):
        draft.add(Note(key="", text=nudge))
    _Cutter(draft, frame, budget, policy, ref, derived or Derived()).run()
    for note in _due(draft.view, frame.state):
        draft.add(note)
    return draft.finish(budget, kind)


def settled(view: View, frame: Frame, budget: Budget) -> bool:
    """Whether a window of this view could leave as it is: nothing to be said or renewed, and within the limits."""
    if _nudge(view, frame):
        return False
    return view.head == frame.head and not _due(view, frame.state) and fits(view.total, budget.limits(view.calibration))


def _nudge(view: View, frame: Frame) -> str:
    """What must be said behind the model's own words, if the window would end with these."""
    if frame.required_user_turn is None or not view.slots:
        return ""
    last = view.slots[-1]
    unit = last if isinstance(last, Unit) else last.surfaced_units[-1] if last.surfaced_units else None
    if unit is None or unit.answered_calls:
        return ""
    turn = unit.shown_facts()[0]
    if isinstance(turn, Failure) and turn.shown:
        turn = Assistant(parts=(Text(turn.shown),))
    return frame.required_user_turn(turn) if isinstance(turn, Assistant) and not turn.calls else ""


class _Draft:
    """Entries to come, and the view as if they were in the log. The caller's view is a value and stays as it is."""

    def __init__(self, view: View, at: float) -> None:
        self.view, self.at = view, at
        self.log = view.log
        self.entries: list[Entry] = []

    def add(self, body: Body) -> None:
        if not self.entries:  # edits of this plan may point at entries of this plan
            self.view = self.view.with_log(PendingLog(self.log, self.entries))
        entry = self.view.entry(body, self.at)
        self.entries.append(entry)
        self.view = apply(self.view, (entry,))

    def propose(self, edit: Edit) -> bool:
        """Add an edit if it applies; inert ones are not worth an entry."""
        if self.view.refusal(edit) is not None:
            return False
        self.add(edit)
        return True

    def finish(self, budget: Budget, kind: type[W]) -> Plan[W]:
        window = assemble(self.view, budget.usable, kind)
        broke, total = window.breaks, self.view.total
        sent = Sent(
            digest=window.digest,
            limit=window.limit,
            tokens=total.tokens,
            messages=total.messages,
            shared_tokens=window.shared_tokens,
            breaks=None if broke is None else (broke.slot, broke.entry, broke.why),
        )
        entry = Entry(seq=self.view.length, at=self.at, body=sent)
        before = self.view.with_log(self.log) if self.entries else self.view
        return Plan((*self.entries, entry), window, before)


def _close_calls(draft: _Draft) -> None:
    """Rule 3: no call leaves open. The tool may have run; nothing claims that it did not."""
    for key in tuple(draft.view.open_units):
        unit = draft.view.open_unit(key)
        turn = unit.head
        assert isinstance(turn, Assistant)
        names = call_labels(turn.calls, key)
        for index in unit.open_calls:
            call = turn.calls[index]
            draft.add(
                ToolResult(
                    call=names[index],
                    place=(key, index),
                    synthetic=True,
                    legacy=call.legacy,
                    parts=(Text(texts.ABORTED),),
                    extra={"name": call.name} if call.legacy else None,
                )
            )


def _say_late(draft: _Draft, budget: Budget, ref: Ref) -> None:
    """A real answer that lost to a made one is said, so that the model learns what it was."""
    cap = budget.share(20_000, 1.0)  # characters: about a quarter of the window, and the log has the whole
    for seq, (key, index) in draft.view.late_results:
        fact = draft.view.fetch(seq).body
        turn = draft.view.entries_of(draft.view.unit(key))[0].body
        assert isinstance(fact, ToolResult)
        assert isinstance(turn, Assistant)
        text = "\n".join(part.text for part in fact.parts if isinstance(part, Text))
        if len(text) > cap:
            text = text[: cap // 2] + texts.bare(ref(seq)) + text[-cap // 2 :]
        draft.add(Note(key="", text=texts.late(ref(seq), turn.calls[index].name, text), refs=(seq,)))


def _renew_head(draft: _Draft, head: Head) -> None:
    now = draft.view.head_entry
    if now is None and not head.messages and not head.tools:
        return
    if now is None or (now.body is not head and now.body != head):
        draft.add(head)


def _due(view: View, says: Mapping[str, str]) -> list[Note]:
    """Rule 5: a word is due if its last visible saying differs from what is wanted; a word taken back is unsaid."""
    if not says and not view.notes:
        return []
    notes: list[Note] = []
    for key, word in says.items():
        text = texts.state(key, word)
        said = view.notes.get(key)
        if said is None or said[1] != text or not _shows(view, said[0]):
            notes.append(Note(key=key, text=text))
    for key, (seq, text) in view.notes.items():
        closing = texts.unsaid(key)
        if key not in says and text != closing and _shows(view, seq):
            notes.append(Note(key=key, text=closing))
    return notes


def _shows(view: View, seq: int) -> bool:
    return view.slot_of(seq) is not None and view.is_visible(view.unit_of[seq])


class _Cutter:
    """Brings a draft within its limits, as gently as it can."""

    def __init__(self, draft: _Draft, frame: Frame, budget: Budget, policy: Policy, ref: Ref, derived: Derived) -> None:
        self.draft, self.says, self.budget, self.policy, self.ref = draft, frame.state, budget, policy, ref
        self.derived = derived
        self.limit = budget.limits(draft.view.calibration)
        own = policy.own_limits.limits(draft.view.calibration) if policy.own_limits is not NO_LIMITS else None
        self.soft = self.limit if own is None else Size(*map(min, self.limit, own))
        self._kept: dict[int, KeptUnit] = {}  # by key: what keepers want

    def run(self) -> None:
        self._surface()
        view = self.draft.view
        if self.policy.arrival and view.shared_slots < len(view.slots):
            self._ask(self.policy.arrival, self._free(), stop=False)
        if self.budget.prices is not None:
            self._cut_early(self.budget.prices)
        if self._quiet():
            return
        if not fits(self._head(), self.limit):
            raise self._impossible(self._head())  # before what was sent is cut: no cut can help
        for _ in range(ROUNDS):
            before = len(self.draft.entries)
            self._relieve()
            if len(self.draft.entries) == before:
                break
        if not fits(self._used(), self.limit):
            view = self.draft.view
            shown = {view.newest_unit: "newest_turn", view.first_task: "first_task", view.newest_user: "newest_user"}
            raise self._impossible(self._used(), shown)

    def _cut_early(self, prices: Prices) -> None:
        """Where a cut pays, the window as it is counts as full; once for each request (law 8)."""
        view, used = self.draft.view, self._used().tokens
        new = view.shared_slots < len(view.slots)
        if new and used < self.soft.tokens and view.since_break.pays(prices, used):
            self.soft = replace(self.soft, tokens=used)

    def _relieve(self) -> None:
        """One round: gently if there is pressure, hard if it would not fit."""
        if pressure(self._used(), self._fixed(), self.soft) >= self.policy.trigger:
            self._press(self.policy.pressure, hard=False)
        if not fits(self._used(), self.limit):
            self._press(self.policy.hard, hard=True)
        if self.draft.view.first_break is not None:
            self._fold_superseded()

    # ---- measures

    def _words(self) -> Size:
        """What must still be said before this request."""
        size = ZERO
        for note in _due(self.draft.view, self.says):
            size = size.plus(fact_size(note, self.draft.view.counter.count_body(note)))
        return size

    def _used(self) -> Size:
        total = self.draft.view.total
        return total.plus(self._words()) if self.says or self.draft.view.notes else total

    def _quiet(self) -> bool:
        """Surely below the trigger: what is fixed can only bring the pressure down while it is below 1."""
        trigger = min(1.0, self.policy.trigger)
        a, b = self._used(), self.soft
        few = a.images < trigger * b.images and a.messages < trigger * b.messages
        return few and a.tokens < trigger * b.tokens and a.bytes < trigger * b.bytes

    def _required(self) -> tuple[int, ...]:
        view = self.draft.view
        return tuple(dict.fromkeys(key for key in (view.first_task, view.newest_user) if key is not None))

    def _head(self) -> Size:
        return self.draft.view.head_size.plus(Size(self.draft.view.counter.request))

    def _fixed(self) -> Size:
        view, size = self.draft.view, self._head()
        for key in self._required():
            if view.is_visible(key):
                size = size.plus(view.unit(key).size)
        return size

    def _free(self) -> Target:
        """On arrival nothing is short: what is cut is cut for what it is."""
        view, limit = self.draft.view, self.limit
        return Target(limit, limit, limit, ZERO, self.budget, view.counter, self.ref, derived=self.derived)

    def _target(self, *, hard: bool) -> Target:
        head, words, share = self._head(), self._words(), self.policy.target
        limit = self.limit if hard else self.soft
        return Target(
            goal=limit.minus(words) if hard else _between(self._fixed(), limit, share).minus(words),
            deep_goal=_between(head, self.limit, share).minus(words),
            limit=limit,
            fixed_size=self._fixed(),
            budget=self.budget,
            counter=self.draft.view.counter,
            reference=self.ref,
            required=self._required(),
            protected=frozenset((*self._required(), *self._kept)),
            newest_unit=self.draft.view.newest_unit,
            hard=hard,
            due_notes=words,
            derived=self.derived,
        )

    # ---- steps

    def _surface(self) -> None:
        """A required unit that somebody's fold hides is pinned out of it."""
        for key in (self.draft.view.first_task, self.draft.view.newest_user):
            if key is not None and not self.draft.view.is_present(key):
                self.draft.propose(Pin(entry=key, why=REQUIRED, implied=True))

    def _press(self, strategies: Iterable[Strategy], *, hard: bool) -> None:
        """Strategy by strategy until there is room."""
        self._kept = {} if hard or not self.draft.view.slots else self._wanted()
        for strategy in strategies:
            target = self._target(hard=hard)
            if target.is_met(self.draft.view) or not self.draft.view.slots:
                return
            self._ask((strategy,), target, stop=True)

    def _wanted(self) -> dict[int, KeptUnit]:
        """What keepers name, by the first that names it."""
        self._kept, wanted = {}, dict[int, KeptUnit]()
        target = self._target(hard=False)
        for keeper in self.policy.keepers:
            for kept in keeper(self.draft.view, target):
                wanted.setdefault(kept.key, kept)
        return wanted

    def _ask(self, strategies: Iterable[Strategy], target: Target, *, stop: bool) -> None:
        """Take what applies; `stop`: no more than is needed."""
        for strategy in strategies:
            for edit in strategy(self.draft.view, target):
                if isinstance(edit, Fold) and self.draft.view.refusal(edit) is None:
                    self._spare(edit)
                self.draft.propose(edit)
                if stop and target.is_met(self.draft.view):
                    return

    def _spare(self, edit: Fold) -> None:
        """Before a fold goes past them: what stays gets a pin, stale pins of earlier plans go, in the same break."""
        view, staying = self.draft.view, dict.fromkeys((*self._required(), *self._kept))
        for key in staying:
            if edit.first <= key <= edit.last and key not in edit.carries:
                self._keep(view.unit(key), self._kept.get(key) or KeptUnit(key, REQUIRED))
        for unit in tuple(self.draft.view.visible_units()):
            if edit.first <= unit.key <= edit.last and unit.key not in staying and unit.key not in edit.carries:
                self._unpin(unit)

    def _keep(self, unit: Unit, kept: KeptUnit) -> None:
        """A pin that says why, also where it was required at an older cut; one that a person set is left as it is."""
        pins = [pin for seq in unit.pins if isinstance(pin := self.draft.view.fetch(seq).body, Pin)]
        if not all(pin.implied for pin in pins):
            return
        if all(pin.why == REQUIRED != kept.why for pin in pins):
            self.draft.propose(Pin(entry=unit.seqs[0], why=kept.why, implied=True))
            self._unpin(unit)
        if kept.trim is not None and not self.draft.view.user_restored(unit):
            self.draft.propose(kept.trim)

    def _unpin(self, unit: Unit) -> None:
        """Take back the pins that plans have placed."""
        for seq in unit.pins:
            pin = self.draft.view.fetch(seq).body
            if isinstance(pin, Pin) and pin.implied:
                self.draft.propose(Undo(edit=seq, why="compaction"))

    def _fold_superseded(self) -> None:
        """Words said again later go, where the prefix is broken anyway."""
        view = self.draft.view
        for slot in view.slots[max(0, view.shared_slots) :]:
            note = slot.head if isinstance(slot, Unit) else None
            if (
                isinstance(note, Note)
                and note.key
                and view.notes[note.key][0] != slot.first
                and not view.user_restored(slot)
            ):
                text = texts.superseded(self.ref(slot.first))
                self.draft.propose(Fold(first=slot.first, last=slot.last, text=text, why="superseded"))

    def _impossible(self, used: Size, shown: Mapping[int | None, str] = _NOBODY) -> BudgetImpossible:
        """The bill for what does not fit, in the limit that it exceeds; `shown` names the units to be listed."""
        view = self.draft.view
        which = next(name for name in Size.__struct_fields__ if getattr(used, name) > getattr(self.limit, name))
        scale, of = view.calibration if which == "tokens" else 1.0, attrgetter(which)
        bill = {"head": of(self._head())}
        if which == "tokens" and view.head_entry is not None:
            bill["tools"] = view.counter.count_tools(view.head.tools)
            bill["head"] -= bill["tools"]
        if shown:
            bill["notes"] = of(self._words())
        for key, name in shown.items():
            if key is not None and key >= 0 and view.is_visible(key):
                bill[name] = of(view.unit(key).size)
        bill["other"] = of(used) - sum(bill.values())
        scaled = {name: round(value * scale) for name, value in bill.items() if value}
        limit = self.budget.usable if which == "tokens" else of(self.limit)
        return BudgetImpossible({"need": ceil(of(used) * scale), "limit": limit, **scaled}, which)


def _between(low: Size, high: Size, share: float) -> Size:
    """`share` of the way from what is fixed to the limit."""
    return Size(*(int(a + share * (b - a)) if b > a else b for a, b in zip(low, high, strict=True)))
