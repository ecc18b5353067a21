"""Finds the names that a fold has taken out of the window: they occur in the turns that it covers, and nowhere in the
window."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from transom.core.message import Assistant
from transom.core.unit import FoldedSlot, Unit, units_in
from transom.core.view import View
from transom.evaluation.grounding import occurrences
from transom.strategies.record.index import Index
from transom.strategies.record.visible_names import visible, visible_names, visible_texts
from transom.strategies.text.identifiers import is_between_strings

MOST_LISTED = 8
"""The most missing names that are listed."""


class MissingNames(Struct, frozen=True, kw_only=True):
    """How many names the turns under a fold have (`names`), and how many of these the window still has (`found`).

    `missing`: the others, at most eight, each with the last entry under the fold that has it. Those with the greatest
    weight come first: a name weighs more if the user or the model used it, and the more often it occurs
    (`Index.weight`).
    """

    names: int
    found: int
    missing: tuple[tuple[str, int], ...]


def missing_names(view: View) -> dict[int, MissingNames]:
    """Return the missing names of each fold in the window, by the seq of the fold; the slot of what the provider has
    compacted counts as a fold. It reads the whole log."""
    index = Index(reach=view.length * (1 << 30))
    for seq in range(view.length):
        index.add(view, view.fetch(seq))
    found = visible(view)
    shown = {name for one in found for name in visible_names(index, view, one)}
    thoughts = (thought for one in found if isinstance(one, Unit) for thought in _thoughts(one))
    folds = (one.text for one in found if isinstance(one, FoldedSlot))  # the lines of a record have names too
    texts = "\0".join(chain((text for one in found for text in visible_texts(one)), folds, thoughts))
    return {slot.seq: _missing(index, slot, shown, texts) for slot in view.slots if isinstance(slot, FoldedSlot)}


def _thoughts(unit: Unit) -> Iterator[str]:
    """Yield the reasoning that the window shows of a unit: a name in it is not missing, although records do not rely on
    it."""
    for fact in unit.shown_facts():
        if isinstance(fact, Assistant):
            yield from (thought.text for thought in fact.reasoning)


def _missing(index: Index, fold: FoldedSlot, shown: set[str], texts: str) -> MissingNames:
    """Return the missing names of one fold.

    `shown`: the names in the window. `texts`: all of its texts, in which the other names are looked for.
    """
    seqs = [seq for unit in units_in(fold) for seq in unit.seqs if seq in index.entries]
    passages = (passage for seq in seqs for passage in index.entries[seq].passages)
    found = ((name, passage.entry) for passage in passages for name in passage.names)
    names = {name: seq for name, seq in found if not is_between_strings(name)}
    missing = [name for name in names if name not in shown and not occurrences(name, texts)]
    missing.sort(key=lambda name: (-index.weight(name), name))
    return MissingNames(
        names=len(names),
        found=len(names) - len(missing),
        missing=tuple((name, names[name]) for name in missing[:MOST_LISTED]),
    )
