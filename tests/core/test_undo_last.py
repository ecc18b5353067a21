"""What `undo` without a number takes back, and that it reads no more of a longer log."""

from __future__ import annotations

from meters import MeteredLog
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Entry
from transom.core.reducer import apply, build_view
from transom.core.undo import last_edit, undo_last
from transom.testing import Entries, WordCounter, talk

COUNTER = WordCounter()
WORDS = "words that are worth a fold " * 4


def reads_per_undo(pins: int) -> list[int]:
    """Reads of the log for each of the undos that take back so many pins."""
    log = talk(*[WORDS] * pins, *(Pin(entry=entry) for entry in range(pins)))
    view, spent = build_view(Entries(log), COUNTER), list[int]()
    while last_edit(view) is not None:
        reads = MeteredLog(Entries(log))
        undone = undo_last(view.with_log(reads), why="", at=0.0)
        log = [*log, *undone]
        view = apply(view.with_log(Entries(log)), undone)
        spent.append(reads.reads)
    return spent


def test_an_undo_reads_the_same_few_entries_in_any_log() -> None:
    few, many = reads_per_undo(8), reads_per_undo(80)
    assert (len(few), len(many)) == (8, 80)
    assert set(few) == set(many)


def edits_undone(*items: Fold | Trim | Pin | Undo) -> list[int]:
    """The edits that `undo_last` takes back after these."""
    view = build_view(Entries(talk(*[WORDS] * 9, *items)), COUNTER)
    return [entry.body.edit for entry in undo_last(view, why="", at=0.0) if isinstance(entry.body, Undo)]


def test_the_newest_edit_in_force_is_taken_back_wherever_it_is_hidden() -> None:
    inner, outer = Fold(first=1, last=3, text="[a]"), Fold(first=0, last=5, text="[b]")
    cut = Trim(entry=2, part=("text", 0), note="[c]")
    assert edits_undone() == []
    assert edits_undone(cut, inner, outer) == [11]
    assert edits_undone(inner, outer, cut) == [11], "though two folds hide it"
    assert edits_undone(cut, inner, outer, Undo(edit=11), Undo(edit=10)) == [9]
    assert edits_undone(cut, Fold(first=2, last=1, text="[inert]")) == [9]


def test_later_plans_do_not_pay_for_edits_taken_back() -> None:
    """Ranges that overlap become one, so that what was restored is found by halving."""
    log: list[Entry] = talk(*[WORDS] * 9)
    for first, last in [(6, 7), (0, 1), (1, 3), (4, 4), (3, 4), (0, 1)]:
        log = talk(Fold(first=first, last=last, text="[x]"), after=log)
        log = talk(Undo(edit=len(log) - 1), after=log)
    view = build_view(Entries(log), COUNTER)
    assert view.restored == ((0, 4), (6, 7))
    assert [slot.first for slot in view.slots if view.user_restored(slot)] == [0, 1, 2, 3, 4, 6, 7]
