"""The loss report: which names of what a fold covers stand nowhere in the window any more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from transom.core.message import Assistant
from transom.core.unit import Folded, Unit, units_in
from transom.core.view import View
from transom.measure.grounding import occurrences
from transom.strategies.digest.digest_text import visible, visible_names, visible_texts
from transom.strategies.digest.index import Index

FEW = 8
"""Names that are told of those gone: the weightiest."""


class MissingNames(Struct, frozen=True, kw_only=True):
    """Names in what a fold covers, how many of them stand somewhere in the window, and the weightiest of the others,
    each with the last entry of the fold in which it was found.

    A name weighs more if the user or the model said it, and the more often it came up (`Index.weight`).
    """

    names: int
    found: int
    gone: tuple[tuple[str, int], ...]


def missing_names(view: View) -> dict[int, MissingNames]:
    """A report for each fold that shows, by its entry. Costs the log, not the window."""
    index = Index(reach=view.length * (1 << 30))
    for seq in range(view.length):
        index.add(view.fetch(seq))
    stands = visible(view)
    shown = {name for one in stands for name in visible_names(index, view, one)}
    thoughts = (thought for one in stands if isinstance(one, Unit) for thought in _thoughts(one))
    texts = "\0".join(chain((text for one in stands for text in visible_texts(one)), thoughts))
    return {slot.seq: _loss(index, slot, shown, texts) for slot in view.slots if isinstance(slot, Folded)}


def _thoughts(unit: Unit) -> Iterator[str]:
    """What is sent of a turn's reasoning: no digest counts on it, but it stands there."""
    for fact in unit.shown_facts():
        if isinstance(fact, Assistant):
            yield from (thought.text for thought in fact.reasoning)


def _loss(index: Index, fold: Folded, shown: set[str], texts: str) -> MissingNames:
    seqs = [seq for unit in units_in(fold) for seq in unit.seqs if seq in index.entries]
    names = {name: seq for seq in seqs for one in index.entries[seq].passages for name in one.names}
    gone = [name for name in names if name not in shown and not occurrences(name, texts)]
    gone.sort(key=lambda name: (-index.weight(name), name))
    return MissingNames(
        names=len(names), found=len(names) - len(gone), gone=tuple((name, names[name]) for name in gone[:FEW])
    )
