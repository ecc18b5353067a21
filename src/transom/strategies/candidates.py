"""What strategies ask before they propose an edit: which units may be folded or trimmed, which results are large, how
many slots fit into some room, and whether an edit is worth a break of the cached prefix.

Each question has one definition, here.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import reduce
from math import inf

from transom.core.budget import UNLIMITED
from transom.core.edit import Pin
from transom.core.message import Note
from transom.core.policy import Target
from transom.core.tokens import MESSAGE_BYTES, MESSAGE_TOKENS, ZERO, Size, text_bytes
from transom.core.unit import FoldedSlot, Slot, Unit, with_signature_stale
from transom.core.view import View
from transom.strategies.text.shown_parts import ShownPart

MIN_ROOM = 0.25
"""The least share of the limit that counts as room for the conversation, however large the required units are."""

STUB_MARKER = 40
"""Tokens of a stub's marker, about."""

# ---- folds

RECALLED = "recalled before"
"""Why a fold hides recalled text."""


def stands_for_turns(slot: Slot) -> bool:
    """Whether a slot is a fold that stands for turns. False for a unit, and for a fold over recalled text, which only
    marks where that text was."""
    return isinstance(slot, FoldedSlot) and slot.why != RECALLED


def is_user_pinned(view: View, unit: Unit) -> bool:
    """Whether a person pinned this unit. A pin that a plan placed does not count."""
    if not unit.pins:
        return False
    pins = (view.fetch(seq).body for seq in unit.pins)
    return any(isinstance(pin, Pin) and not pin.implied for pin in pins)


def stays_visible(view: View, target: Target, unit: Unit) -> bool:
    """Whether a fold over this unit leaves it visible: it is protected, or a person pinned it."""
    return unit.key in target.protected or is_user_pinned(view, unit)


def slots_before_newest(view: View, target: Target) -> int:
    """The number of slots in front of the first of these: the newest unit, the open units, and the units that wait for
    a tool of the provider. No fold may take that slot or a later one. Nor may a fold take the first `leading_slots` of
    the slots before it. 0 if the window has only notes."""
    return max(0, min(map(view.slot_index, (target.newest_unit, *view.open_units, *view.waiting.values()))))


def leading_slots(view: View, target: Target) -> int:
    """The number of slots at the front that no fold may take: the provider's own compaction with what precedes it, and
    behind it the required units up to the first other one (mostly the first task)."""
    start, stop = view.fixed_slots, slots_before_newest(view, target)
    return next((at for at in range(start, stop) if view.slots[at].first not in target.required), max(start, stop))


def foldable_runs(view: View, target: Target, slots: Sequence[Slot]) -> list[list[Slot]]:
    """Divide slots into runs, each of which one fold may take. `slots`: neighbours in the window, in its order.

    A slot that the user restored is in no run, unless the window does not fit. No run begins or ends between a call of
    the provider's own tool and its result, unless that would leave out too many slots (see `whole_spans`). A run may
    have nothing to hide (see `hides_a_unit`).
    """
    found: list[list[Slot]] = [[]]
    for slot in slots:
        if not target.over_limit and view.user_restored(slot):
            found.append([])
        else:
            found[-1].append(slot)
    return [whole_spans(view, run) for run in found if run]


MAX_LEFT_OUT = 0.25
"""The share of a run that may be left out of it, so that it has whole spans."""


def whole_spans(view: View, run: list[Slot]) -> list[Slot]:
    """A run, of at least one slot, without the slots at its ends that hold only one half of a span: the call of a
    provider's own tool, or its result. If more than `MAX_LEFT_OUT` of the run would go, it stays as it is: the dialect
    leaves out the half that remains in the window."""
    first = view.slot_index(run[0].first)
    start, stop = first, first + len(run)
    while start < stop and view.is_in_span(start):
        start += 1
    while start < stop and view.is_in_span(stop):
        stop -= 1
    return run[start - first : stop - first] if stop - start >= (1 - MAX_LEFT_OUT) * len(run) else run


def cut_before_user(view: View, slots: Sequence[Slot], most: float) -> int:
    """How many of `slots`, which follow a fold, the fold should take too, so that a message of the user follows it.

    0 if no message of the user comes within the first `most` tokens of `slots`, and 0 unless the window has reasoning
    that is bound to its prefix. Every turn behind a new fold loses such reasoning; a turn that is also cut off from its
    user message would lose its task as well.
    """
    if not view.has_signed:
        return 0
    for at, slot in enumerate(slots):
        if isinstance(slot, Unit) and slot.by_user and not view.is_in_span(view.slot_index(slot.key)):
            return at
        most -= slot.size.tokens
        if most < 0:
            break
    return 0


def hides_a_unit(view: View, target: Target, slots: Iterable[Slot]) -> bool:
    """Whether a fold over these slots would hide a unit that is visible now. Else it is not worth an entry."""
    return any(isinstance(slot, Unit) and not stays_visible(view, target, slot) for slot in slots)


def freed_by_folding(view: View, target: Target, slots: Iterable[Slot]) -> Size:
    """The size of these slots without that of the units that stay visible: what a fold over them frees, its own text
    aside. Below 0 if an older fold shows only excerpts of such units: a new fold shows these whole again."""
    return reduce(Size.plus, (_freed(view, target, slot) for slot in slots), ZERO)


def size_behind_fold(slot: Slot) -> Size:
    """The size that a slot has once a new fold stands in front of it: without its bound reasoning, which no window
    shows on another prefix than the one that it was made on.

    Whoever shares out the room behind a fold counts this size. With that before the fold, thoughts that the fold hides
    would take the room of a record.
    """
    if not isinstance(slot, Unit) or not slot.signed_prefix or slot.signature_stale:
        return slot.size
    assert slot.entries is not None
    return with_signature_stale(slot, slot.entries, stale=True).size


def saves_tokens(view: View, target: Target, slots: Sequence[Slot], text: str) -> bool:
    """Whether the window has fewer tokens after a fold over these slots with this text. (The log itself refuses a fold
    that saves no bytes.)"""
    return freed_by_folding(view, target, slots).tokens > fold_text_size(target, text).tokens


def fold_text_size(target: Target, text: str) -> Size:
    """The size of the text of a fold, which is one message."""
    return Size(MESSAGE_TOKENS + target.counter.count(text), MESSAGE_BYTES + text_bytes(text), 0, 1)


def _freed(view: View, target: Target, slot: Slot) -> Size:
    visible = (slot,) if isinstance(slot, Unit) else slot.all_pinned
    return reduce(Size.minus, (unit.size for unit in visible if stays_visible(view, target, unit)), slot.size)


# ---- trims


def may_trim(
    view: View,
    target: Target,
    unit: Unit,
    *,
    newest: bool = False,
    protected: Container[int] | None = None,
    implied_pins: bool = True,
) -> bool:
    """Whether a strategy may shorten a unit while the window fits.

    False for the newest unit, which the model needs now; for a unit with open calls; and for a unit that is restored by
    the user, protected or pinned.

    `newest`: allow the newest unit, also while it has open calls. `protected`: the keys of the protected units, in
    place of `target.protected`. `implied_pins`: False allows a unit that only plans have pinned, and no person.
    """
    is_newest = unit.key == target.newest_unit
    if (is_newest and not newest) or (unit.open_calls and not is_newest) or view.user_restored(unit):
        return False
    if unit.key in (target.protected if protected is None else protected):
        return False
    return not (unit.pins if implied_pins else is_user_pinned(view, unit))


def unsent_units(view: View, target: Target, *, over: float = 0) -> Iterator[Unit]:
    """Yield the units of more than `over` tokens that no request has carried yet and that may be trimmed (see
    `may_trim`), also the newest one: trims of them break no cached prefix.

    A unit that has a trim already is left out, until another result of it comes.
    """
    for slot in view.slots[max(0, view.shared_slots) :]:
        if not isinstance(slot, Unit) or slot.size.tokens <= over:
            continue
        if not any(trim.seq > slot.seqs[-1] for trim in slot.trims) and may_trim(view, target, slot, newest=True):
            yield slot


def is_large(part: ShownPart, preview: int) -> bool:
    """Whether what the window shows of a part has more than twice the tokens of its stub, with a preview of `preview`
    tokens."""
    return part.shown_tokens > 2 * stub_size(preview)


def stub_size(preview: int) -> int:
    """The tokens of a stub with a preview of `preview` tokens, about."""
    return preview + STUB_MARKER


# ---- room


MERGED = 0.42
"""The share of the free room (`free_room`) that a record of all old turns may have."""


def free_room(limit: float, fixed: float) -> float:
    """The tokens of a limit that are left for the conversation beside its `fixed` part (head, first task and newest
    user message), but at least a quarter of the limit.

    The docstrings of strategies call it F: most of their shares are shares of it. Notes that are due do not belong to
    `fixed`: the next plan will count them among the newest turns, so this plan does too (law 8).
    """
    return max(MIN_ROOM * limit, limit - fixed)


def how_many_fit(
    slots: Iterable[Slot],
    tokens: float = inf,
    *,
    units: int = UNLIMITED,
    messages: int = UNLIMITED,
    folds: bool = False,
    notes: bool = False,
    behind_fold: bool = False,
) -> int:
    """How many of these slots, from the first on, come to at most this many `tokens`, `units` and `messages`. Those
    behind the first that does not fit are not looked at.

    It stops at the first fold of turns; with `folds` a fold counts as a unit. A fold over recalled text always does.
    Notes take no room, since a plan adds them at the end and its next run must find the same slots (law 8); with
    `notes` they take theirs, where tokens are shared out and not slots.

    `behind_fold`: a new fold will stand in front of them (see `size_behind_fold`).
    """
    count = 0
    for slot in slots:
        if stands_for_turns(slot) and not folds:
            break
        if notes or not (isinstance(slot, Unit) and isinstance(slot.first_fact, Note)):
            size = size_behind_fold(slot) if behind_fold else slot.size
            tokens, units, messages = tokens - size.tokens, units - 1, messages - size.messages
        if min(tokens, units, messages) < 0:
            break
        count += 1
    return count


# ---- worth


def is_worth_a_break(view: View, target: Target, saved: Size, least: float) -> bool:
    """Whether folds that save this size are worth a break of the cached prefix: they lower the pressure
    (`Target.pressure`) by at least `least`, a share of the room. Always true if `target.over_limit`."""
    return target.over_limit or target.pressure(view) - target.pressure(view, saved) >= least


def relieves(view: View, target: Target, saved: Size) -> bool:
    """Whether edits that save this size save something of which the window has too much: tokens, bytes, images or
    messages. A trim saves no message, and the marker of a small fold may have more tokens than it hides: law 7 only
    forbids that it has more bytes."""
    return any(size > goal and part > 0 for size, goal, part in zip(view.total, target.goal, saved, strict=True))


def is_worth_a_batch(view: View, target: Target, saved: Size, least: float) -> bool:
    """Whether trims that save this size are worth a break of the cached prefix: they relieve the window (see
    `relieves`), and save at least the share `least` of the limit, in tokens or in bytes. (Folds go as deep as they
    must, so for them counts how far the pressure falls: `is_worth_a_break`.)"""
    shares = ((saved.tokens, target.limit.tokens), (saved.bytes, target.limit.bytes))
    return relieves(view, target, saved) and any(part >= least * limit for part, limit in shares)
