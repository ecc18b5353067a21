"""Why a window is what it is: for every fact of the log, whether it is shown, how, and by which edit."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Literal

from msgspec import Struct

from transom.core.edit import Pin, Trim
from transom.core.entry import Entry
from transom.core.message import Assistant, Fact, Reasoning, Text, ToolResult, addressed_parts, own_text, role_of
from transom.core.pairing import call_labels
from transom.core.unit import Folded, Slot, Unit, units_in
from transom.core.view import EMPTY, HIDDEN, STRAY, View
from transom.core.window import Window

State = Literal["kept", "shortened", "folded", "dropped"]

DROPPED = {
    STRAY: "answers no open call: kept in the log, not shown",
    EMPTY: "has neither content nor calls",
    HIDDEN: "asked to be left out of context",
}
CARRIED = "an excerpt stands in its text"
MADE = "made up, since no result had come when a request was due"
MOVED = "came later, and stands behind its call"
VOIDED = "signed reasoning hidden, since what precedes it has changed"


class Explanation(Struct, frozen=True, kw_only=True):
    """One fact: its state, the reason, the entries of the edits behind it, and its tokens whole and as shown."""

    entry: int
    role: str
    state: State
    why: str
    edits: tuple[int, ...]
    tokens: int
    shown: int
    text: str


def explain(shown: Window | View) -> list[Explanation]:
    """For every fact of the log: kept, shortened, folded or dropped, why, and its tokens before and after.

    A row for each fact, in order. Costs the log, not the window.
    """
    view = shown.view if isinstance(shown, Window) else shown
    places = {unit.key: (slot, unit) for slot in view.slots for unit in units_in(slot)}
    visible = {unit.key for unit in view.visible_units()}
    return [
        _row(view, entry, places.get(view.unit_of[seq]), visible)
        for seq in range(view.length)
        if isinstance((entry := view.fetch(seq)).body, Fact)
    ]


Place = tuple[Slot, Unit]
"""A unit, and the visible slot that stands for it."""


def _row(view: View, entry: Entry, place: Place | None, shown: AbstractSet[int]) -> Explanation:
    fact = entry.body
    assert isinstance(fact, Fact)
    named = 0 if place is None else _named(view, entry, place[1])
    if place is None:
        state, why, edits, tokens = "dropped", DROPPED.get(view.unit_of[entry.seq], ""), (), 0
    elif isinstance(place[0], Folded) and place[1].key not in shown:
        state, why, edits, tokens = "folded", _covered(place[0], place[1].key), (place[0].seq,), 0
    else:
        state, why, edits, tokens = _visible(view, entry, place[1])
    return Explanation(
        entry=entry.seq,
        role=role_of(fact),
        state=state,
        why=why,
        edits=edits,
        tokens=sum(entry.tokens) + named,
        shown=tokens and tokens + named,
        text=preview(fact),
    )


def _covered(fold: Folded, key: int) -> str:
    why = fold.why or "fold"
    return f"{why}, {CARRIED}" if key in fold.carries else why


def _visible(view: View, entry: Entry, unit: Unit) -> tuple[State, str, tuple[int, ...], int]:
    """An entry of a unit that shows: what its cuts and a changed prefix leave of it."""
    cuts = [cut for (owner, _), cut in unit.effective_trims().items() if owner == entry.seq]
    pins = [view.fetch(pin).body for pin in unit.pins]
    void = _void(entry, unit)
    reasons = [*(_why(cut.trim) for cut in cuts), *([VOIDED] if void else []), *map(_why, pins)]
    reasons += _repairs(view, entry, unit)
    by = (*(cut.seq for cut in cuts), *unit.pins)
    tokens = (view.entry_tokens(unit, entry.seq)[1] if cuts else sum(entry.tokens)) - void
    return ("shortened" if cuts or void else "kept"), ", ".join(dict.fromkeys(reasons)), by, tokens


def _repairs(view: View, entry: Entry, unit: Unit) -> list[str]:
    """What was put right so that the request is valid."""
    fact = entry.body
    if isinstance(fact, Assistant):
        names = call_labels(fact.calls, unit.key)
        new = [name for name, call in zip(names, fact.calls, strict=True) if name != call.id and not call.legacy]
        return [f"calls without an id of their own named {', '.join(new)}"] if new else []
    if not isinstance(fact, ToolResult):
        return []
    before = unit.seqs[unit.seqs.index(entry.seq) - 1]
    between = {view.unit_of[at] for at in range(before + 1, entry.seq)}
    moved = any(key >= 0 and key != unit.key for key in between)
    return [*([MADE] if fact.synthetic else []), *([MOVED] if moved and not fact.synthetic else [])]


def _named(view: View, entry: Entry, unit: Unit) -> int:
    """What new names for a turn's calls add to it and to their answers, told of the turn."""
    if entry.seq != unit.seqs[0]:
        return 0
    return unit.untrimmed_size.tokens - sum(sum(each.tokens) for each in view.entries_of(unit))


def _void(entry: Entry, unit: Unit) -> int:
    """Tokens of bound reasoning that is hidden since its prefix has changed, and that no trim has taken."""
    if not unit.signature_stale or not isinstance(entry.body, Assistant):
        return 0
    cut = unit.effective_trims()
    return sum(
        entry.tokens[position]
        for position, (address, part) in enumerate(addressed_parts(entry.body), start=1)
        if isinstance(part, Reasoning) and part.bound and (entry.seq, address) not in cut
    )


def _why(edit: object) -> str:
    if isinstance(edit, Pin):
        return f"pinned: {edit.why}" if edit.why else "pinned"
    return edit.why or "trim" if isinstance(edit, Trim) else ""


def preview(fact: Fact, length: int = 80) -> str:
    """Its first words, or its calls, on one line."""
    text = own_text(fact) or " ".join(part.text for part in fact.parts if isinstance(part, Text))
    if isinstance(fact, Assistant) and fact.calls:
        text += " → " + ", ".join(f"{call.name}({call.args[:40]})" for call in fact.calls)
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1] + "…"
