"""Which entries a fold stands for: a fold is stored with the keys of its first and last unit, and people read the
numbers of entries."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from transom.core.edit import Edit, Fold, Undo
from transom.core.unit import FoldedSlot, units_in
from transom.core.view import View


def range_text(first: int, last: int) -> str:
    """Name a range of entries: "entries 3–22", or "entry 3" if it is one."""
    return f"entry {first}" if first == last else f"entries {first}–{last}"


def entries_of_fold(fold: FoldedSlot) -> tuple[int, int]:
    """Return the seqs of the first and the last entry among all units that a fold in a window stands for."""
    seqs = [seq for unit in units_in(fold) for seq in unit.seqs]
    return min(seqs), max(seqs)


class FoldRanges:
    """Names the entries of any fold of a log, also of one that is not in the window any more. Making it reads the view
    once."""

    def __init__(self, view: View) -> None:
        self._first, self._last = dict[int, int](), dict[int, int]()
        for seq, key in enumerate(view.unit_of):
            self._first.setdefault(key, seq)
            self._last[key] = seq
        self._keys = sorted(self._first)

    def text(self, fold: Fold) -> str:
        """Name the entries that a fold stands for. If the log has none of its units, the keys that are stored with it
        are named."""
        keys = self._keys[bisect_left(self._keys, fold.first) : bisect_right(self._keys, fold.last)]
        if not keys:
            return range_text(fold.first, fold.last)
        return range_text(self._first[keys[0]], max(self._last[key] for key in keys))

    def about(self, edit: Edit) -> str:
        """Name the entries that an edit is about; for an undo, the entry of the edit that it takes back."""
        if isinstance(edit, Fold):
            return self.text(edit)
        return f"the edit in entry {edit.edit}" if isinstance(edit, Undo) else f"entry {edit.entry}"
