"""Applies folds, trims, pins and undos to the view that is being built. For facts and traces see `reducer`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.edit_refusal import refusal
from transom.core.entry import Entry
from transom.core.folded_slot import Path, make_folded, replace_in_folds
from transom.core.message import ToolResult
from transom.core.persistent import appended, vector
from transom.core.summary import Summary
from transom.core.tokens import part_bytes
from transom.core.trims import AppliedTrim, Place, apply_trim, effective_trim, find_part, with_trim, without_trim
from transom.core.unit import Slot, Unit, with_media_message, with_trims
from transom.core.view_builder import ViewBuilder, with_range


def apply_edit(builder: ViewBuilder, entry: Entry) -> None:
    """Apply the edit that this entry holds to the view that is being built: `builder` is changed in place. The entry
    must hold an edit. If the edit does not apply (see `refusal`), nothing changes and nothing is raised."""
    edit = entry.body
    assert isinstance(edit, (Fold, Trim, Pin, Undo))
    if builder.signatures_unchecked and isinstance(edit, Fold):
        # Whether a fold applies depends on what it saves, and that on which reasoning shows. So this must be settled
        # now, or the view would depend on how many entries are applied at once.
        builder.recheck_signatures()
    if refusal(builder, edit) is not None:
        return
    if isinstance(edit, Undo):
        _undo(builder, entry, edit)
        return
    if isinstance(edit, Fold):
        _fold(builder, entry, edit)
    elif isinstance(edit, Trim):
        _trim(builder, entry, edit)
    else:
        _pin(builder, entry, edit)
    builder.live_edits = builder.live_edits.plus((entry.seq,))


def _fold(builder: ViewBuilder, entry: Entry, fold: Fold) -> None:
    """Put one `FoldedSlot` in the place of the slots from `first` to `last`."""
    first, last = builder.slot_index(fold.first), builder.slot_index(fold.last)
    folded = make_folded(entry, builder.slots[first : last + 1], fold, builder.compaction_unit(entry, fold))
    builder.splice(first, last, [folded], entry, fold.why or "fold")


def _trim(builder: ViewBuilder, entry: Entry, trim: Trim) -> None:
    """Add the trim to its unit. It is stored with the tokens and bytes of the part as the trim shows it."""
    trimmed = builder.unit_entry(trim.entry)
    assert trimmed is not None
    found = find_part(trimmed, trim.part)
    assert found is not None
    form = apply_trim(found[0], trim)
    applied = AppliedTrim(
        seq=entry.seq,
        trim=trim,
        tokens=entry.tokens[0] if entry.tokens else 0,
        bytes=0 if form is None else part_bytes(form),
    )

    _change_unit(
        builder,
        entry,
        trim.entry,
        lambda unit: _with_trims(builder, unit, with_trim(unit.trims, applied), applied.place, trimmed),
        why=trim.why or "trim",
        place=applied.place,
        trimmed=found[0],
    )


def _with_trims(builder: ViewBuilder, unit: Unit, trims: tuple[AppliedTrim, ...], place: Place, entry: Entry) -> Unit:
    """A copy of the unit with other trims at one place, a part of `entry`, and with its messages counted again
    (`with_media_message`)."""
    changed = with_trims(unit, trims, place, entry)
    is_media = isinstance(entry.body, ToolResult) and place[1][0] in ("image", "file")
    return with_media_message(changed, builder.entries_of(unit), builder.counter) if is_media else changed


def _pin(builder: ViewBuilder, entry: Entry, pin: Pin) -> None:
    """Add the pin to its unit."""
    why = pin.why or "pin"
    _change_unit(builder, entry, pin.entry, lambda unit: replace(unit, pins=appended(unit.pins, entry.seq)), why=why)


def _undo(builder: ViewBuilder, entry: Entry, undo: Undo) -> None:
    """Take back the edit, or the summary, that the undo names."""
    undone = builder.fetch(undo.edit)
    edit, seq, why = undone.body, undone.seq, undo.why or "undo"
    if isinstance(edit, Summary):
        builder.summaries = builder.summaries.without(seq)
        return
    if isinstance(edit, Pin):
        _change_unit(
            builder,
            entry,
            edit.entry,
            lambda unit: replace(unit, pins=vector(other for other in unit.pins if other != seq)),
            why=why,
        )
    elif isinstance(edit, Trim):
        _undo_trim(builder, entry, edit, seq, why)
    else:
        assert isinstance(edit, Fold)
        _undo_fold(builder, entry, edit, seq, why)
    at = builder.live_edits.index_of(seq)
    assert at is not None, "only a live edit is undone"
    builder.live_edits = builder.live_edits.without(at)


def _undo_trim(builder: ViewBuilder, entry: Entry, trim: Trim, seq: int, why: str) -> None:
    """Remove a trim from its unit. The unit remembers it in `undone_trims`, so that plans leave the unit alone while
    the window fits (see `View.user_restored`)."""
    trimmed = builder.unit_entry(trim.entry)
    assert trimmed is not None
    place: Place = (trim.entry, trim.part)

    def change(unit: Unit) -> Unit:
        less = _with_trims(builder, unit, without_trim(unit.trims, place, seq), place, trimmed)
        return replace(less, undone_trims=appended(unit.undone_trims, (place, seq)))

    _change_unit(builder, entry, trim.entry, change, why=why, place=place)


def _undo_fold(builder: ViewBuilder, entry: Entry, fold: Fold, seq: int, why: str) -> None:
    """Put the children of a `FoldedSlot` back in its place, or under the fold that hides it. Its range is restored
    then."""
    found = builder.path_to_fold(seq, fold)
    assert found is not None, "a live fold has a place"
    *path, (folded, _) = found
    at = builder.slot_index(fold.first)
    if path:  # hidden by another fold, and so are its children; what is pinned in it was visible all along
        builder.replace_slot(at, replace_in_folds(path, folded, folded.children))
    else:
        builder.splice(at, at, [_load(builder, child) for child in folded.children], entry, why)
    builder.restored = with_range(builder.restored, fold.first, fold.last)


def _change_unit(
    builder: ViewBuilder,
    entry: Entry,
    edited: int,
    change: Callable[[Unit], Unit],
    *,
    why: str,
    place: Place | None = None,
    trimmed: object = None,
) -> None:
    """Replace the unit of the entry `edited` by `change(unit)`, in the window or under folds. If the window shows a
    difference, the prefix breaks there, because of `entry` and `why`.

    `place`: the part that a trim, or the undo of a trim, changes. `trimmed`: that part itself, for a new trim only.
    """
    key = builder.key_of(edited)
    path, old = builder.path_to(key)
    new = change(old)
    at = builder.slot_index(key)
    shown = new if path and not new.pins else _load(builder, new)
    top = replace_in_folds(path, old, (shown,))
    if _appearance(old, path, place) == _appearance(new, path, place):
        builder.replace_slot(at, top)
    else:
        # A part that shows, and that no undone trim ever changed, has never looked like this.
        shows = trimmed is not None and not path and not old.hides(trimmed)
        is_news = shows and all(undone != place for undone, _ in old.undone_trims)
        builder.splice(at, at, [top], entry, why, is_news=is_news)


def _load(builder: ViewBuilder, slot: Slot) -> Slot:
    """A slot that comes out of a fold, with what it lacks to show: entries, or text and compaction."""
    if isinstance(slot, Unit):
        return slot if slot.entries is not None else replace(slot, entries=builder.entries_of(slot))
    entry = builder.fetch(slot.seq)
    if not isinstance(fold := entry.body, Fold):
        return slot
    return replace(slot, text=fold.text, compaction=builder.compaction_unit(entry, fold))


def _appearance(unit: Unit, path: Path, place: Place | None) -> Any:
    """What an edit of one unit can change in the window, to be compared; None if the window does not show the unit."""
    if path and (not unit.pins or path[0][0].sealed or unit.key in path[0][0].excerpted):
        return None
    best = effective_trim(unit.trims, place) if place is not None else None
    return ("visible", best.rank if best is not None else None)
