"""The fold: a view and more entries give the next view. One handler for each kind of entry.

The handlers change a branch that nobody else has seen yet; what comes out is a value again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Entry, Sent
from transom.core.log import Log
from transom.core.message import (
    Assistant,
    Call,
    Fact,
    Failure,
    Handoff,
    Head,
    Instruction,
    Note,
    Recalled,
    ToolResult,
    User,
    is_empty,
)
from transom.core.prefix_digest import prefixes
from transom.core.tokens import MESSAGE_BYTES, ZERO, Size, TokenCounter, apply_trim, head_size, part_bytes, text_bytes
from transom.core.unit import (
    AppliedTrim,
    Folded,
    Slot,
    Unit,
    call_labels,
    find_part,
    make_folded,
    new_unit,
    replace_in_folds,
    with_answer,
    with_shown_size,
)
from transom.core.view import EMPTY, HIDDEN, NOT_SHOWN, STRAY, Path, View, child_at

_UNKNOWN = "?"
"""What a turn was made on that answers a request which is not in flight: no prefix has this digest."""


def apply(view: View, entries: Iterable[Entry]) -> View:
    """The view after these entries. They must continue the log: their seqs are n, n + 1, …

    Costs the new entries and a copy of the visible slots, never the log.
    """
    view, counter = view.branch(), view.counter.name
    for entry in entries:
        assert entry.seq == view.length, f"entry {entry.seq} after {view.length} entries"
        view.unit_of.append(NOT_SHOWN)
        if (apply := _APPLY.get(type(entry.body))) is not None:
            apply(view, entry if entry.counter == counter else view.counted(entry))
        view.length += 1
    if view.prefix_digest.signatures_unchecked:
        _recheck_signatures(view)
    return view


def build_view(log: Log, counter: TokenCounter, upto: int | None = None) -> View:
    """The view of a log's first `upto` entries: time travel is a smaller number."""
    stop = len(log) if upto is None else upto
    return apply(View.empty(log, counter), (log[seq] for seq in range(stop)))


def _mark_break(view: View, at: int, entry: Entry, why: str) -> None:
    view.prefix_digest.truncate(at)
    if at < view.shared_slots:
        view.shared_slots, view.first_break = at, (at, entry.seq, why)


def _replace_slot(view: View, at: int, slot: Slot) -> None:
    view.total = view.total.replaced(view.slots[at].size, slot.size)
    view.slots[at] = slot


def _add(view: View, unit: Unit) -> None:
    last = not view.keys or unit.key > view.keys[-1]
    holds = (
        last
        and unit.signed_prefix
        and not view.prefix_digest.signatures_unchecked
        and unit.signed_prefix == view.digest()
    )
    if last:
        view.slots.append(unit)
        view.keys.append(unit.key)
    else:
        at = view.slot_index(unit.key) + 1
        view.slots.insert(at, unit)
        view.keys = [*view.keys[:at], unit.key, *view.keys[at:]]
        view.prefix_digest.truncate(at)
        view.shared_slots = min(view.shared_slots, at)
    if unit.signed_prefix:
        view.prefix_digest.bind()
        view.prefix_digest.signatures_unchecked = not holds  # made on just what precedes it: nothing to look at again
    view.total = view.total.plus(unit.size)


def _fact(view: View, entry: Entry, key: int | None = None, bound: str = "") -> Unit | None:
    body = entry.body
    assert isinstance(body, Fact)
    if entry.meta is not None and not entry.meta.include_in_context:
        view.unit_of[-1] = HIDDEN
    elif is_empty(body):
        view.unit_of[-1] = EMPTY
    else:
        unit = new_unit(entry.seq if key is None else key, entry, bound)
        view.unit_of[-1] = unit.key
        if not isinstance(body, Note):
            view.newest_unit = max(view.newest_unit, unit.key)
        _add(view, unit)
        return unit
    return None


def _user(view: View, entry: Entry) -> None:
    if (unit := _fact(view, entry)) is not None:
        view.newest_user = unit.key
        if view.first_task is None:
            view.first_task = unit.key


def _note(view: View, entry: Entry) -> None:
    assert isinstance(entry.body, Note)
    _fact(view, entry)
    if entry.body.key:
        view.notes = {**view.notes, entry.body.key: (entry.seq, entry.body.text)}
    if entry.body.refs:
        view.late_results = tuple(lost for lost in view.late_results if lost[0] not in entry.body.refs)


def _reply_key(view: View, answers: int | None) -> tuple[int | None, str]:
    if answers is None or view.in_flight is None or view.in_flight.seq != answers:
        return None, ""
    sent, view.in_flight = view.in_flight, None
    assert isinstance(sent.body, Sent)
    return answers, sent.body.digest


def _assistant(view: View, entry: Entry) -> None:
    body = entry.body
    assert isinstance(body, Assistant)
    key, digest = _reply_key(view, body.answers)
    usage = body.usage if key is not None and body.dialect == view.counter.dialect else None
    if usage is not None and usage.prompt and view.sent_tokens:  # another provider's tokens say nothing of this one's
        seen = usage.prompt / view.sent_tokens
        view.calibration += 0.2 * (min(2.0, max(0.5, seen)) - view.calibration)
    bound = _made_on(view, body, digest) if body.reasoning and any(t.bound for t in body.reasoning) else ""
    unit = _fact(view, entry, key, bound)
    if unit is None:
        return
    if body.calls:
        if view.synthetic_results:  # a label that is used again names the new call from now on
            view.synthetic_results = {
                label: at for label, at in view.synthetic_results.items() if label not in {c.id for c in body.calls}
            }
        view.open_units = {**view.open_units, unit.key: None}
        extra = _relabelled(view, body, unit.key)
        if extra is not ZERO:
            at = view.slot_index(unit.key)
            _replace_slot(
                view, at, replace(unit, untrimmed_size=unit.untrimmed_size.plus(extra), size=unit.size.plus(extra))
            )


def _made_on(view: View, body: Assistant, digest: str) -> str:
    """The digest a turn was made on: its Sent's; or, where nothing was sent by us, that of what precedes it."""
    if body.answers is not None:
        return digest or _UNKNOWN
    if view.prefix_digest.signatures_unchecked:
        _recheck_signatures(view)
    return view.digest()


def _relabelled(view: View, body: Assistant, key: int) -> Size:
    """What new labels for empty or repeated ids add to the size of a turn."""
    extra, names = ZERO, call_labels(body.calls, key)
    if len(names) == 1 and names[0] == body.calls[0].id:  # nearly always
        return extra
    for call, label in zip(body.calls, names, strict=True):
        if call.id != label:
            count = view.counter.count
            extra = extra.plus(Size(count(label) - count(call.id), text_bytes(label) - text_bytes(call.id)))
    return extra


def _failure(view: View, entry: Entry) -> None:
    assert isinstance(entry.body, Failure)
    key, _ = _reply_key(view, entry.body.answers)
    _fact(view, entry, key)


def _result(view: View, entry: Entry) -> None:
    body = entry.body
    assert isinstance(body, ToolResult)
    place = _place(view, body)
    if entry.meta is not None and not entry.meta.include_in_context:
        view.unit_of[-1] = HIDDEN
        return
    if place is None:
        view.unit_of[-1] = STRAY
        if (lost := view.synthetic_results.get(body.call)) is not None and not body.synthetic:
            view.late_results = (*view.late_results, (entry.seq, lost))
            view.synthetic_results = {label: at for label, at in view.synthetic_results.items() if label != body.call}
        return
    unit, index = place
    key, turn, at = unit.key, unit.head, view.slot_index(unit.key)
    assert isinstance(turn, Assistant)
    unit = with_answer(unit, index, entry, _labelled(view, unit, turn, index, body))
    view.unit_of[-1] = key
    _replace_slot(view, at, unit)
    view.prefix_digest.truncate(at, prefix=at < len(view.slots) - 1)
    if not unit.open_calls:
        view.open_units = {k: None for k in view.open_units if k != key}
    if body.synthetic and turn.calls[index].id:
        view.synthetic_results = {**view.synthetic_results, turn.calls[index].id: (key, index)}


def _labelled(view: View, unit: Unit, turn: Assistant, index: int, body: ToolResult) -> Size:
    """What the label of the call it answers adds to the size of a result."""
    count = view.counter.count
    if turn.dialect != view.counter.dialect == body.dialect:  # it goes out under the label of its call's place
        return Size(max(0, view.counter.place - count(body.call)))
    call = turn.calls[index]
    if call.legacy and not (body.extra and body.extra.get("name")):  # on the wire its name is its label
        return Size(count(call.name), text_bytes(call.name))
    if call.id and call.id.isascii() and call.id == body.call and [c.id for c in turn.calls].index(call.id) == index:
        return ZERO  # nearly always, and without looking at every label
    label = call_labels(turn.calls, unit.key)[index]
    return Size(count(label) - count(body.call), text_bytes(label) - text_bytes(body.call))


def _place(view: View, body: ToolResult) -> tuple[Unit, int] | None:
    """The open call a result answers: by place if it is ours, else by label, in the newest turn that waits for it."""
    if body.place is not None:
        key, index = body.place
        unit = view.open_unit(key) if key in view.open_units else None
        return None if unit is None or index not in unit.open_calls else (unit, index)
    name = body.extra.get("name") if body.extra else None
    for key in sorted(view.open_units, reverse=True) if len(view.open_units) > 1 else view.open_units:
        unit = view.open_unit(key)
        turn = unit.head
        assert isinstance(turn, Assistant)
        for index in unit.open_calls:
            call = turn.calls[index]
            if call.legacy == body.legacy and _answers(body.call, name, call):
                return unit, index
    return None


def _answers(label: str, name: str | None, call: Call) -> bool:
    """By its id; a call without one, by its name, where the result has any."""
    return label == call.id if call.id else (not label or label == call.name) and name in {None, call.name}


def _head(view: View, entry: Entry) -> None:
    assert isinstance(entry.body, Head)
    if view.in_flight is not None or view.shared_slots or view.head_entry is not None:
        view.shared_slots, view.first_break = -1, (-1, entry.seq, "head")
    view.head_entry = entry
    view.prefix_digest.truncate(-1)
    size = head_size(entry.body, entry.tokens[0])
    view.total = view.total.replaced(view.head_size, size)
    view.head_size = size


def _sent(view: View, entry: Entry) -> None:
    assert isinstance(entry.body, Sent)
    sent = entry.body
    view.in_flight, view.sent_tokens, view.sent_digest = entry, sent.tokens, sent.digest
    view.since_break = view.since_break.next_request(sent.tokens, sent.shared_tokens, broke=sent.breaks is not None)
    view.shared_slots, view.first_break = len(view.slots), None


def _edit(view: View, entry: Entry) -> None:
    edit = entry.body
    assert isinstance(edit, (Fold, Trim, Pin, Undo))
    if view.prefix_digest.signatures_unchecked and isinstance(edit, Fold):
        _recheck_signatures(view)  # what a fold saves depends on it, and must not depend on how the entries are chunked
    if view.refusal(edit) is not None:
        return
    if isinstance(edit, Fold):
        _fold(view, entry, edit)
    elif isinstance(edit, Trim):
        _trim(view, entry, edit)
    elif isinstance(edit, Pin):
        why = edit.why or "pin"
        _change_unit(view, entry, view.unit_of[edit.entry], why, lambda u: replace(u, pins=(*u.pins, entry.seq)))
    else:
        _undo(view, entry, edit)


def _fold(view: View, entry: Entry, fold: Fold) -> None:
    i, j = view.slot_index(fold.first), view.slot_index(fold.last)
    text = Size(entry.tokens[0], MESSAGE_BYTES + text_bytes(fold.text), 0, 1)
    folded = make_folded(entry, tuple(view.slots[i : j + 1]), fold, text)
    _splice(view, i, j, [folded], entry, fold.why or "fold")


def _splice(view: View, i: int, j: int, slots: list[Slot], entry: Entry, why: str) -> None:
    for slot in view.slots[i : j + 1]:
        view.total = view.total.minus(slot.size)
    for slot in slots:
        view.total = view.total.plus(slot.size)
    view.slots[i : j + 1] = slots
    view.keys = [*view.keys[:i], *[slot.first for slot in slots], *view.keys[j + 1 :]]
    _mark_break(view, i, entry, why)


def _trim(view: View, entry: Entry, trim: Trim) -> None:
    found = find_part(view.fetch(trim.entry), trim.part)
    assert found is not None
    form = apply_trim(found[0], trim)
    cut = AppliedTrim(entry.seq, trim, entry.tokens[0] if entry.tokens else 0, 0 if form is None else part_bytes(form))
    why = trim.why or "trim"
    _change_unit(view, entry, view.unit_of[trim.entry], why, lambda u: _with_trims(view, u, (*u.trims, cut)))


def _with_trims(view: View, unit: Unit, cuts: tuple[AppliedTrim, ...]) -> Unit:
    return with_shown_size(replace(unit, trims=cuts), view.entries_of(unit))


def _change_unit(view: View, entry: Entry, key: int, why: str, change: Callable[[Unit], Unit]) -> None:
    """Replace a unit wherever it stands, and the folds above it. What it did not touch is copied, never looked at."""
    at = view.slot_index(key)
    path: Path = []
    slot = view.slots[at]
    while isinstance(slot, Folded):
        i, kid = child_at(slot, key)
        path.append((slot, i))
        slot = kid
    new = change(slot)
    dressed = new if path and not new.pins else _load(view, new)
    top = replace_in_folds(path, slot, (dressed,))
    if _appearance(slot, path) == _appearance(new, path):
        _replace_slot(view, at, top)
    else:
        _splice(view, at, at, [top], entry, why)


def _load(view: View, slot: Slot) -> Slot:
    """A slot as it must be if it shows: a unit with its entries, a fold with its text."""
    if isinstance(slot, Unit):
        return slot if slot.entries is not None else replace(slot, entries=view.entries_of(slot))
    fold = view.fetch(slot.seq).body
    return replace(slot, text=fold.text) if isinstance(fold, Fold) else slot


def _undo(view: View, entry: Entry, undo: Undo) -> None:
    target = view.fetch(undo.edit)
    edit, seq, why = target.body, target.seq, undo.why or "undo"
    if isinstance(edit, Pin):
        key = view.unit_of[edit.entry]
        _change_unit(view, entry, key, why, lambda u: replace(u, pins=tuple(pin for pin in u.pins if pin != seq)))
        return
    assert isinstance(edit, (Fold, Trim))
    view.undone = (*view.undone, (seq, replace(edit, text="-") if isinstance(edit, Fold) else edit))
    if isinstance(edit, Trim):
        key = view.unit_of[edit.entry]
        _change_unit(view, entry, key, why, lambda u: _with_trims(view, u, tuple(c for c in u.trims if c.seq != seq)))
        return
    found = view.path_to_fold(seq, edit)
    assert found is not None, "the predicate has found it"
    *path, (folded, _) = found
    at = view.slot_index(edit.first)
    if path:  # it did not show, nor will its kids: what is pinned in it has surfaced all along
        _replace_slot(view, at, replace_in_folds(path, folded, folded.children))
    else:
        _splice(view, at, at, [_load(view, kid) for kid in folded.children], entry, why)


def _recheck_signatures(view: View) -> None:
    """Bound reasoning shows only on the very prefix it was made on (law 13): look again after a break."""
    for at, digest in prefixes(view.head_entry, view.slots):
        if at == len(view.slots):
            break
        slot = view.slots[at]
        if isinstance(slot, Unit) and slot.signed_prefix and slot.signature_stale != (digest != slot.signed_prefix):
            assert slot.entries is not None
            _replace_slot(
                view, at, with_shown_size(replace(slot, signature_stale=not slot.signature_stale), slot.entries)
            )
            view.prefix_digest.truncate(at)
    view.prefix_digest.signatures_unchecked = False


def _appearance(unit: Unit, path: Path) -> Any:
    """What an edit can change in how a unit looks: whether it surfaces out of its folds, and its winning cuts."""
    hidden = path and (not unit.pins or unit.key in path[0][0].carries)
    return None if hidden else {place: cut.rank for place, cut in unit.effective_trims().items()}


_APPLY: dict[type, Callable[[View, Entry], object]] = {
    User: _user,
    Assistant: _assistant,
    ToolResult: _result,
    Note: _note,
    Failure: _failure,
    Head: _head,
    Sent: _sent,
    Fold: _edit,
    Trim: _edit,
    Pin: _edit,
    Undo: _edit,
    Instruction: _fact,
    Recalled: _fact,
    Handoff: _fact,
}
