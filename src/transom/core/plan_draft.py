"""A plan while it is being made (`Draft`): its entries so far, and the view as if they were in the log already.

Also what every plan adds, whatever its policy is: notes of state that has changed, and pins that keep units out of
folds. Pins that a person has set stay as they are.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import cast

from msgspec.structs import replace

from transom import texts
from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Body, Entry, Meta
from transom.core.log import PendingLog
from transom.core.message import Fact, Note
from transom.core.policy import KeptUnit
from transom.core.reducer import apply
from transom.core.summary import Summary
from transom.core.tokens import Size, fact_size, sum_sizes
from transom.core.unit import Unit
from transom.core.view import View


class Draft:
    """Collects the entries of one plan (`entries`), and keeps `view` as it would be after them.

    The view that it starts at is not changed. `log`: the log without these entries. `first`: the seq that the first of
    them has. `at`: the time of the entries, in seconds since 1970. `meta`: stored with every fact among them.
    """

    def __init__(self, view: View, at: float, meta: Meta | None = None) -> None:
        self.view, self.at, self.meta = view, at, meta
        self.log, self.first = view.log, view.length
        self.entries: list[Entry] = []

    def copy(self) -> Draft:
        """A draft with the same entries so far. What is added to the copy does not change this one, nor the other way
        round."""
        other = Draft(self.view, self.at, self.meta)
        other.log, other.first, other.entries = self.log, self.first, [*self.entries]
        if other.entries:
            other.view = self.view.with_log(PendingLog(self.log, other.entries))
        return other

    def become(self, tried: Draft) -> None:
        """Take over the entries and the view of `tried`, a copy of this draft on which something was tried. Both have
        the same list of entries then, so `tried` must not be used any more."""
        self.view, self.entries = tried.view, tried.entries

    def add(self, body: Body) -> None:
        """Add an entry, whether it applies or not. An edit or a summary gets the number of this plan (`Entry.plan`); a
        fact gets `meta`."""
        plan = self.first if isinstance(body, (Fold, Trim, Pin, Undo, Summary)) else None
        self._append([self.view.entry(body, self.at, self.meta if isinstance(body, Fact) else None, plan=plan)])

    def add_facts(self, facts: Iterable[Fact]) -> None:
        """Add several facts at once. (Edits are added one by one: each needs the view that the one before it has
        made.)"""
        entries = [self.view.entry(cast("Body", fact), self.at, self.meta) for fact in facts]
        self._append([replace(entry, seq=seq) for seq, entry in enumerate(entries, start=self.view.length)])

    def _append(self, entries: list[Entry]) -> None:
        """Append entries, and apply them to the view."""
        if not self.entries:  # edits of this plan may point at entries of this plan, so the view must find those
            self.view = self.view.with_log(PendingLog(self.log, self.entries))
        self.entries += entries
        self.view = apply(self.view, entries)

    def propose(self, edit: Edit) -> bool:
        """Add an edit if it applies to the view; returns whether it did."""
        if self.view.refusal(edit) is not None:
            return False
        self.add(edit)
        return True


def due_notes(view: View, state: Mapping[str, str]) -> list[Note]:
    """The notes that must be added so that the window shows this state; an empty list if it does.

    There is one for each key of `state` whose newest note is not visible or says something else. And for each key that
    `state` does not have any more, but whose note is visible, there is one that says so.
    """
    if not state and not view.notes:
        return []
    notes: list[Note] = []
    for key, value in state.items():
        text = texts.state_note(key, value)
        newest = view.notes.get(key)
        if newest is None or newest[1] != text or not _is_visible(view, newest[0]):
            notes.append(Note(key=key, text=text))
    for key, (seq, text) in view.notes.items():
        closing = texts.state_removed(key)
        if key not in state and text != closing and _is_visible(view, seq):
            notes.append(Note(key=key, text=closing))
    return notes


def due_size(view: View, state: Mapping[str, str]) -> Size:
    """The size of the due notes (see `due_notes`) as messages."""
    return sum_sizes(fact_size(note, view.counter.count_body(note)) for note in due_notes(view, state))


def visible_note(view: View, key: str) -> str | None:
    """The text of the newest note of a key, as the model reads it: `texts.state_note` has put the key in front of the
    value. None if there is no note, or the window does not show it."""
    newest = view.notes.get(key)
    return newest[1] if newest is not None and _is_visible(view, newest[0]) else None


def _is_visible(view: View, seq: int) -> bool:
    """Whether the window shows the entry with this seq."""
    return view.slot_of(seq) is not None and view.is_visible(view.unit_of[seq])


REQUIRED = "required"
"""The `why` of the pins that keep the first task and the newest user message out of folds."""


def pin_by_hand(view: View, entry: int) -> int | None:
    """The seq of the first pin that a person, and no plan, has set on the unit of this entry. None if there is none, or
    if the entry is in no unit."""
    key = view.unit_key(entry)
    if key < 0:
        return None
    return next((seq for seq in view.unit(key).pins if not _is_implied(view, seq)), None)


def pin_required(draft: Draft) -> None:
    """Pin the first task and the newest user message where a fold, for example one of a caller, hides them and has no
    excerpt of them."""
    for key in draft.view.required:
        if not draft.view.is_present(key):
            draft.propose(Pin(entry=key, why=REQUIRED, implied=True))


def pin_before_fold(draft: Draft, fold: Fold, named: Mapping[int, KeptUnit]) -> None:
    """Add what must precede a fold: pins on the required units and on those that keep rules named (`named`), if the
    fold would hide them; and undos of the pins that earlier plans have set on other units in its range.

    A unit of which the fold has an excerpt gets no pin. Kept units that are not folded, but sent again because of the
    fold, are shortened too: now this costs nothing more in the cache.
    """
    view, excerpted = draft.view, frozenset(fold.excerpted)
    staying = dict.fromkeys((*view.required, *named))
    for key in staying:
        if fold.first <= key <= fold.last and key not in excerpted:
            _pin(draft, view.unit(key), named.get(key) or KeptUnit(key, REQUIRED))
        elif (kept := named.get(key)) is not None and _is_rewritten(draft.view, key, fold, staying):
            _shorten(draft, view.unit(key), kept)
    for unit in tuple(draft.view.visible_units()):
        if fold.first <= unit.key <= fold.last and unit.key not in staying and unit.key not in excerpted:
            _unpin(draft, unit)


def _pin(draft: Draft, unit: Unit, kept: KeptUnit) -> None:
    """Pin a kept unit with its reason, in place of a plan's pin that only says `required`, and shorten it. If the user
    has pinned it, nothing changes."""
    pins = [pin for seq in unit.pins if isinstance(pin := draft.view.fetch(seq).body, Pin)]
    if not all(pin.implied for pin in pins):
        return
    if all(pin.why == REQUIRED != kept.why for pin in pins):
        draft.propose(Pin(entry=unit.seqs[0], why=kept.why, implied=True))
        _unpin(draft, unit)
    _shorten(draft, unit, kept)


def _shorten(draft: Draft, unit: Unit, kept: KeptUnit) -> None:
    """Propose the trim of a kept unit, unless the user has restored the unit."""
    if kept.trim is not None and not draft.view.user_restored(unit):
        draft.propose(kept.trim)


def _is_rewritten(view: View, key: int, fold: Fold, staying: Container[int]) -> bool:
    """Whether a unit is sent again because of the fold, so that shortening it costs nothing more in the cache."""
    start = min(view.slot_index(fold.first), max(0, view.shared_slots))
    while start > 0 and view.slots[start - 1].first in staying:
        start -= 1
    return view.slot_index(key) >= start


def _unpin(draft: Draft, unit: Unit) -> None:
    """Take back the pins on a unit that plans have placed; those of the user stay."""
    for seq in unit.pins:
        if _is_implied(draft.view, seq):
            draft.propose(Undo(edit=seq, why="compaction"))


def _is_implied(view: View, seq: int) -> bool:
    """Whether a plan has placed the pin with this seq."""
    pin = view.fetch(seq).body
    return isinstance(pin, Pin) and pin.implied
