"""What a window shows beside a record, and which names it has: these need no quote."""

from __future__ import annotations

from collections.abc import Sequence

from transom import texts
from transom.core.policy import Target
from transom.core.unit import FoldedSlot, Slot, Unit
from transom.core.view import View
from transom.strategies.candidates import stays_visible
from transom.strategies.record.index import Index
from transom.strategies.record.passages import readable

Visible = Unit | FoldedSlot | str
"""What a window shows beside the record: units, other folds, and the texts of the head."""


def visible(view: View, target: Target | None = None, folded: Sequence[Slot] = ()) -> list[Visible]:
    """What the window shows once the slots `folded` are folded, beside the text of that fold: units, other folds, and
    the texts of the head.

    `target`: says which of the folded units stay visible all the same; None: none of them.
    """
    inside = {slot.first for slot in folded}
    found: list[Visible] = []
    for slot in view.slots:
        if isinstance(slot, FoldedSlot) and slot.first not in inside:
            found.append(slot)
        shown = slot.pinned_units if isinstance(slot, FoldedSlot) else (slot,)
        found += [
            unit
            for unit in shown
            if slot.first not in inside or (target is not None and stays_visible(view, target, unit))
        ]
    return [*found, *(text for message in view.head.messages for text, _ in readable(message))]


def visible_names(index: Index, view: View, one: Visible) -> frozenset[str]:
    """The names in what the window shows of `one`; not those in parts that were trimmed away. Of a fold, only those in
    its quotes."""
    if isinstance(one, Unit) and not one.trims:
        return frozenset[str]().union(*(index.at(view, seq).names for seq in one.seqs))
    return index.names("\n\n".join(visible_texts(one)))


def covered_names(index: Index, view: View, one: Visible) -> frozenset[str]:
    """The names in what the window shows of `one` that need no other quote. If a call has changed something since a
    fold quoted it, the name of what was changed needs a quote again."""
    names = visible_names(index, view, one)
    if not isinstance(one, FoldedSlot):
        return names
    last, changed = view.unit(one.last).seqs[0], index.last_changes()
    return frozenset(name for name in names if changed.get(name, -1) <= last)


def visible_texts(one: Visible) -> list[str]:
    """The texts that the window shows of a unit, a fold or a text of the head. Of a fold these are only its quotes."""
    if isinstance(one, Unit):
        return [text for fact in one.shown_facts() for text, _ in readable(fact)]
    return texts.quotes_in(one.text) if isinstance(one, FoldedSlot) else [one]
