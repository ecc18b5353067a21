"""A plan while it is being made: entries to come, and the view as if they were in the log."""

from __future__ import annotations

from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Body, Entry
from transom.core.log import PendingLog
from transom.core.reducer import apply
from transom.core.view import View


class Draft:
    """Starts at a view, which stays as it is."""

    def __init__(self, view: View, at: float) -> None:
        self.view, self.at = view, at
        self.log, self.first = view.log, view.length
        self.entries: list[Entry] = []

    def add(self, body: Body) -> None:
        """One more entry, whether it applies or not."""
        if not self.entries:  # edits of this plan may point at entries of this plan
            self.view = self.view.with_log(PendingLog(self.log, self.entries))
        plan = self.first if isinstance(body, (Fold, Trim, Pin, Undo)) else None
        entry = self.view.entry(body, self.at, plan=plan)
        self.entries.append(entry)
        self.view = apply(self.view, (entry,))

    def propose(self, edit: Edit) -> bool:
        """Add an edit if it applies; one that does not is not worth an entry."""
        if self.view.refusal(edit) is not None:
            return False
        self.add(edit)
        return True
