"""Why a window is what it is: for every fact of the log, whether the window shows it, how, and by which edits."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Set as AbstractSet
from typing import Literal

from msgspec import Struct

from transom.core.edit import Pin, Trim
from transom.core.entry import Entry
from transom.core.message import (
    Assistant,
    Fact,
    Reasoning,
    Recalled,
    Text,
    ToolResult,
    addressed_parts,
    own_text,
    role_of,
)
from transom.core.pairing import call_labels
from transom.core.trims import effective_trims, trims_of_entry
from transom.core.unit import Folded, Slot, Unit, units_in
from transom.core.view import EMPTY, HIDDEN, STRAY, View
from transom.core.window import Window
from transom.measure.quote_reasons import QuoteReason, RecordShare, record_shares

NOTHING = RecordShare()
State = Literal["kept", "shortened", "folded", "dropped"]

DROPPED = {
    STRAY: "answers no open call: kept in the log, not shown",
    EMPTY: "has neither content nor calls",
    HIDDEN: "asked to be left out of context",
}
CARRIED = "quoted in its text"
SYNTHETIC = "made up, since no result had come when a request was due"
MOVED = "came later, and was moved to its call"
HIDDEN_REASONING = "signed reasoning hidden, since what precedes it has changed"


class Explanation(Struct, frozen=True, kw_only=True):
    """What became of one fact.

    `state`: it is whole ("kept"), trimmed ("shortened"), hidden by a fold ("folded"), or in no window ("dropped").
    `why`: the reasons of the edits behind that. `edits` are the entries of these edits, and `plans` names the plan of
    each: edits of one plan have the same number; None is a person's edit. `tokens` are those of the whole fact,
    `shown_tokens` those that it has in the window. `text` begins as the fact does.

    Of a folded turn, if a record has it: `lines` are its lines in the record (a line that several turns share is given
    for each), at the entry that the turn begins with. `quotes` are the quotes of the entry, and why each was chosen:
    the names and words that are nowhere else in the window.
    """

    entry: int
    role: str
    state: State
    why: str
    edits: tuple[int, ...]
    plans: tuple[int | None, ...]
    tokens: int
    shown_tokens: int
    text: str
    lines: tuple[str, ...] = ()
    quotes: tuple[QuoteReason, ...] = ()


def explain(shown: Window | View) -> list[Explanation]:
    """For every fact of the log: kept, shortened, folded or dropped, why, and its tokens before and after.

    One explanation for each fact, in order. It reads the whole log.
    """
    view = shown.view if isinstance(shown, Window) else shown
    places = {unit.key: (slot, unit) for slot in view.slots for unit in units_in(slot)}
    visible = {unit.key for unit in view.visible_units()}
    shares, recalled = record_shares(view), _recalled(view)
    return [
        _explanation(
            view, entry, places.get(view.unit_of[seq]), visible, shares.get(seq, NOTHING), recalled.get(seq, "")
        )
        for seq in range(view.length)
        if isinstance((entry := view.fetch(seq)).body, Fact)
    ]


Place = tuple[Slot, Unit]
"""The slot that has a unit, and the unit."""


def _recalled(view: View) -> dict[int, str]:
    """Of each entry that recalled text in the window quotes, where that is."""
    facts = ((unit.seqs[0], unit.head) for unit in view.visible_units())
    return {ref: f"recalled in entry {seq}" for seq, fact in facts if isinstance(fact, Recalled) for ref in fact.refs}


def _explanation(
    view: View, entry: Entry, place: Place | None, shown: AbstractSet[int], record: RecordShare, recalled: str
) -> Explanation:
    fact = entry.body
    assert isinstance(fact, Fact)
    labels = 0 if place is None else _label_tokens(view, entry, place[1])
    if place is None:
        state, why, edits, tokens = "dropped", DROPPED.get(view.unit_of[entry.seq], ""), (), 0
    elif isinstance(place[0], Folded) and place[1].key not in shown:
        state, why, edits, tokens = "folded", _covered(place[0], place[1].key), (place[0].seq,), 0
        why = f"{why}, {recalled}" if recalled else why
    else:
        state, why, edits, tokens = _visible(view, entry, place[1])
    return Explanation(
        entry=entry.seq,
        role=role_of(fact),
        state=state,
        why=why,
        edits=edits,
        plans=tuple(view.fetch(edit).plan for edit in edits),
        tokens=sum(entry.tokens) + labels,
        shown_tokens=tokens and tokens + labels,
        text=preview(fact),
        lines=record.lines if state == "folded" else (),
        quotes=record.quotes if state == "folded" else (),
    )


def _covered(fold: Folded, key: int) -> str:
    why = fold.why or "fold"
    return f"{why}, {CARRIED}" if key in fold.carries else why


def _visible(view: View, entry: Entry, unit: Unit) -> tuple[State, str, tuple[int, ...], int]:
    """An entry of a visible unit: what its trims and a changed prefix leave of it."""
    trims = effective_trims(trims_of_entry(unit.trims, entry.seq)).values()
    pins = [view.fetch(pin).body for pin in unit.pins]
    hidden = _hidden_reasoning(entry, unit)
    reasons = [*(_why(trim.trim) for trim in trims), *([HIDDEN_REASONING] if hidden else []), *map(_why, pins)]
    reasons += _repairs(view, entry, unit)
    if isinstance(entry.body, Recalled) and entry.body.why:
        reasons.append(entry.body.why)
    edits = (*(trim.seq for trim in trims), *unit.pins)
    tokens = (view.entry_tokens(unit, entry.seq)[1] if trims else sum(entry.tokens)) - hidden
    return ("shortened" if trims or hidden else "kept"), ", ".join(dict.fromkeys(reasons)), edits, tokens


def _repairs(view: View, entry: Entry, unit: Unit) -> list[str]:
    """What was repaired so that the request is valid."""
    fact = entry.body
    if isinstance(fact, Assistant):
        names = call_labels(fact.calls, unit.key)
        new = [name for name, call in zip(names, fact.calls, strict=True) if name != call.id and not call.legacy]
        return [f"calls without an id of their own named {', '.join(new)}"] if new else []
    if not isinstance(fact, ToolResult):
        return []
    before = unit.seqs[bisect_left(unit.seqs, entry.seq) - 1]
    between = {view.unit_of[at] for at in range(before + 1, entry.seq)}
    moved = any(key >= 0 and key != unit.key for key in between)
    return [*([SYNTHETIC] if fact.synthetic else []), *([MOVED] if moved and not fact.synthetic else [])]


def _label_tokens(view: View, entry: Entry, unit: Unit) -> int:
    """Tokens that new ids for a turn's calls add to it and to their results; they count for the turn."""
    if entry.seq != unit.seqs[0]:
        return 0
    return unit.untrimmed_size.tokens - sum(sum(each.tokens) for each in view.entries_of(unit))


def _hidden_reasoning(entry: Entry, unit: Unit) -> int:
    """Tokens of signed reasoning that is hidden because its prefix has changed, without what is trimmed anyway."""
    if not unit.signature_stale or not isinstance(entry.body, Assistant):
        return 0
    trimmed = unit.effective_trims()
    return sum(
        entry.tokens[position]
        for position, (address, part) in enumerate(addressed_parts(entry.body), start=1)
        if isinstance(part, Reasoning) and part.bound and (entry.seq, address) not in trimmed
    )


def _why(edit: object) -> str:
    if isinstance(edit, Pin):
        return f"pinned: {edit.why}" if edit.why else "pinned"
    return edit.why or "trim" if isinstance(edit, Trim) else ""


def preview(fact: Fact, length: int = 80) -> str:
    """The beginning of its text, and its calls, on one line."""
    text = own_text(fact) or " ".join(part.text for part in fact.parts if isinstance(part, Text))
    if isinstance(fact, Assistant) and fact.calls:
        text += " → " + ", ".join(f"{call.name}({call.args[:40]})" for call in fact.calls)
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1] + "…"
