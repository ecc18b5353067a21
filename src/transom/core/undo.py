"""Decides what `undo` without a number takes back: the last edit that applies, and everything else that its plan
decided."""

from __future__ import annotations

from itertools import takewhile

from msgspec.structs import replace

from transom.core.edit import Fold, Pin, Undo
from transom.core.entry import Entry, Sent
from transom.core.plan_draft import Draft
from transom.core.view import View


def last_edit(view: View) -> int | None:
    """The seq of the last fold, trim or pin that applies; None if there is none. An edit that an undo has placed again
    counts as being as old as the plan that first made it."""
    return next(iter(_last_decided(view)), None)


def undo_last(view: View, *, why: str, at: float) -> tuple[Entry, ...]:
    """Make the entries that take back the last edit; if a plan made it, all edits and summaries of this plan. Nothing
    is appended here. Empty if no edit applies.

    A pin or fold that the plan had taken back is placed again, because an undo cannot be undone. It belongs to the plan
    that first made it, so that the undo of that plan takes it back. `why`: the reason in each undo. `at`: the time of
    the entries, in seconds since 1970.
    """
    last = _last_decided(view)
    if not last:
        return ()
    plan = view.fetch(last[0]).plan
    draft = Draft(view, at)
    for seq in last if plan is None else [*last, *_summaries_of(view, plan)]:
        draft.propose(Undo(edit=seq, why=why))
    entries = [*draft.entries]
    for edit, made_by in [] if plan is None else _taken_back(view, plan):
        if draft.propose(edit):
            entries.append(replace(draft.entries[-1], plan=made_by))
    return tuple(entries)


def _last_decided(view: View) -> list[int]:
    """The seqs of the edits that were decided last and apply, the newest first: one, or all of one plan."""
    live, last, found = view.live_edits, -1, list[int]()
    for at in range(len(live) - 1, -1, -1):
        seq = live[at]
        if seq < last:
            break
        plan = view.fetch(seq).plan
        decided = seq if plan is None else plan
        if decided > last:
            last, found = decided, []
        if decided == last:
            found.append(seq)
    return found


def _summaries_of(view: View, plan: int) -> list[int]:
    """The seqs of the summaries that belong to a plan and were not undone, the newest first."""
    made = view.summaries.made
    newest = takewhile(lambda seq: seq >= plan, (made[at] for at in range(len(made) - 1, -1, -1)))
    return [seq for seq in newest if view.fetch(seq).plan == plan]


def _taken_back(view: View, plan: int) -> list[tuple[Pin | Fold, int | None]]:
    """The pins, then the folds, of earlier plans that a plan has taken back, each with the number of its first plan.
    `plan`: the seq of its first entry. Its entries end with its `Sent`."""
    pins, folds = list[tuple[Pin | Fold, int | None]](), dict[int, tuple[Pin | Fold, int | None]]()
    for seq in range(plan, view.length):
        entry = view.fetch(seq)
        if isinstance(entry.body, Sent):
            break
        if isinstance(entry.body, Undo) and entry.plan == plan:
            undone = view.fetch(entry.body.edit)
            if undone.plan == plan:
                continue
            if isinstance(undone.body, Pin):
                pin = Pin(entry=undone.body.entry, why=undone.body.why, implied=undone.body.implied)
                pins.append((pin, undone.plan))
            elif isinstance(undone.body, Fold):
                folds[entry.body.edit] = undone.body, undone.plan
    return [*pins, *(folds[seq] for seq in sorted(folds))]
