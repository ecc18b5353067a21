"""Which of two ways to fold the same turns keeps more of what was said in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from math import fsum

from transom import texts
from transom.core.edit import Fold
from transom.core.policy import Target
from transom.core.unit import FoldedSlot, Slot, units_in
from transom.core.view import View
from transom.strategies.digest.index import Index


def keeps_as_much(
    view: View, target: Target, slots: Sequence[Slot], folds: Sequence[Fold], others: Sequence[Fold]
) -> bool:
    """Whether these folds keep as much of what was said in the slots as the others do.

    What counts are the words of the turns that stand in the texts of the folds, each once, by its weight: a rare word
    tells the most, and what is in every turn tells nothing. A record counts with its quotes, a summary with its words.
    """
    index = Index.of(view, target.budget.usable, target.indexes)
    words = index.words.update(view, index)
    seqs = [seq for slot in slots for unit in units_in(slot, index.first(view)) for seq in unit.seqs]
    said = set(chain.from_iterable(chain.from_iterable(words.at(view, index, seq) for seq in seqs)))

    def kept(shown: Iterable[str]) -> float:
        quotes = chain.from_iterable(map(texts.quotes_in, shown))
        found = set[str]().union(*map(words.of_text, quotes))
        return fsum(map(words.weight, found & said))

    return kept(_texts_after(slots, folds)) >= kept(_texts_after(slots, others))


def _texts_after(slots: Sequence[Slot], folds: Sequence[Fold]) -> list[str]:
    """The texts of these folds, and of the folds among the slots that they leave as they are."""
    replaced = [(fold.first, fold.last) for fold in folds]
    left = (slot for slot in slots if isinstance(slot, FoldedSlot))
    stay = [one.text for one in left if not any(first <= one.first and one.last <= last for first, last in replaced)]
    return [*(fold.text for fold in folds), *stay]
