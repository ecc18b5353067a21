"""The edits of a conversation: what its windows show of the log, decided by the caller."""

from __future__ import annotations

from transom.conversation import argument_checks as check
from transom.conversation.compaction import ConversationCompaction
from transom.conversation.properties import locked
from transom.core.edit import Edit, Pin, Undo
from transom.core.entry import Entry
from transom.core.log import PendingLog
from transom.core.reducer import apply
from transom.core.undo import last_edit, undo_last
from transom.core.view import View
from transom.errors import InvalidEdit


class ConversationEdits(ConversationCompaction):
    """The base class of `Conversation` that pins, folds, trims and undoes."""

    @locked
    def pin(self, entry: int, why: str = "") -> int:
        """Keep an entry's unit in every window from now on; the pin's own number, for `undo`. Raises InvalidEdit."""
        return self.edit(Pin(entry=check.number("pin", entry), why=check.reason("pin", why)))

    @locked
    def undo(self, edit: int | None = None, why: str = "") -> list[int]:
        """Take back a fold, trim, pin or summary; the numbers of the undo's entries. Raises InvalidEdit.

        Without a number it takes back the last edit in force, and everything else that the same plan decided: the last
        compaction as a whole.
        """
        self._must_be_open()
        reason = check.reason("undo", why)
        if edit is not None:
            return [self.edit(Undo(edit=check.number("undo", edit), why=reason))]
        self.last_edit()  # raises if there is none
        writer = self._planner.writer
        return [entry.seq for entry in writer.append_new(lambda view, at: undo_last(view, why=reason, at=at))]

    @locked
    def edit(self, edit: Edit) -> int:
        """Append an edit. Raises InvalidEdit, with nothing stored, if it does not apply."""
        self._must_be_open()
        wanted = check.edit(edit)
        (entry,) = self._planner.writer.append_new(lambda view, at: (_edit_entry(view, wanted, at),))
        return entry.seq

    @locked
    def preview_edit(self, edit: Edit) -> View:
        """The view as an edit would make it; nothing is appended. Raises InvalidEdit."""
        self._must_be_open()
        entries = (_edit_entry(self.view, check.edit(edit), self._planner.clock()),)
        return apply(self.view, entries).with_log(PendingLog(self.log, entries))

    @locked
    def last_edit(self) -> int:
        """The number of the newest fold, trim or pin that is live. Raises InvalidEdit if there is none."""
        self._must_be_open()
        if (seq := last_edit(self.view)) is None:
            raise InvalidEdit("undo: there is no live edit")
        return seq


def _edit_entry(view: View, edit: Edit, at: float) -> Entry:
    if (why := view.refusal(edit)) is not None:
        raise InvalidEdit(f"{type(edit).__name__.lower()}: {why}")
    return view.entry(edit, at)
