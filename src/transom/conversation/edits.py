"""The edits of a conversation: what its windows show of the log, decided by the caller."""

from __future__ import annotations

from transom.conversation import argument_checks as check
from transom.conversation.events import Compacted
from transom.conversation.settings import ConversationSettings, locked
from transom.core.edit import Edit, Pin, Undo
from transom.core.entry import Entry
from transom.core.log import PendingLog
from transom.core.reducer import apply
from transom.core.undo import last_edit, undo_last
from transom.core.view import View
from transom.errors import InvalidEdit, InvalidSetting


class ConversationEdits(ConversationSettings):
    """The base class of `Conversation` that pins, folds, trims, undoes and compacts."""

    @locked
    def pin(self, entry: int, why: str = "") -> int:
        """Keep an entry's unit in every window from now on; the pin's own number, for `undo`. Raises InvalidEdit."""
        return self.edit(Pin(entry=check.number("pin", entry), why=check.reason("pin", why)))

    @locked
    def undo(self, edit: int | None = None, why: str = "") -> list[int]:
        """Take back a fold, trim or pin; the numbers of the undo's entries. Raises InvalidEdit.

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
    def compact(self) -> Compacted:
        """Compact the window now, although it is not full: what the policy would do if it were full at its size now.

        The edits are one plan, so `undo` without a number takes all of them back. There are none if the policy never
        compacts, or finds nothing to take away. Nothing is sent. Raises InvalidSetting while a run is at work,
        BudgetImpossible.
        """
        self._must_be_open()
        if self._is_running:
            raise InvalidSetting("compact: a run of this conversation is at work")
        return self._planner.compact()

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
