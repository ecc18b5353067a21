"""Decides whether an edit applies to a view. An edit that does not apply is refused at append, and changes no view."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

from msgspec import json as msgjson

from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Entry
from transom.core.log import no_entry
from transom.core.message import Assistant, Other
from transom.core.slot_table import SlotTable
from transom.core.tokens import MESSAGE_BYTES, fact_size, part_bytes, text_bytes
from transom.core.trims import apply_trim, find_part
from transom.core.unit import FoldedSlot, pinned_units_in, without_excerpted


def refusal(table: SlotTable, edit: Edit) -> str | None:
    """Why an edit does not apply, as a sentence; None if it does."""
    if isinstance(edit, Fold):
        return _refuse_fold(table, edit)
    named = edit.edit if isinstance(edit, Undo) else edit.entry
    if not 0 <= named < table.length:
        return no_entry(named, table.length)
    if isinstance(edit, Trim):
        return _refuse_trim(table, edit)
    if isinstance(edit, Pin):
        return None if table.unit_key(edit.entry) >= 0 else _no_unit(edit.entry)
    return None if table.is_live(edit.edit) else f"entry {edit.edit} is no live edit"


def _refuse_fold(table: SlotTable, fold: Fold) -> str | None:
    """Why a fold does not apply; None if it does.

    Its range must be whole slots, before the request in flight and behind the provider's compaction, without an open
    call, and before any call of the provider's own tools that waits. Its text must not be blank, and what it shows must
    have fewer bytes than the range.
    """
    slots, i, j = table.slots, table.slot_index(fold.first), table.slot_index(fold.last)
    if fold.first > fold.last or i < 0 or slots[i].first != fold.first or slots[j].last != fold.last:
        return f"no visible slots from {fold.first} to {fold.last}"
    if not fold.text.strip():
        return "a fold must show a text"
    if table.in_flight is not None and fold.last >= table.in_flight.seq:
        return f"its end {fold.last} is not before the request in flight, {table.in_flight.seq}"
    if table.compaction is not None and fold.first <= table.compaction:
        return f"the provider has compacted what precedes {table.compaction}, and its compaction is never folded"
    if any(fold.first <= key <= fold.last for key in table.open_units):
        return "a unit in it is open"
    if any(fold.last >= key for key in table.waiting.values()):
        return "a tool of the provider is still at work in it"
    compaction = table.compaction_of(fold)
    saving = -(MESSAGE_BYTES + text_bytes(fold.text) if compaction is None else fact_size(compaction, (0,)).bytes)
    for slot in slots[i : j + 1]:
        saving += slot.size.bytes - sum(
            unit.size.bytes for unit in without_excerpted(pinned_units_in(slot), fold.excerpted)
        )
    return None if saving > 0 else f"it would add {-saving} bytes"


def _refuse_trim(table: SlotTable, trim: Trim) -> str | None:
    """Why a trim does not apply; None if it does.

    It must name a part that there is, keep valid spans of it, have the note that the kind of part needs (see
    `Trim.note`), and make it smaller, unless a provider has refused the part. It must not touch the provider's own
    compaction, or reasoning of a turn that is at work.
    """
    entry = table.unit_entry(trim.entry)
    if entry is None:
        return _no_unit(trim.entry)
    found = find_part(entry, trim.part)
    if found is None:
        return f"entry {trim.entry} has no part {trim.part[0]}[{trim.part[1]}]"
    part, _ = found
    kind = trim.part[0]
    if kind == "reasoning" and _is_at_work(table, entry):
        return "this turn is at work: its reasoning stays with its calls"
    if isinstance(cast("object", part), Other) and part.compaction:
        return "the provider's own compaction is never changed"
    if trim.keep and kind != "text":
        return f"only a text keeps spans, not {kind}"
    if not trim.note and kind not in {"text", "reasoning"}:
        return f"{kind} needs a note in its place"
    if not trim.keep and not trim.note.strip() and kind == "text":
        return "nothing would be shown of a text"
    if kind == "args" and not _is_json(trim.note):
        return "the note in place of arguments must be JSON"
    if any(start >= stop for start, stop in trim.keep) or any(b[1] >= a[0] for b, a in pairwise(trim.keep)):
        return "spans must be rising and apart"
    if trim.keep and (trim.keep[0][0] < 0 or trim.keep[-1][1] > len(part.text)):
        return f"spans reach beyond the text of {len(part.text)} characters"
    if trim.refused:
        return None
    form = apply_trim(part, trim)
    return None if form is None or part_bytes(form) < part_bytes(part) else "it would not be shorter"


def _is_at_work(table: SlotTable, entry: Entry) -> bool:
    """Whether an entry is the newest turn, with calls: providers refuse those without their reasoning."""
    for slot in reversed(table.slots):
        if isinstance(slot, FoldedSlot):
            return False
        turn = slot.first_fact
        if isinstance(turn, Assistant):
            return bool(turn.calls) and slot.seqs[0] == entry.seq
    return False


def _no_unit(seq: int) -> str:
    """The sentence that says that an entry is in no unit, without our words."""
    return f"entry {seq} is no message, tool result or note that a window can have"


def _is_json(text: str) -> bool:
    """Whether a text is valid JSON."""
    try:
        msgjson.decode(text)
    except ValueError:
        return False
    return True
