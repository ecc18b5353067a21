"""A plan while it is being made: entries to come, and the view as if they were in the log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from msgspec.structs import replace

from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Body, Entry, Meta
from transom.core.log import PendingLog
from transom.core.message import Fact
from transom.core.reducer import apply
from transom.core.summary import Summary
from transom.core.view import View


class Draft:
    """Starts at a view, which stays as it is. `meta`: of every fact in it."""

    def __init__(self, view: View, at: float, meta: Meta | None = None) -> None:
        self.view, self.at, self.meta = view, at, meta
        self.log, self.first = view.log, view.length
        self.entries: list[Entry] = []

    def add(self, body: Body) -> None:
        """One more entry, whether it applies or not."""
        plan = self.first if isinstance(body, (Fold, Trim, Pin, Undo, Summary)) else None
        self._append([self.view.entry(body, self.at, self.meta if isinstance(body, Fact) else None, plan=plan)])

    def add_facts(self, facts: Iterable[Fact]) -> None:
        """Several facts at once. (Each edit needs the view that the one before it has made.)"""
        entries = [self.view.entry(cast("Body", fact), self.at, self.meta) for fact in facts]
        self._append([replace(entry, seq=seq) for seq, entry in enumerate(entries, start=self.view.length)])

    def _append(self, entries: list[Entry]) -> None:
        if not self.entries:  # edits of this plan may point at entries of this plan
            self.view = self.view.with_log(PendingLog(self.log, self.entries))
        self.entries += entries
        self.view = apply(self.view, entries)

    def propose(self, edit: Edit) -> bool:
        """Add an edit if it applies; one that does not is not worth an entry."""
        if self.view.refusal(edit) is not None:
            return False
        self.add(edit)
        return True
