"""Finds missing names: names in what a fold covers that are nowhere in the window any more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from transom.core.message import Assistant
from transom.core.unit import FoldedSlot, Unit, units_in
from transom.core.view import View
from transom.evaluation.grounding import occurrences
from transom.strategies.digest.index import Index
from transom.strategies.digest.visible import visible, visible_names, visible_texts
from transom.strategies.text.identifiers import is_between_strings

FEW = 8
"""The most missing names that are listed: those with the greatest weight."""


class MissingNames(Struct, frozen=True, kw_only=True):
    """How many names a fold covers (`names`), and how many of them the window still contains (`found`).

    `missing`: the weightiest of the other names, each with the last entry of the fold that contains it. A name has more
    weight if the user or the model used it, and the more often it occurs (`Index.weight`).
    """

    names: int
    found: int
    missing: tuple[tuple[str, int], ...]


def missing_names(view: View) -> dict[int, MissingNames]:
    """Report the missing names of each visible fold; the keys are the seqs of the folds. It reads the whole log."""
    index = Index(reach=view.length * (1 << 30))
    for seq in range(view.length):
        index.add(view, view.fetch(seq))
    found = visible(view)
    shown = {name for one in found for name in visible_names(index, view, one)}
    thoughts = (thought for one in found if isinstance(one, Unit) for thought in _thoughts(one))
    texts = "\0".join(chain((text for one in found for text in visible_texts(one)), thoughts))
    return {slot.seq: _missing(index, slot, shown, texts) for slot in view.slots if isinstance(slot, FoldedSlot)}


def _thoughts(unit: Unit) -> Iterator[str]:
    """Yield the reasoning that is sent of a turn. Digests do not rely on it, but the model sees it."""
    for fact in unit.shown_facts():
        if isinstance(fact, Assistant):
            yield from (thought.text for thought in fact.reasoning)


def _missing(index: Index, fold: FoldedSlot, shown: set[str], texts: str) -> MissingNames:
    """Report the missing names of one fold.

    `shown`: the names in the window; `texts`: its texts, in which the rest is looked for.
    """
    seqs = [seq for unit in units_in(fold) for seq in unit.seqs if seq in index.entries]
    passages = (passage for seq in seqs for passage in index.entries[seq].passages)
    found = ((name, passage.entry) for passage in passages for name in passage.names)
    names = {name: seq for name, seq in found if not is_between_strings(name)}
    missing = [name for name in names if name not in shown and not occurrences(name, texts)]
    missing.sort(key=lambda name: (-index.weight(name), name))
    return MissingNames(
        names=len(names), found=len(names) - len(missing), missing=tuple((name, names[name]) for name in missing[:FEW])
    )
