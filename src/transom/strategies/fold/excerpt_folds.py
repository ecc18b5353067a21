"""The last steps for a window that does not fit: folds whose text has excerpts of the turns that must stay.

The order of these and of the other steps is in `policies/last_resort.py:LAST_RESORT`. If the window does not fit after
the last one either, no window does: `BudgetImpossible`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from transom import texts
from transom.core.edit import Edit, Fold
from transom.core.message import Call, Fact, Media, Note, Reasoning, Text, addressed_parts, own_text, role_of
from transom.core.policy import Target
from transom.core.tokens import Size
from transom.core.trims import trimmed_text
from transom.core.unit import FoldedSlot, Slot, Unit, pinned_units_in
from transom.core.view import View
from transom.strategies.candidates import fold_text_size, slots_before_newest
from transom.strategies.text.references import range_reference
from transom.strategies.text.shown_parts import ShownPart
from transom.strategies.text.truncation import shorten

EXCERPTS = (200, 60, 20, 8)
"""Tokens of each excerpt: the first try, and the next ones if that does not fit."""


def late_notes(view: View, target: Target) -> Iterator[Edit]:
    """Replaces each note that gives a late result with a reference to that result."""
    for slot in view.slots:
        if isinstance(slot, Unit) and isinstance(slot.first_fact, Note) and slot.first_fact.refs:
            yield Fold(
                first=slot.key,
                last=slot.key,
                text=texts.bare_marker(target.reference(slot.first_fact.refs[0])),
                why="elide",
            )


def before_newest(view: View, target: Target) -> Iterator[Fold]:
    """Folds everything before the newest turn into one slot, with excerpts of the required and the pinned units. Yields
    several folds over the same slots, each with shorter excerpts: the planner stops at the first that fits. It helps
    where many short messages must stay."""
    slots = view.slots[view.fixed_slots : slots_before_newest(view, target)]
    keys = (*target.required, *_pinned(slots))
    yield from _folds(
        view, target, slots, [key for key in keys if slots and slots[0].first <= key < target.newest_unit]
    )


def newest_turn(view: View, target: Target) -> Iterator[Edit]:
    """Folds the newest turn into one slot with excerpts of its entries. Yields several folds over it, each with shorter
    excerpts: the planner stops at the first that fits. Nothing if the turn is required or has open calls."""
    at = view.slot_index(target.newest_unit)  # or, if there are only notes, the last of them
    slot = view.slots[at]
    is_foldable = at < 0 or at >= view.fixed_slots
    if is_foldable and isinstance(slot, Unit) and slot.key not in target.required and not slot.open_calls:
        yield from _folds(view, target, (slot,), (slot.key,))


def bare_omissions(view: View, target: Target) -> Iterator[Edit]:
    """Replaces each fold by one whose text is only its reference. A fold with excerpts stays, and so does what the
    provider has compacted."""
    for slot in view.slots:
        if isinstance(slot, FoldedSlot) and not slot.excerpted and not slot.sealed:
            text = texts.bare_marker(range_reference(view, target, (slot,)))
            yield Fold(first=slot.first, last=slot.last, text=text, why="over the limit")


def everything(view: View, target: Target) -> Iterator[Edit]:
    """Folds the whole window, but for the provider's own compaction, into one slot with excerpts of the required units,
    the pinned units and the newest turn. Yields several such folds, each with shorter excerpts: the planner stops at
    the first that fits."""
    slots = view.slots[view.fixed_slots :]
    keys = (*target.required, *_pinned(slots), target.newest_unit)
    yield from _folds(view, target, slots, [key for key in keys if slots and key >= slots[0].first])


def _pinned(slots: Sequence[Slot]) -> list[int]:
    return [unit.key for slot in slots for unit in pinned_units_in(slot)]


def _folds(view: View, target: Target, slots: Sequence[Slot], keys: Sequence[int]) -> Iterator[Fold]:
    """Yield folds over these slots, each with shorter excerpts of the units `keys`, at last of two alone: the planner
    stops at the first that fits. They end where a smaller text does not help, since messages or images are too many."""
    if not slots:
        return
    title, excerpted = texts.bare_marker(range_reference(view, target, slots)), tuple(dict.fromkeys(keys))
    required = [key for key in excerpted if key in target.required]
    rest = reduce(Size.minus, (slot.size for slot in slots), view.total)
    fewest = dict.fromkeys((*required[:1], *required[-1:]))
    for most, quoted in (*((most, excerpted) for most in EXCERPTS), (EXCERPTS[-1], tuple(fewest))):
        text = title + "".join(quotes(view, target, quoted, most))
        yield Fold(first=slots[0].first, last=slots[-1].last, text=text, excerpted=excerpted, why="over the limit")
        after = rest.plus(fold_text_size(target, text))
        if after.bytes < view.total.bytes and after.tokens <= target.goal.tokens and after.bytes <= target.goal.bytes:
            return


def quotes(view: View, target: Target, keys: Sequence[int], most: int) -> Iterator[str]:
    """Yield for each fact of these units, in the order of `keys`, a text of several lines: its reference and role, and
    under them an excerpt of at most `most` tokens. Reasoning is left out; an image has a placeholder."""
    for seq in (seq for key in keys for seq in view.unit(key).seqs):
        if isinstance(fact := view.fetch(seq).body, Fact):
            yield texts.quoted(target.reference(seq), role_of(fact), _excerpt(target, seq, fact, most), view.notes)


def _excerpt(target: Target, seq: int, fact: Fact, most: int) -> str:
    """The texts and calls of a fact in at most `most` tokens: their start and end if they have more."""
    pieces = [own_text(fact)] if own_text(fact) else []
    for _, part in addressed_parts(fact):
        if isinstance(part, Text):
            pieces.append(part.text)
        elif isinstance(part, Call):
            pieces.append(f"{part.name}({part.args})")
        elif not isinstance(part, Reasoning):
            pieces.append(texts.left_out_marker(part.media if isinstance(part, Media) else "part"))
    text = "\n".join(piece for piece in pieces if piece.strip())
    tokens = target.counter.count(text)
    if tokens <= most:
        return text
    whole = ShownPart(seq, ("text", 0), text, tokens, tokens)
    keep, note = shorten(whole, most, target.counter.count, lambda removed: f" […{removed:,} tokens…] ", "…")
    return trimmed_text(text, keep, note)
