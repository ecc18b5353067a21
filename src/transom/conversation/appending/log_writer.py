"""The newest view of a log, kept up to date by whoever appends to it.

Facts are never stale: when another writer was first, they are appended behind its entries. What was decided for a view
(edits, a plan) is stale as soon as somebody else appends: then nothing is stored, and the caller decides again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from transom.clock import Clock
from transom.core.entry import Entry
from transom.core.log import Owner, PendingLog, owned, owner_of
from transom.core.plan import Plan
from transom.core.reducer import apply
from transom.core.tokens import FormatCounter
from transom.core.view import View
from transom.errors import Conflict, InvalidMessage, InvalidSetting, StoreUnavailable, UnknownLog, quote
from transom.stores import StoredLog, open_view
from transom.stores.snapshot import encode_view

SNAPSHOT_AT = 1_000
SNAPSHOT_GROWTH = 1.25
"""A snapshot is written when the log has grown by a quarter since the last: the work stays in proportion to the log."""


OnAppend = Callable[[View, View, Sequence[Entry]], None]
"""Called behind each append, also one of another writer: the view before, the view after, the entries."""


class LogWriter:
    """A log and the view of all its entries that this handle knows."""

    def __init__(
        self, log: StoredLog, counter: FormatCounter, clock: Clock, on_append: OnAppend, owner: Owner | None = None
    ) -> None:
        self.log, self.wanted_owner = log, owner
        self._on_append = on_append
        self.view = open_view(log, counter)
        self._check_owner()
        self._clock = clock
        self._mark_saved(self.view.length)

    def append_new(
        self,
        entries_for: Callable[[View, float], Sequence[Entry]],
        check: Callable[[View, View, Sequence[Entry]], None] | None = None,
    ) -> Sequence[Entry]:
        """Append what `entries_for` makes of the newest view, in one go. It is called again after another writer.

        `check` gets the view before, the view after and the entries, and may raise; then nothing is stored.
        """
        while True:
            before = self.view
            entries = entries_for(before, self._clock())
            # an undo in a plan may take back an edit of the same plan, which is not in the log yet
            after = apply(before.with_log(PendingLog(before.log, entries)), entries).with_log(before.log)
            if check is not None:
                try:
                    check(before, after, entries)
                except InvalidMessage:  # perhaps another process has appended what is missing
                    self.catch_up()
                    if self.view is before:
                        raise
                    continue
            if not entries or self._append(entries, after):
                return entries

    def append_plan(self, done: Plan) -> bool:
        """Append a plan that was made for the newest view. False if another writer came first: then plan again."""
        return self._append(done.entries, apply(done.before, done.entries[done.before.length - self.view.length :]))

    def _append(self, entries: Sequence[Entry], after: View) -> bool:
        if self.wanted_owner is not None and not entries[0].seq:
            entries = [owned(entries[0], self.wanted_owner), *entries[1:]]
        try:
            self.log.append(entries, entries[0].seq)
        except Conflict:
            self.catch_up()
            return False
        before, self.view = self.view, after
        if after.length >= self._snapshot_at:
            self.save_snapshot()
        self._on_append(before, after, entries)
        return True

    @property
    def owner(self) -> Owner:
        """Whose conversation it is, or will be with its first entry."""
        return owner_of(self.log) if len(self.log) else self.wanted_owner or Owner()

    def catch_up(self) -> None:
        """Take in what other writers appended."""
        if self.log.refresh() > self.view.length:
            before = self.view
            if not before.length:
                self._check_owner()
            entries = list(self.log.read(before.length))
            self.view = apply(before, entries)
            self._on_append(before, self.view, entries)

    def _check_owner(self) -> None:
        """Raises InvalidSetting if the log began as somebody else's. Whose it is, the message does not say."""
        if self.wanted_owner is None or not len(self.log):
            return
        found = owner_of(self.log)
        for name in ("user_id", "session_id"):
            wanted, has = getattr(self.wanted_owner, name), getattr(found, name)
            if wanted and wanted != has:
                why = f"belongs to another {name}" if has else f"began without a {name}"
                raise InvalidSetting(f"conversation {quote(self.log.name)} {why}: it stays what its first entry says")

    def save_snapshot(self) -> None:
        """Leave a snapshot, if the store can take one now. It only makes the next opening faster."""
        self._mark_saved(self.view.length)
        with suppress(StoreUnavailable, UnknownLog):
            self.log.save_snapshot(self.view.length, encode_view(self.view))

    def close(self) -> None:
        """Leave a last snapshot of a log that is long enough to need one. Nothing is appended from now on."""
        self._on_append = _nothing  # whoever is called holds this writer: so both go without the garbage collector
        if self.view.length >= SNAPSHOT_AT and self.view.length > self._saved:
            self.save_snapshot()

    def _mark_saved(self, length: int) -> None:
        self._saved = length
        self._snapshot_at = max(SNAPSHOT_AT, int(SNAPSHOT_GROWTH * length))


def _nothing(*_: object) -> None:
    """Nobody is called."""
