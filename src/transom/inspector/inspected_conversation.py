"""A conversation in the inspector: the figures of its calls, its windows, and dry runs of changes."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from transom.conversation.conversation import Conversation
from transom.core.budget import Budget
from transom.core.codec import plain
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Entry, Sent
from transom.core.log import no_entry
from transom.core.message import Fact, role_of
from transom.core.reducer import apply
from transom.core.summary import Summary
from transom.core.unit import FoldedSlot, units_in
from transom.core.view import View
from transom.errors import Conflict, InvalidSetting, quote
from transom.evaluation.call_figures import CallFigures, CallTable
from transom.evaluation.call_views import CallViews
from transom.evaluation.explanations import DROPPED, Explanation, explain
from transom.evaluation.missing_names import MissingNames, missing_names
from transom.inspector.message_pieces import CHARACTERS_OF_ENTRY, MessagePiece, pieces_from
from transom.inspector.window_data import ROWS_OF_PAGE, WindowData, WindowReader, reader_of_call
from transom.policies import policy_named
from transom.stores import Store, StoredLog, open_view
from transom.stores.in_memory import ScratchLog
from transom.tokenizer import o200k
from transom.wire.dialects import counter_of_log, dialect_of_log

MOST_OPEN_CONVERSATIONS = 8
"""How many conversations are kept open. If there are more, the one that was looked at longest ago is closed."""
MOST_DRY_RUNS = 8
"""How many dry runs of a conversation are kept: each tab of a browser pages through the window of its own."""


class Action(Struct, frozen=True, kw_only=True):
    """A change of a conversation that the user of the page wants to do, or to try.

    - `do`: "pin" an entry; "undo" an edit, or without a number the last compaction; "compact"; or "request", only to
      look at the next request.
    - `entry`: which entry or edit; a pin needs it. `why`: the reason of a pin or an undo, which `explain` shows.
    - `tokens`: the context window to plan for; None: the limit of the last request. `policy`: the name of the policy
      of a compaction or a request.
    """

    do: Literal["pin", "undo", "compact", "request"]
    entry: int | None = None
    why: str = ""
    tokens: int | None = None
    policy: str = "default"


class DryRun(Struct, frozen=True, kw_only=True):
    """What an action would do.

    - `entries`: how many entries the log had when the action was tried. `number`: names the dry run for the pages of
      its window.
    - `tokens`, `messages`: the size of the window before and after, the tokens as its provider counts them. `limit`:
      the tokens that it is planned for; 0 if nothing says how many (a pin or an undo before any request).
    - `edits`: how many edits and summaries it would append, by kind; empty if none. `saved_tokens`: how many tokens
      fewer every later request has; below 0 if it has more. `broken_tokens`: how many tokens of the cached prefix are
      lost, once.
    - `window`: the window after it, with its first page of rows, compared with the one before.
    """

    entries: int
    number: int
    tokens: tuple[int, int]
    messages: tuple[int, int]
    edits: dict[str, int]
    saved_tokens: int
    broken_tokens: int
    limit: int
    window: WindowData


class EntryData(Struct, frozen=True, kw_only=True):
    """One entry of the log, of any kind.

    `entry`: its seq. `at`: when it was appended, in seconds since the epoch. `role`: who said it; for an entry that is
    no fact, its kind. `tokens`: its size as Transom counts. `pieces`: the pieces of its message, each from the
    character that was asked for, and at most `CHARACTERS_OF_ENTRY` characters of it. An entry that is no fact has one
    piece: the text of a fold or a summary, else its fields as JSON.
    """

    entry: int
    at: float
    role: str
    tokens: int
    pieces: list[MessagePiece]


class LeftOutPage(Struct, frozen=True, kw_only=True):
    """A page of one group of entries that a window does not show: those behind one fold, or those that are in no
    window. `total`: how many entries the group has. `first`: the index in the group of the first row, from 0."""

    total: int
    first: int
    rows: list[Explanation]


class InspectedConversation:
    """One stored log, with the figures and the views of its calls.

    Any thread may use it. The figures (for the chart) and the views (for the windows) have a lock each, because reading
    views takes longer and the chart must not wait for it.
    """

    def __init__(self, log: StoredLog, counting: StoredLog) -> None:
        """`log`, `counting`: two handles of one conversation that nobody else uses."""
        self._lock, self._views_lock = Lock(), Lock()
        self._log, self._counting = log, counting
        self._table = CallTable()
        self._views: CallViews | None = None
        self._is_asked = False
        self._tried: OrderedDict[int, WindowReader] = OrderedDict()  # of the last dry runs, by number
        self._number = 0  # of the last dry run

    @property
    def name(self) -> str:
        """The name of the conversation."""
        return self._log.name

    # ---- the calls

    def calls(self) -> tuple[list[CallFigures], CallTable]:
        """Return the figures of all calls of the conversation that the store has now, and the table that they are from:
        `length` says how many entries were read. The list is a copy; the table is not: later calls of this method
        change it."""
        with self._lock:
            self._counting.refresh()
            self._table.add(self._counting.read(self._table.length))
            return list(self._table.calls), self._table

    def length(self) -> int:
        """Return how many entries the conversation has in the store now."""
        with self._lock:
            return self._counting.refresh()

    # ---- windows

    def window(self, call: int | None, first: int | None = None, count: int = ROWS_OF_PAGE) -> WindowData:
        """Return the window of a call, with a page of its rows: `first` and `count` as in `WindowReader.data`.

        `call`: counted from 1, from the last call (−1) if negative; None: the window of the log as it is now. The first
        window that is asked for with None may come from the snapshot, which is fast: then it is not compared with the
        call before, and `WindowData.change` is None. Raises InvalidSetting if there is no such call.
        """
        with self._views_lock:
            if call is None and self._views is None and not self._is_asked:
                self._is_asked = True
                if self._log.load_snapshot() is not None:  # reading a long log takes seconds: the first page does not
                    view = open_view(self._log, counter_of_log(self._log, o200k()))
                    return replace(WindowReader(view, view, None, self.name).data(first, count), change=None)
            return reader_of_call(self._refreshed(), call).data(first, count)

    def tried_window(self, number: int, first: int | None, count: int = ROWS_OF_PAGE) -> WindowData:
        """Return the window of a dry run, with a page of its rows: `first` and `count` as in `WindowReader.data`.
        `number`: `DryRun.number`. Raises InvalidSetting if this dry run is no longer kept."""
        with self._views_lock:
            if number not in self._tried:
                raise InvalidSetting("this dry run is no longer kept: try it again")
            return self._tried[number].data(first, count)

    def left_out(self, call: int | None, fold: int | None, first: int, count: int) -> LeftOutPage:
        """Return a page of the entries that the window of a call does not show: at most `count` of them, from index
        `first` on. `call`: as for `window`. `fold`: the entries behind the fold with this seq; None: those that are in
        no window at all. Raises InvalidSetting if there is no such call or fold."""
        with self._views_lock:
            view = self._view(call)
            seqs = _dropped(view) if fold is None else _behind(view, fold)
            rows = explain(view, seqs[first : first + count])
            return LeftOutPage(total=len(seqs), first=first, rows=rows)

    def missing_names(self, call: int | None) -> dict[int, MissingNames]:
        """Return for each fold in the window of a call, by the seq of the fold, the names that its turns have and the
        window does not. `call`: as for `window`. Reads the whole log. Raises InvalidSetting if there is no such
        call."""
        with self._views_lock:
            return missing_names(self._view(call))

    def entry(self, seq: int, start: int = 0) -> EntryData:
        """Return entry `seq`, each of its pieces from the character `start` on; a shorter piece has an empty text then.
        Raises InvalidSetting if there is no such entry."""
        with self._views_lock:
            views = self._refreshed()
            if not 0 <= seq < views.now.length:
                raise InvalidSetting(no_entry(seq, views.now.length))
            entry = views.log[seq]
            return EntryData(
                entry=seq,
                at=entry.at,
                role=role_of(entry.body),
                tokens=sum(views.now.counted(entry).tokens),
                pieces=_pieces(entry, start),
            )

    def _view(self, call: int | None) -> View:
        views = self._refreshed()
        return views.now if call is None else views.view(call)

    def _refreshed(self) -> CallViews:
        """The views of all entries that the store has now."""
        if self._views is None:
            self._log.refresh()
            self._views = CallViews(self._log, counter_of_log(self._log, o200k()))
        self._views.refresh()
        return self._views

    # ---- dry runs and changes

    def try_action(self, action: Action) -> DryRun:
        """Return what an action would do to the log as it is now. Nothing is written; the window that the action would
        make is kept for `tried_window`, until MOST_DRY_RUNS (8) others were tried.

        Raises what the `Conversation` method of this action raises. Raises InvalidSetting for a pin without an entry,
        and for a compaction or a request if neither the action nor an earlier request says how many tokens to plan for.
        """
        with self._views_lock:
            views = self._refreshed()
            before, limit = views.now, self._limit_of(action)
            scratch = ScratchLog(self._log)
            conversation = self._conversation(scratch, action, limit)
            _carry_out(conversation, action)
            added = [entry for entry in scratch.appended if not isinstance(entry.body, Sent)]
            after = apply(before.with_log(scratch), added)
            planned = next((one.body for one in scratch.appended if isinstance(one.body, Sent)), None)
            self._number += 1
            self._tried[self._number] = reader = WindowReader(after, before, planned, self.name, limit=limit)
            if len(self._tried) > MOST_DRY_RUNS:
                self._tried.popitem(last=False)
            window = reader.data()
            assert window.change is not None
            return DryRun(
                entries=before.length,
                number=self._number,
                tokens=(before.tokens, after.tokens),
                messages=(before.total.messages, after.total.messages),
                edits=_counts(added),
                saved_tokens=window.change.saved_tokens,
                broken_tokens=window.change.broken_tokens,
                limit=limit,
                window=window,
            )

    def do_action(self, action: Action, expect: int) -> list[int]:
        """Carry out an action that was tried. Return the seqs of the new entries.

        `expect`: how many entries the log had when the action was tried. Raises Conflict if it has another number now:
        then nobody has seen what the action would do. Raises InvalidSetting for a request, and what `try_action`
        raises.
        """
        if action.do == "request":
            raise InvalidSetting("a request is only looked at here: the program that owns the conversation sends it")
        with self._views_lock:
            views = self._refreshed()
            if views.now.length != expect:
                raise Conflict(expect, views.now.length)
            conversation = self._conversation(self._log, action, self._limit_of(action))
            _carry_out(conversation, action)
            conversation.close()
            self._refreshed()
            return list(range(expect, views.now.length))

    def _limit_of(self, action: Action) -> int:
        """The tokens that an action plans for. Raises InvalidSetting if nothing says how many."""
        if action.tokens is not None:
            return action.tokens
        views = self._views
        limit = 0 if views is None or not views.calls else views.sent(-1).limit
        if not limit and action.do in ("compact", "request"):
            raise InvalidSetting("no request was planned yet: give the tokens of the context window")
        return limit

    def _conversation(self, log: StoredLog, action: Action, limit: int) -> Conversation:
        """A conversation of a log, in the dialect for which its entries were counted."""
        return Conversation(
            log,
            budget=Budget(context=limit) if limit else Budget(),
            policy=policy_named(action.policy),
            counter=o200k(),
            dialect=dialect_of_log(log),
        )


class InspectedConversations:
    """The conversations of one store that are open in the inspector: at most `MOST_OPEN_CONVERSATIONS`. If one more is
    opened, the one that was unused for the longest time is closed."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._open: OrderedDict[str, InspectedConversation] = OrderedDict()
        self._lock = Lock()

    def get(self, name: str) -> InspectedConversation:
        """Return the conversation with this name, opened if it is not open. Raises InvalidSetting if the store has
        none of this name."""
        with self._lock:
            if name not in self._open:
                log = self.store.open(name)
                if not len(log):
                    raise InvalidSetting(f"no conversation {quote(name)}")
                self._open[name] = InspectedConversation(log, self.store.open(name))
                if len(self._open) > MOST_OPEN_CONVERSATIONS:
                    self._open.popitem(last=False)
            self._open.move_to_end(name)
            return self._open[name]

    def close(self, name: str) -> None:
        """Drop this conversation, because the store has forgotten it. Nothing in the store changes. Nothing happens if
        it is not open."""
        with self._lock:
            self._open.pop(name, None)


def _carry_out(conversation: Conversation, action: Action) -> None:
    """Do an action, on the log itself or on a scratch log."""
    if action.do == "pin":
        if action.entry is None:
            raise InvalidSetting("pin: which entry?")
        conversation.pin(action.entry, action.why)
    elif action.do == "undo":
        conversation.undo(action.entry, action.why)
    elif action.do == "compact":
        conversation.compact()
    else:
        conversation.plan_request()


def _counts(entries: Sequence[Entry]) -> dict[str, int]:
    """How many edits and summaries of each kind there are among these entries."""
    counts = Counter[str]()
    for entry in entries:
        if isinstance(entry.body, Fold | Trim | Pin | Undo | Summary):
            counts[role_of(entry.body)] += 1
    return dict(counts)


def _dropped(view: View) -> list[int]:
    """The entries that are in no window, for a reason that `explain` gives."""
    return [seq for seq, key in enumerate(view.unit_of) if key in DROPPED]


def _behind(view: View, fold: int) -> list[int]:
    """The entries behind a fold that the window does not show. Raises InvalidSetting if it has no such fold."""
    slot = next((slot for slot in view.slots if isinstance(slot, FoldedSlot) and slot.seq == fold), None)
    if slot is None:
        raise InvalidSetting(f"this window has no fold {fold}")
    shown = {unit.key for unit in slot.pinned_units}
    return [seq for unit in units_in(slot) if unit.key not in shown for seq in unit.seqs]


def _pieces(entry: Entry, start: int) -> list[MessagePiece]:
    """The pieces of an entry. One that is no fact has a single piece: the text of a fold or a summary, or the JSON of
    its fields."""
    body: Any = entry.body
    if isinstance(body, Fact):
        return list(pieces_from(body, start))
    text = body.text if isinstance(body, Fold | Summary) else plain(body).decode("utf-8", "replace")
    return [MessagePiece(kind="text", text=text[start : start + CHARACTERS_OF_ENTRY], length=len(text), start=start)]
