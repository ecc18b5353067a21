"""Which entries a fold stands for. A fold is stored with the keys of its units; people read numbers of entries."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from transom.core.edit import Fold
from transom.core.unit import FoldedSlot, units_in
from transom.core.view import View


def range_text(first: int, last: int) -> str:
    """Name entries from the first to the last one: "entry 3", or "entries 3–22"."""
    return f"entry {first}" if first == last else f"entries {first}–{last}"


def entries_of_fold(fold: FoldedSlot) -> tuple[int, int]:
    """Return the first and the last entry that a fold of a window stands for."""
    seqs = [seq for unit in units_in(fold) for seq in unit.seqs]
    return min(seqs), max(seqs)


class FoldRanges:
    """The entries of all folds of a log, also of those that are not live. Reads the view once."""

    def __init__(self, view: View) -> None:
        self._first, self._last = dict[int, int](), dict[int, int]()
        for seq, key in enumerate(view.unit_of):
            self._first.setdefault(key, seq)
            self._last[key] = seq
        self._keys = sorted(self._first)

    def text(self, fold: Fold) -> str:
        """Name the entries of a fold; the numbers that are stored with it if the log has no such units."""
        keys = self._keys[bisect_left(self._keys, fold.first) : bisect_right(self._keys, fold.last)]
        if not keys:
            return range_text(fold.first, fold.last)
        return range_text(self._first[keys[0]], max(self._last[key] for key in keys))
