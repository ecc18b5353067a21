"""The edits of windows that a caller makes: pin, undo, or an edit of any kind. Each must apply to the newest view of
the log."""

from __future__ import annotations

from transom.conversation import argument_checks as check
from transom.conversation.appending.log_writer import LogWriter
from transom.core.edit import Edit, Pin, Undo
from transom.core.entry import Entry
from transom.core.log import PendingLog
from transom.core.plan_draft import pin_by_hand
from transom.core.reducer import apply
from transom.core.undo import last_edit, undo_last
from transom.core.view import View
from transom.errors import InvalidEdit

LISTED_EDITS = 5
"""How many of the newest live edits the error of an undo lists."""


def append_edit(writer: LogWriter, edit: Edit) -> int:
    """Append an edit; returns the number of its entry. Raises InvalidEdit, with nothing stored, if the value is no
    edit, or does not apply to the newest view."""
    wanted = check.edit(edit)
    (entry,) = writer.append_new(lambda view, at: (_entry(view, wanted, at),))
    return entry.seq


def preview(view: View, edit: Edit, at: float) -> View:
    """The view with an edit that is not appended. `at`: the time of the edit, in seconds since 1970. Raises InvalidEdit
    if the edit does not apply."""
    entries = (_entry(view, check.edit(edit), at),)
    return apply(view, entries).with_log(PendingLog(view.log, entries))


def pin(writer: LogWriter, entry: int, why: str) -> int:
    """Pin the unit of an entry; returns the number of the pin. If a caller has pinned that unit already, nothing is
    appended, and the number is that of the older pin. Raises InvalidEdit if the log has no such entry, or the entry is
    in no unit."""
    wanted = check.edit(Pin(entry=check.number("pin", entry), why=check.reason("pin", why)))
    if pin_by_hand(writer.view, entry) is not None:
        writer.catch_up()  # somebody else may have taken it back
    writer.append_new(lambda view, at: () if pin_by_hand(view, entry) is not None else (_entry(view, wanted, at),))
    placed = pin_by_hand(writer.view, entry)
    assert placed is not None
    return placed


def undo(writer: LogWriter, edit: int | None, why: str) -> list[int]:
    """Take back edits, and return the numbers of all entries that this appends.

    `edit`: the number of the edit or summary to take back, alone. None: the newest live edit, and everything else that
    its plan decided. Pins and folds that this plan had taken back are placed again: the result has their numbers too.
    It is empty if another writer takes the edit back first. Raises InvalidEdit if there is nothing to take back.
    """
    reason = check.reason("undo", why)
    if edit is not None:
        return [append_edit(writer, Undo(edit=check.number("undo", edit), why=reason))]
    live_edit(writer.view, "undo")  # raises if there is none
    return [entry.seq for entry in writer.append_new(lambda view, at: undo_last(view, why=reason, at=at))]


def live_edit(view: View, name: str) -> int:
    """The number of the newest fold, trim or pin that is live. Raises InvalidEdit if there is none. `name`: the
    operation that the caller asked for, with which the error begins."""
    if (seq := last_edit(view)) is None:
        raise InvalidEdit(f"{name}: there is no live edit")
    return seq


def _entry(view: View, edit: Edit, at: float) -> Entry:
    """The entry of an edit, behind those of the view. Raises InvalidEdit if it does not apply."""
    if (why := view.refusal(edit)) is not None:
        way_out = _newest_live(view) if isinstance(edit, Undo) else ""
        raise InvalidEdit(f"{type(edit).__name__.lower()}: {why}{way_out}")
    return view.entry(edit, at)


def _newest_live(view: View) -> str:
    """What an undo could take back, for the error of one that takes back nothing."""
    live = view.live_edits
    newest = [str(live[at]) for at in range(len(live) - 1, max(-1, len(live) - 1 - LISTED_EDITS), -1)]
    return f"; the newest live edits are {', '.join(newest)}" if newest else "; no edit is live"
