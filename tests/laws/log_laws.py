"""The laws of the log and its view, which only the core can break. Those that a strategy, policy or dialect can break
are in `transom.testing.laws`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from transom.core.codec import encode
from transom.core.edit import Edit, Undo
from transom.core.entry import Entry
from transom.core.message import Fact
from transom.core.reducer import build_view
from transom.core.summary import Summary
from transom.core.tokens import TokenCounter
from transom.core.view import View
from transom.testing.fakes import Entries
from transom.testing.laws.shared import COUNTER, blanked, unbound, visible, with_edit
from transom.testing.view_appearance import LEFT_OUT_REASONS, appearance_of


def live_edits(view: View) -> list[int]:
    """The seqs of the edits and summaries that an `Undo` may take back."""
    return [seq for seq in range(view.length) if view.refusal(Undo(edit=seq)) is None]


def check_undo(log: Sequence[Entry], edit: Edit, counter: TokenCounter = COUNTER) -> None:
    """Law 5: after an edit and its undo the window is as before; an undo can neither be repeated nor undone.

    An edit that does not apply is not checked.
    """
    before = build_view(Entries(log), counter)
    if before.refusal(edit) is not None or isinstance(edit, Undo):
        return
    undo = Undo(edit=len(log))
    view = with_edit(with_edit(before, edit), undo)
    assert visible(view) == visible(before), f"undoing {edit} does not show what was there before"
    assert view.refusal(undo) is not None, "an edit can be undone twice"
    assert view.refusal(Undo(edit=len(log) + 1)) is not None, "an undo can be undone"
    assert visible(with_edit(view, Undo(edit=len(log) + 1))) == visible(before)


def check_all_undone(
    log: Sequence[Entry], shuffle: Callable[[list[int]], object] | None = None, counter: TokenCounter = COUNTER
) -> None:
    """Law 5: with every live edit and summary undone, in any order, the view is that of the log without edits.

    `shuffle`: changes the order of a list of seqs in place. Reasoning counts as unsigned here: a signature holds for
    one prefix, and the log without edits has another.
    """
    log = [unbound(one) for one in log]
    view = build_view(Entries(log), counter)
    edits = live_edits(view)
    if shuffle is not None:
        shuffle(edits)
    for seq in edits:
        assert view.refusal(Undo(edit=seq)) is None, "a live edit cannot be undone"
        view = with_edit(view, Undo(edit=seq))
    assert isinstance(view.log, Entries)
    facts = [blanked(one) if isinstance(one.body, Edit | Summary) else one for one in view.log]
    bare = build_view(Entries(facts), counter)
    assert visible(view) == visible(bare)


def check_kept(log: Sequence[Entry], counter: TokenCounter = COUNTER) -> None:
    """Law 9: every fact is in its unit, unchanged, or is reported as left out; and no stored fact has changed."""
    stored = [encode(one) for one in log]
    view = build_view(Entries(log), counter)
    appearance_of(view)
    for one in log:
        if not isinstance(one.body, Fact):
            assert view.slot_of(one.seq) is None
        elif view.slot_of(one.seq) is None:
            assert view.unit_of[one.seq] in LEFT_OUT_REASONS, f"entry {one.seq} is lost"
        else:
            unit = view.unit(view.unit_of[one.seq])
            assert view.entries_of(unit)[unit.seqs.index(one.seq)] == one
    assert [encode(one) for one in log] == stored


def check_flat(work: Callable[[int], object], *lengths: int) -> None:
    """Law 14: `work(length)`, a count of operations on a log of that length, is the same for all `lengths`."""
    costs = [work(length) for length in lengths]
    for (short, cost), (long, other) in pairwise(zip(lengths, costs, strict=True)):
        assert other == cost, f"{other} at {long}, {cost} at {short}"
