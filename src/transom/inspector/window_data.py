"""One window as data for people: every message as the model read it, with what was done to it and why.

It is the same for the page of the inspector and for the one file of `transom explain --html`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Literal, cast

from msgspec import Struct

from transom import texts
from transom.cache_prices import CompactionCosts
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Body, Entry, Sent
from transom.core.message import Head, Raw, Recalled, ToolResult, role_of
from transom.core.trims import trims_of_entry
from transom.core.unit import FoldedSlot, Slot, Unit
from transom.core.view import View
from transom.core.window import Break, assemble
from transom.evaluation.call_numbers import call_number
from transom.evaluation.call_views import CallViews
from transom.evaluation.edit_costs import EditCost, edit_costs
from transom.evaluation.explanations import DROPPED, Explanation, explain
from transom.evaluation.fold_ranges import FoldRanges, entries_of_fold
from transom.inspector.message_pieces import MessagePiece, PieceLimit

ROWS_OF_PAGE = 24
"""How many rows of a window one answer has, if the caller says nothing."""
SHORT_PIECES = PieceLimit()
"""How much of each piece of a message the rows have, if the caller says nothing."""
MOST_EDITS = 60
"""The most new edits of a call that are listed one by one."""

State = Literal["kept", "shortened", "folded", "recalled", "synthetic"]


class Row(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a window.

    - `entry`: the entry that it shows; of a fold, that of the fold. `role`: who said it; "record" or "fold" for the
      text of a fold, "system" for the head.
    - `state`: "kept" (whole), "shortened", "folded" (the text of a fold), "recalled" (quotes of old entries) or
      "synthetic" (a result that we wrote). `why`: the reasons. `edits`: the edits behind it.
    - `tokens`: the size of the whole entry or, for a fold, of everything that it stands for. `shown`: the size of what
      the window shows of it.
    - `pieces`: what the model read.
    - `is_cached`: the message is in the prefix that this window shares with the one before. `is_new`: the window before
      did not have it. `is_changed`: the window before showed it in another way. `is_pinned`: a pin keeps it.
      `is_failed`: it is the result of a failed call.
    - `tool`: of a result, the name of the tool. `first`, `last`, `turns`: of a fold, the first and the last entry of
      the turns that it stands for, and their number; 0 for other rows.

    All sizes are tokens as Transom counts.
    """

    entry: int
    role: str
    state: State = "kept"
    why: str = ""
    edits: tuple[int, ...] = ()
    tokens: int = 0
    shown: int = 0
    pieces: tuple[MessagePiece, ...] = ()
    is_cached: bool = False
    is_new: bool = False
    is_changed: bool = False
    is_pinned: bool = False
    is_failed: bool = False
    tool: str = ""
    first: int = 0
    last: int = 0
    turns: int = 0


class MadeEdit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An edit that was made since the call before.

    - `entry`: the entry that the edit is. `kind`: "fold", "trim", "pin" or "undo". `about`: what it edits, in words.
      `why`: the reason that it gives.
    - `saved_tokens`: how many fewer every later request has. `broken_tokens`: those of the cached prefix that are lost
      once.
    - `plan`: the seq of the first entry of the plan that decided it; None if a person, a program or the client that
      shortened a message decided it.
    """

    entry: int
    kind: str
    about: str
    why: str = ""
    saved_tokens: int = 0
    broken_tokens: int = 0
    plan: int | None = None


class Change(Struct, frozen=True, kw_only=True):
    """How a window differs from the window before.

    - `added`: how many messages are new; `changed`: how many are shown in another way; `removed`: how many entries are
      no longer shown. `added_tokens`, `removed_tokens`: the sizes of those that are new, and of those removed.
    - `edit_count`: how many edits were made between the two windows. `edits`: the first `MOST_EDITS` of them.
      `saved_tokens`, `broken_tokens`: as in `MadeEdit`, the sums of all these edits.
    """

    added: int = 0
    added_tokens: int = 0
    changed: int = 0
    removed: int = 0
    removed_tokens: int = 0
    edit_count: int = 0
    saved_tokens: int = 0
    broken_tokens: int = 0
    edits: tuple[MadeEdit, ...] = ()


class Left(Struct, frozen=True, kw_only=True):
    """How much a window leaves out. `folded`: how many units are behind folds and not pinned. `folded_tokens`: the size
    of everything that the folds stand for, pinned units too. `dropped`: how many entries are in no window at all."""

    folded: int
    folded_tokens: int
    dropped: int


class WindowData(Struct, frozen=True, kw_only=True):
    """One window, and a page of its rows.

    - `entries`: how many entries the log had. `messages`: how many messages the window has.
    - `tokens`: its size, as the provider counts; `counted_tokens`: as Transom counts. All other tokens are as Transom
      counts. `limit`: the most tokens, for which it was planned; 0 if none.
    - `shared_tokens`: the size of the prefix that it shares with the window before. `breaks`: where that prefix ends;
      None if it has the whole window before, or if there is none.
    - `costs`: the costs by which the compaction before this call was chosen; None without prices. For the window as it
      is now, these are the costs of the last call.
    - `change`: how it differs from the one before; in the first call, everything is new. None if it was not compared.
      `left`: what is not in the window.
    - `sizes`: of every row the tokens, the state, whether it is cached, and whether it is new or changed, for a picture
      of the whole.
    - `first_row`: the index of the first of `rows`.
    """

    conversation: str
    entries: int
    tokens: int
    counted_tokens: int
    limit: int
    messages: int
    shared_tokens: int
    breaks: Break | None
    costs: CompactionCosts | None
    change: Change | None
    left: Left
    sizes: list[tuple[int, str, bool, bool]]
    first_row: int
    rows: list[Row]


class _Item(Struct, frozen=True, kw_only=True, gc=False):
    """What a row will be made of, cheap enough to be made for the whole window: a fold, an entry of a unit, or the
    head, which is neither."""

    entry: int
    tokens: int
    state: State
    fold: FoldedSlot | None = None
    unit: Unit | None = None
    is_cached: bool = False
    is_new: bool = False
    is_changed: bool = False


class WindowReader:
    """Makes the data of one window: of a call, or of the log as it is now.

    - `view`: what the window shows. `before`: the view of the call before, with which it is compared; None for the
      first call.
    - `sent`: the request of the call; for the log as it is now, the last request. None if there was none.
    - `name`: of the conversation. `limit`: the most tokens of the window; 0: the limit of `sent`.
    """

    def __init__(self, view: View, before: View | None, sent: Sent | None, name: str, *, limit: int = 0) -> None:
        self._sent = sent
        limit = sent.limit if sent is not None and not limit else limit
        self._view, self._before, self._name = view, before, name
        self._window = assemble(view, limit)
        self._units = {} if before is None else {unit.key: unit for unit in before.visible_units()}
        self._folds = (
            {} if before is None else {slot.seq: slot for slot in before.slots if isinstance(slot, FoldedSlot)}
        )
        self._items = list(self._all_items())

    def data(self, first: int | None = None, count: int = ROWS_OF_PAGE, most: PieceLimit = SHORT_PIECES) -> WindowData:
        """Return the window, with at most `count` of its rows, from index `first` on. `first` None: from two rows
        before the first row that is new or changed, or earlier if fewer than `count` rows would follow; if there is no
        such row, the last rows. An index below 0 counts as 0; one behind the end gives no rows.

        `most`: how much of each piece of a message a row has; the rest is cut without a mark.
        """
        items, view = self._items, self._view
        is_different = [item.is_new or item.is_changed for item in items]
        changed = is_different.index(True) if True in is_different else -1
        if first is None:
            first = max(0, min(changed - 2 if changed >= 0 else len(items), len(items) - count))
        first = max(0, min(first, len(items)))
        window = self._window
        return WindowData(
            conversation=self._name,
            entries=view.length,
            tokens=window.tokens,
            counted_tokens=window.size.tokens,
            limit=window.limit,
            messages=window.size.messages,
            shared_tokens=window.shared_tokens,
            breaks=window.breaks,
            costs=None if self._sent is None else self._sent.costs,
            change=self._change(),
            left=self._left(),
            sizes=[(item.tokens, item.state, item.is_cached, is_different[at]) for at, item in enumerate(items)],
            first_row=first,
            rows=list(self._rows(items[first : first + count], most)),
        )

    # ---- which rows there are

    def _all_items(self) -> Iterator[_Item]:
        """The items of all rows, in the order of the window: the head, and then slot by slot."""
        view, cached = self._view, self._window.shared_tokens
        end = view.total.tokens - sum(slot.size.tokens for slot in view.slots)
        if (head := view.head_entry) is not None and isinstance(head.body, Head):
            yield _Item(
                entry=head.seq,
                tokens=view.head_size.tokens,
                state="kept",
                is_cached=0 < cached >= end,
                is_new=self._before is None,
                is_changed=self._before is not None and self._before.head_entry != head,
            )
        for slot in view.slots:
            end += slot.size.tokens
            yield from self._items_of(slot, is_cached=0 < cached >= end)

    def _items_of(self, slot: Slot, *, is_cached: bool) -> Iterator[_Item]:
        if isinstance(slot, Unit):
            yield from self._items_of_unit(slot, is_cached=is_cached)
            return
        if not slot.sealed:
            before = self._folds.get(slot.seq)
            yield _Item(
                entry=slot.seq,
                tokens=slot.tokens,
                state="folded",
                fold=slot,
                is_cached=is_cached,
                is_new=before is None,
                is_changed=before is not None and before.text != slot.text,
            )
        for unit in slot.pinned_units:
            yield from self._items_of_unit(unit, is_cached=is_cached)

    def _items_of_unit(self, unit: Unit, *, is_cached: bool) -> Iterator[_Item]:
        before = self._units.get(unit.key)
        for seq, entry in zip(unit.seqs, self._view.entries_of(unit), strict=True):
            trims = trims_of_entry(unit.trims, seq)
            shown_before = before if before is not None and seq in before.seqs else None
            tokens = self._view.entry_tokens(unit, seq)[1] if trims else sum(entry.tokens)
            yield _Item(
                entry=seq,
                tokens=tokens,
                state=_state(entry, is_shortened=bool(trims)),
                unit=unit,
                is_cached=is_cached,
                is_new=shown_before is None,
                is_changed=shown_before is not None and _looks_different(shown_before, unit, seq),
            )

    # ---- the rows of a page

    def _rows(self, items: Sequence[_Item], most: PieceLimit) -> Iterator[Row]:
        seqs = [item.entry for item in items if item.unit is not None]
        explained = {row.entry: row for row in explain(self._view, seqs)}
        facts = {item.unit.key: item.unit.shown_facts() for item in items if item.unit is not None}
        for item in items:
            if item.unit is not None:
                fact = facts[item.unit.key][bisect_left(item.unit.seqs, item.entry)]
                shown = tuple(most.pieces(fact))
                yield self._message_row(item, item.unit, explained[item.entry], shown)
            elif item.fold is not None:
                yield self._fold_row(item, item.fold, most)
            else:
                yield self._head_row(item, most)

    def _head_row(self, item: _Item, most: PieceLimit) -> Row:
        head = self._view.head
        shown = [piece for message in head.messages for piece in most.pieces(message)]
        if head.tools:
            names = ", ".join(map(tool_name, head.tools))
            shown.append(MessagePiece(kind="other", text=most.text(names), length=len(names), name="tools"))
        return self._row(item, role="system", tokens=item.tokens, shown=item.tokens, pieces=tuple(shown))

    def _fold_row(self, item: _Item, fold: FoldedSlot, most: PieceLimit) -> Row:
        first, last = entries_of_fold(fold)
        return self._row(
            item,
            role="record" if texts.is_record(fold.text) else "fold",
            state="folded",
            why=fold.why,
            edits=(fold.seq,),
            tokens=fold.untrimmed_size.tokens,
            shown=fold.tokens,
            pieces=(MessagePiece(kind="text", text=most.text(fold.text), length=len(fold.text)),),
            first=first,
            last=last,
            turns=fold.unit_count,
        )

    def _message_row(self, item: _Item, unit: Unit, row: Explanation, shown: tuple[MessagePiece, ...]) -> Row:
        entry = self._view.entries_of(unit)[bisect_left(unit.seqs, item.entry)]
        fact = entry.body
        call = self._view.call_of(unit, item.entry) if isinstance(fact, ToolResult) else None
        state = item.state if item.state in ("recalled", "synthetic") or row.state == "dropped" else row.state
        return self._row(
            item,
            role=row.role,
            state=state,
            why=row.why,
            edits=row.edits,
            tokens=row.tokens,
            shown=row.shown_tokens,
            pieces=shown,
            is_pinned=bool(unit.pins),
            is_failed=isinstance(fact, ToolResult) and fact.failed,
            tool="" if call is None else call.name,
        )

    def _row(self, item: _Item, **more: Any) -> Row:
        return Row(entry=item.entry, is_cached=item.is_cached, is_new=item.is_new, is_changed=item.is_changed, **more)

    # ---- what is different, and what is missing

    def _change(self) -> Change:
        if self._before is None:
            return Change(added=len(self._items), added_tokens=sum(item.tokens for item in self._items))
        shown = {item.entry for item in self._items}
        gone = [
            entry for unit in self._units.values() for entry in self._before.entries_of(unit) if entry.seq not in shown
        ]
        new = [item for item in self._items if item.is_new]
        made = self._made_edits(self._before)
        return Change(
            added=len(new),
            added_tokens=sum(item.tokens for item in new),
            changed=sum(item.is_changed for item in self._items),
            removed=len(gone),
            removed_tokens=sum(sum(entry.tokens) for entry in gone),
            edit_count=len(made),
            saved_tokens=sum(edit.saved_tokens for edit in made),
            broken_tokens=sum(edit.broken_tokens for edit in made),
            edits=tuple(made[:MOST_EDITS]),
        )

    def _made_edits(self, before: View) -> list[MadeEdit]:
        log = self._view.log
        entries = [log[seq] for seq in range(before.length, self._view.length)]
        ranges = FoldRanges(self._view)
        return [_made(ranges, log[cost.entry].body, cost) for cost in edit_costs(before.with_log(log), entries)]

    def _left(self) -> Left:
        folds = [slot for slot in self._view.slots if isinstance(slot, FoldedSlot)]
        shown = chain.from_iterable(fold.pinned_units for fold in folds)
        folded = sum(fold.unit_count for fold in folds) - sum(1 for _ in shown)
        tokens = sum(fold.untrimmed_size.tokens for fold in folds)
        return Left(folded=folded, folded_tokens=tokens, dropped=sum(key in DROPPED for key in self._view.unit_of))


def reader_of_call(views: CallViews, call: int | None) -> WindowReader:
    """Make the reader of the window of a call, which compares the window with that of the call before. `call`: from 1,
    or from the last call (-1) if negative; None: the window of the log as it is now, compared with the last call.
    Raises InvalidSetting if there is no such call."""
    name = views.log.name
    number = views.calls if call is None else call_number(call, views.calls, name)
    earlier = number if call is None else number - 1
    view, before = views.now if call is None else views.view(number), views.view(earlier) if earlier else None
    return WindowReader(view, before, views.sent(number) if number else None, name)


def _state(entry: Entry, *, is_shortened: bool) -> State:
    if isinstance(entry.body, Recalled):
        return "recalled"
    if isinstance(entry.body, ToolResult) and entry.body.synthetic:
        return "synthetic"
    return "shortened" if is_shortened else "kept"


def tool_name(tool: Raw) -> str:
    """Return the name of a tool by its schema, in any dialect; without a name its type, or "?"."""
    inner = tool.get("function")
    names = cast("Raw", inner) if isinstance(inner, dict) else tool
    return str(names.get("name") or names.get("type") or "?")


def _looks_different(before: Unit, now: Unit, entry: int) -> bool:
    """Whether two windows show an entry of a unit in different ways."""
    if before.signature_stale != now.signature_stale:
        return True
    return trims_of_entry(before.trims, entry) != trims_of_entry(now.trims, entry)


def _made(ranges: FoldRanges, edit: Body, cost: EditCost) -> MadeEdit:
    assert isinstance(edit, Fold | Trim | Pin | Undo)
    return MadeEdit(
        entry=cost.entry,
        kind=role_of(edit),
        about=ranges.about(edit),
        why=edit.why,
        saved_tokens=cost.saved_tokens,
        broken_tokens=cost.broken_tokens,
        plan=cost.plan,
    )
