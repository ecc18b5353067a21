"""A plan while it is being made: the entries to come, and the view as if they were in the log already."""

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
    """Collects the entries of one plan (`entries`), and keeps `view` as it would be after them.

    The view that it starts at is not changed. `at`: the time of the entries, in seconds since 1970. `meta`: stored with
    every fact among them.
    """

    def __init__(self, view: View, at: float, meta: Meta | None = None) -> None:
        self.view, self.at, self.meta = view, at, meta
        self.log, self.first = view.log, view.length
        self.entries: list[Entry] = []

    def copy(self) -> Draft:
        """A draft with the same entries, to try something on."""
        other = Draft(self.view, self.at, self.meta)
        other.log, other.first, other.entries = self.log, self.first, [*self.entries]
        if other.entries:
            other.view = self.view.with_log(PendingLog(self.log, other.entries))
        return other

    def become(self, tried: Draft) -> None:
        """Take over the entries and the view of a copy on which something was tried."""
        self.view, self.entries = tried.view, tried.entries

    def add(self, body: Body) -> None:
        """Add an entry, also an edit that does not apply. An edit or a summary gets the number of this plan."""
        plan = self.first if isinstance(body, (Fold, Trim, Pin, Undo, Summary)) else None
        self._append([self.view.entry(body, self.at, self.meta if isinstance(body, Fact) else None, plan=plan)])

    def add_facts(self, facts: Iterable[Fact]) -> None:
        """Add several facts at once. (Edits are added one by one: each needs the view that the one before it has
        made.)"""
        entries = [self.view.entry(cast("Body", fact), self.at, self.meta) for fact in facts]
        self._append([replace(entry, seq=seq) for seq, entry in enumerate(entries, start=self.view.length)])

    def _append(self, entries: list[Entry]) -> None:
        """Append entries, and apply them to the view."""
        if not self.entries:  # edits of this plan may point at entries of this plan
            self.view = self.view.with_log(PendingLog(self.log, self.entries))
        self.entries += entries
        self.view = apply(self.view, entries)

    def propose(self, edit: Edit) -> bool:
        """Add an edit if it applies to the view; returns whether it did."""
        if self.view.refusal(edit) is not None:
            return False
        self.add(edit)
        return True
