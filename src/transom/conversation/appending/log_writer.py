"""The way into a log: everything that is appended goes through its writer, which knows the newest view.

Facts are never stale: when another writer was first, they are appended behind its entries. What was decided for a view
(edits, a plan) is stale as soon as somebody else appends: then nothing is stored, and the caller decides again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import cast

from msgspec.structs import replace

from transom.clock import Clock
from transom.core.entry import Body, Entry, Meta
from transom.core.log import IndexCache, Owner, PendingLog, owned, owner_of
from transom.core.message import Assistant, Fact, ToolResult
from transom.core.plan import Plan
from transom.core.reducer import apply
from transom.core.tokens import FormatCounter
from transom.core.view import STRAY_RESULT, View
from transom.errors import (
    Conflict,
    InvalidMessage,
    InvalidSetting,
    StoreUnavailable,
    UnknownLog,
    listed,
    quote,
    shorten,
)
from transom.stores import StoredLog, open_view
from transom.stores.snapshot import encode_view
from transom.stores.view_cache import view_cache

SNAPSHOT_AT = 1_000
SNAPSHOT_GROWTH = 1.25
"""A snapshot is written when the log has grown by a quarter since the last: the work stays in proportion to the log."""


Subscriber = Callable[[View, View, Sequence[Entry]], None]
"""Called after each append, also one of another writer: the view before, the view after, the entries."""

NAMED_CALLS = 8
"""How many open calls a warning names."""

_logger = logging.getLogger(__name__)


class LogWriter:
    """Appends to one log, keeps the view of all entries that it knows, and tells its subscribers.

    `owner`: whose conversation it is. The first entry of a new log says it; for a log that has entries, raises
    InvalidSetting if the first one says something else. None, or an id that is empty: anybody's.
    """

    def __init__(self, log: StoredLog, counter: FormatCounter, clock: Clock, owner: Owner | None = None) -> None:
        self.log, self.wanted_owner = log, owner
        self.tags = Meta()
        """The mode, the run and the agent that are stored with every fact."""
        self._subscribers: tuple[tuple[Subscriber, type], ...] = ()
        self.is_catching_up = False
        """Whether subscribers are being told of entries of other writers."""
        self.view = open_view(log, counter)
        self._check_owner()
        self._clock = clock
        self._mark_saved(self.view.length)

    def subscribe(self, callback: Subscriber, *, only: type = object) -> Callable[[], None]:
        """Have `callback` called with the view before an append, the view after it, and all its entries: after each
        append that has at least one body of the type `only`. When appends of other writers are read, they count as one
        append. What `callback` raises passes to the one who appended; the entries are stored all the same. Returns a
        function that ends this subscription."""
        mine = (callback, only)
        self._subscribers = (*self._subscribers, mine)

        def unsubscribe() -> None:
            self._subscribers = tuple(each for each in self._subscribers if each is not mine)

        return unsubscribe

    def count_with(self, counter: FormatCounter) -> None:
        """Build the view anew, with the sizes that this counter gives: in another dialect the sizes are different."""
        self.view = open_view(self.log, counter)
        self._mark_saved(self.view.length)

    def append_facts(
        self, facts: Sequence[Fact], meta: Meta | None = None, *, known_calls_only: bool = False
    ) -> list[int]:
        """Append the facts in one go, and return their seqs, in order. Each gets `meta`, with the `tags` of this writer
        where `meta` says nothing. If a request is in flight, the first reply that does not name its request becomes the
        answer to this one.

        A result that finds no open call is stored, but no window will show it, and `logging` gets a warning; none with
        `meta.source`, because an importer reports such results itself. It is otherwise with a late result (its call has
        a synthetic result): the next request tells it in a note. `known_calls_only`: raise InvalidMessage, with nothing
        stored, for a result of a call that no reply of the log has.
        """
        meta = tagged(meta, self.tags)
        strays: list[ToolResult] = []
        waiting: list[str] = []

        def entries_of(view: View, at: float) -> list[Entry]:
            bodies = cast("Iterable[Body]", _at_its_request(facts, view))
            return [view.entry(body, at, meta, behind=number) for number, body in enumerate(bodies)]

        def check(before: View, after: View, entries: Sequence[Entry]) -> None:
            late = after.late_results  # in a note of the next request
            bodies = [
                entry.body for entry in entries if after.unit_of[entry.seq] == STRAY_RESULT and entry.seq not in late
            ]
            strays[:] = [body for body in bodies if isinstance(body, ToolResult)]
            if strays:
                waiting[:] = _open_call_ids(before)
            if strays and known_calls_only and not _knows_call(before, strays[0].call):
                raise InvalidMessage("tool_result", _stray_line(strays[0].call, waiting))

        entries = self.append_new(entries_of, check)
        if strays and (meta is None or meta.source is None):
            more = f" ({len(strays):,} results)" if len(strays) > 1 else ""
            _logger.warning(
                "tool result: %s; it is stored, and never shown%s", _stray_line(strays[0].call, waiting), more
            )
        return [entry.seq for entry in entries]

    def append_new(
        self,
        entries_for: Callable[[View, float], Sequence[Entry]],
        check: Callable[[View, View, Sequence[Entry]], None] | None = None,
    ) -> Sequence[Entry]:
        """Append the entries that `entries_for` makes, in one go, and return them; if it makes none, nothing is
        appended. It gets the newest view and the time (seconds since 1970), and must number its entries behind that
        view (`View.entry`). If another writer comes first, it is called again with the newer view.

        `check` gets the view before, the view after and the entries, before they are stored; if it raises, nothing is
        stored. After an InvalidMessage `entries_for` is called again if other writers have appended meanwhile;
        otherwise the error passes, as every other error does at once.
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
        """Append a plan that was made for `view`, this writer's newest. Returns False, with nothing stored, if another
        writer came first: its entries are read, and the caller must plan again."""
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
        self._notify(before, after, entries)
        return True

    def _notify(self, before: View, after: View, entries: Sequence[Entry]) -> None:
        for callback, only in self._subscribers:
            if only is object or any(isinstance(entry.body, only) for entry in entries):
                callback(before, after, entries)

    @property
    def owner(self) -> Owner:
        """Whose conversation the first entry says it is; of an empty log, whose it will be. Empty ids if nobody's."""
        return owner_of(self.log) if len(self.log) else self.wanted_owner or Owner()

    def catch_up(self) -> None:
        """Read what other writers have appended, bring the view up to date, and tell the subscribers. Raises
        InvalidSetting if the log has begun meanwhile as somebody else's."""
        if self.log.refresh() > self.view.length:
            before = self.view
            if not before.length:
                self._check_owner()
            entries = list(self.log.read(before.length))
            self.view = apply(before, entries)
            self.is_catching_up = True
            try:
                self._notify(before, self.view, entries)
            finally:
                self.is_catching_up = False

    def _check_owner(self) -> None:
        """Raise InvalidSetting if the log began as somebody else's. The message does not say whose it is."""
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

    def close(self, rendered: IndexCache) -> None:
        """Leave the view and its rendered messages for the next opening in this process, if the store keeps views, and
        a last snapshot if the log has 1,000 entries (`SNAPSHOT_AT`) and new ones since the last snapshot. `rendered`:
        an index cache with the rendered messages of the view. All subscriptions end. The log itself stays open. The
        caller must append nothing after this."""
        self._subscribers = ()  # whoever is called holds this writer: so both go without the garbage collector
        if (cache := view_cache(self.log)) is not None:
            cache.add(self.log.name, self.view, rendered)
        if self.view.length >= SNAPSHOT_AT and self.view.length > self._saved:
            self.save_snapshot()

    def _mark_saved(self, length: int) -> None:
        self._saved = length
        self._snapshot_at = max(SNAPSHOT_AT, int(SNAPSHOT_GROWTH * length))


def tagged(meta: Meta | None, tags: Meta) -> Meta | None:
    """The meta data of a fact, with the mode, the run and the agent of `tags` where `meta` names none. `meta` itself,
    also None, if neither names any."""
    own = meta or Meta()
    names = {name: getattr(own, name) or getattr(tags, name) for name in ("mode", "run_id", "agent_id")}
    return replace(own, **names) if any(names.values()) else meta


def _at_its_request(facts: Sequence[Fact], view: View) -> Iterator[Fact]:
    """The facts. The first reply that does not name its request is made the answer to the request in flight."""
    is_answered = False
    for fact in facts:
        if isinstance(fact, Assistant) and fact.answers is None and not is_answered and view.in_flight is not None:
            is_answered = True
            yield replace(fact, answers=view.in_flight.seq)
        else:
            yield fact


def _open_call_ids(view: View) -> list[str]:
    """The ids of the calls that wait for a result; of a call without an id, its name."""
    ids: list[str] = []
    for key in view.open_units:
        unit = view.open_unit(key)
        turn = unit.first_fact
        assert isinstance(turn, Assistant)
        ids += [turn.calls[index].id or turn.calls[index].name for index in unit.open_calls]
    return ids


def _knows_call(view: View, label: str) -> bool:
    """Whether any reply of the log has a call that is answered by this label. Reads the log, newest first."""
    for seq in range(view.length - 1, -1, -1):
        body = view.log[seq].body
        calls = body.calls if isinstance(body, Assistant) else ()
        if any(label == call.id if call.id else label in {"", call.name} for call in calls):
            return True
    return False


def _stray_line(label: str, open_ids: list[str]) -> str:
    """The line that says that a result finds no open call, with the ids of the calls that are open."""
    waiting = listed(open_ids, NAMED_CALLS, show=lambda each: quote(each, 60))
    return shorten(f"no open call has the id {quote(label, 60)}; open calls: {waiting or 'none'}", 300)
