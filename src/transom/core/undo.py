"""Decides what `undo` without a number takes back: the last edit that applies, and everything else that its plan
decided."""

from __future__ import annotations

from itertools import takewhile

from msgspec.structs import replace

from transom.core.draft import Draft
from transom.core.edit import Fold, Pin, Undo
from transom.core.entry import Entry, Sent
from transom.core.view import View


def last_edit(view: View) -> int | None:
    """The seq of the newest fold, trim or pin that applies; None if there is none."""
    live = view.live_edits
    return live[len(live) - 1] if len(live) else None


def undo_last(view: View, *, why: str, at: float) -> tuple[Entry, ...]:
    """The entries that take back the last edit; if a plan made it, all edits and summaries of this plan. Nothing is
    appended here.

    Empty if no edit applies. A pin or fold that the plan had taken back is placed again, because an undo
    cannot be undone.
    """
    newest = last_edit(view)
    if newest is None:
        return ()
    plan = view.fetch(newest).plan
    draft, live = Draft(view, at), view.live_edits
    first = newest if plan is None else plan
    for seq in takewhile(lambda seq: seq >= first, (live[at] for at in range(len(live) - 1, -1, -1))):
        draft.propose(Undo(edit=seq, why=why))
    for seq in [] if plan is None else _summaries_of(view, plan):
        draft.propose(Undo(edit=seq, why=why))
    undone = len(draft.entries)
    for edit in [] if plan is None else _taken_back(view, plan):
        draft.propose(edit)
    # What is placed again belongs to no plan: else the next undo would take this one back, and the two would alternate.
    placed_again = (replace(entry, plan=None) for entry in draft.entries[undone:])
    return (*draft.entries[:undone], *placed_again)


def _summaries_of(view: View, plan: int) -> list[int]:
    """The seqs of the summaries that came with a plan, the newest first."""
    made = view.summaries.made
    newest = takewhile(lambda seq: seq >= plan, (made[at] for at in range(len(made) - 1, -1, -1)))
    return [seq for seq in newest if view.fetch(seq).plan == plan]


def _taken_back(view: View, plan: int) -> list[Pin | Fold]:
    """New pins and folds for those that a plan took back; a fold that another one hides comes before it. `plan`: the
    seq of its first entry; its entries end with its `Sent`."""
    pins, folds = list[Pin](), dict[int, Fold]()
    for seq in range(plan, view.length):
        entry = view.fetch(seq)
        if isinstance(entry.body, Sent):
            break
        if isinstance(entry.body, Undo) and entry.plan == plan:
            undone = view.fetch(entry.body.edit).body
            if isinstance(undone, Pin):
                pins.append(Pin(entry=undone.entry, why=undone.why, implied=undone.implied))
            elif isinstance(undone, Fold):
                folds[entry.body.edit] = undone
    return [*pins, *(folds[seq] for seq in sorted(folds))]
