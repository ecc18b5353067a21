"""Why a window is what it is: for every fact of the log, whether it is shown, how, and by which edit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from transom.core.edit import Fold, Pin, Trim
from transom.core.entry import Entry
from transom.core.message import Assistant, Fact, Instruction, Text, ToolResult, said
from transom.core.unit import Folded, Slot, units_in
from transom.core.view import EMPTY, HIDDEN, STRAY, View

State = Literal["kept", "shortened", "folded", "dropped"]

DROPPED = {
    STRAY: "answers no open call: kept in the log, not shown",
    EMPTY: "has neither content nor calls",
    HIDDEN: "asked to be left out of context",
}


class Row(Struct, frozen=True, kw_only=True):
    """One fact: its state, the reason, the entries of the edits behind it, and its tokens whole and as shown."""

    entry: int
    role: str
    state: State
    why: str
    edits: tuple[int, ...]
    tokens: int
    shown: int
    text: str


def explain(view: View) -> list[Row]:
    """A row for each fact of the log, in order. Costs the log, not the window."""
    edits = {seq: _covering(slot) for slot in view.slots for seq in _covered(slot)}
    return [
        _row(view, entry, edits.get(view.unit_of[seq]))
        for seq in range(view.n)
        if isinstance((entry := view.fetch(seq)).body, Fact)
    ]


Covering = tuple[Slot, tuple[int, ...]]


def _covered(slot: Slot) -> Iterator[int]:
    return (unit.key for unit in units_in(slot))


def _covering(slot: Slot) -> Covering:
    return slot, ((slot.seq,) if isinstance(slot, Folded) else ())


def _row(view: View, entry: Entry, covering: Covering | None) -> Row:
    fact = entry.body
    assert isinstance(fact, Fact)
    tokens = sum(entry.tokens)
    state, why, edits, shown = _state(view, entry, covering, tokens)
    return Row(
        entry=entry.seq,
        role=role_of(fact),
        state=state,
        why=why,
        edits=edits,
        tokens=tokens,
        shown=shown,
        text=preview(fact),
    )


def _state(view: View, entry: Entry, covering: Covering | None, tokens: int) -> tuple[State, str, tuple[int, ...], int]:
    if covering is None:
        return "dropped", DROPPED.get(view.unit_of[entry.seq], ""), (), 0
    slot, edits = covering
    unit = view.unit(view.unit_of[entry.seq])
    if isinstance(slot, Folded) and not unit.pins:
        edit = view.fetch(slot.seq).body
        assert isinstance(edit, Fold)
        return "folded", edit.why or "fold", edits, 0
    cuts = [cut for (owner, _), cut in unit.winning().items() if owner == entry.seq]
    pins = [view.fetch(pin).body for pin in unit.pins]
    why = ", ".join(dict.fromkeys(_why(edit) for edit in [*(cut.trim for cut in cuts), *pins]))
    by = (*(cut.seq for cut in cuts), *unit.pins)
    if cuts:
        return "shortened", why, by, view.entry_tokens(unit, entry.seq)[1]
    return "kept", why, by, tokens


def _why(edit: object) -> str:
    if isinstance(edit, Pin):
        return f"pinned: {edit.why}" if edit.why else "pinned"
    return edit.why or "trim" if isinstance(edit, Trim) else ""


def role_of(fact: Fact) -> str:
    """Its role on the wire, or its kind where it is ours."""
    if isinstance(fact, Instruction):
        return fact.role
    return "tool" if isinstance(fact, ToolResult) else type(fact).__name__.lower()


def preview(fact: Fact, length: int = 80) -> str:
    """Its first words, or its calls, on one line."""
    text = said(fact) or " ".join(part.text for part in fact.parts if isinstance(part, Text))
    if isinstance(fact, Assistant) and fact.calls:
        text += " → " + ", ".join(f"{call.name}({call.args[:40]})" for call in fact.calls)
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1] + "…"
