"""The questions that strategies ask before they propose an edit. Each has one definition, here.

Which units may be folded, which may be trimmed? Which results are large? How many slots fit into some room? Is what an
edit saves worth a break of the cached prefix?
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
from transom.core.unit import FoldedSlot, Slot, Unit
from transom.core.view import View
from transom.strategies.text.parts import ShownPart

MIN_ROOM = 0.25
"""The least share of the limit that counts as room for the conversation, however large the required units are."""

STUB_MARKER = 40
"""Tokens of a stub's marker, about."""

# ---- folds

RECALLED = "recalled before"
"""Why a fold hides recalled text."""


def stands_for_turns(slot: Slot) -> bool:
    """Whether a slot is a fold that stands for turns. One over recalled text does not: it is a mark in its place."""
    return isinstance(slot, FoldedSlot) and slot.why != RECALLED


def is_user_pinned(view: View, unit: Unit) -> bool:
    """Whether a person pinned this unit. Pins that a plan placed go with the plan's folds."""
    if not unit.pins:
        return False
    pins = (view.fetch(seq).body for seq in unit.pins)
    return any(isinstance(pin, Pin) and not pin.implied for pin in pins)


def stays_visible(view: View, target: Target, unit: Unit) -> bool:
    """Whether a fold over this unit leaves it visible: it is protected, or a person pinned it."""
    return unit.key in target.protected or is_user_pinned(view, unit)


def slots_before_newest(view: View, target: Target) -> int:
    """How many slots precede the newest unit, every open unit, and every unit that waits for a tool of the provider; 0
    if there are only notes."""
    return max(0, min(map(view.slot_index, (target.newest_unit, *view.open_units, *view.waiting.values()))))


def leading_slots(view: View, target: Target) -> int:
    """How many slots at the front no fold may take: the provider's own compaction with what precedes it, and the first
    task, where it leads the conversation."""
    start, stop = view.fixed_slots, slots_before_newest(view, target)
    return next((at for at in range(start, stop) if view.slots[at].first not in target.required), max(start, stop))


def foldable_runs(view: View, target: Target, slots: Sequence[Slot]) -> list[list[Slot]]:
    """The runs of adjacent slots that a fold may take.

    What the user restored is left alone, so it ends a run; where the window does not fit, it is taken too. No run
    begins or ends between a call of the provider's own tool and its result, unless that would leave out too many slots
    (`whole_spans`).
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
    """A run without the slots at its ends that hold only one half of a span: the call of a provider's own tool, or its
    result. If more than `MAX_LEFT_OUT` of the run would go, it stays as it is: the dialect leaves out the half that
    remains in the window."""
    first = view.slot_index(run[0].first)
    start, stop = first, first + len(run)
    while start < stop and view.is_in_span(start):
        start += 1
    while start < stop and view.is_in_span(stop):
        stop -= 1
    return run[start - first : stop - first] if stop - start >= (1 - MAX_LEFT_OUT) * len(run) else run


def cut_before_user(view: View, slots: Sequence[Slot], most: float) -> int:
    """How many of `slots`, which follow a fold, the fold should take too, so that it ends before a message of the user.
    They may have `most` tokens together; 0 if no such message comes within these.

    It is 0 unless reasoning is bound to its prefix. Every turn behind a fold loses its bound reasoning. A turn that is
    also cut off from its user message would lose its task as well.
    """
    if not view.prefix.has_signed:
        return 0
    for at, slot in enumerate(slots):
        if isinstance(slot, Unit) and slot.by_user and not view.is_in_span(view.slot_index(slot.key)):
            return at
        most -= slot.size.tokens
        if most < 0:
            break
    return 0


def hides_a_unit(view: View, target: Target, slots: Iterable[Slot]) -> bool:
    """Whether a fold over these slots would hide a unit that is visible now. A fold over nothing but older folds and
    units that stay is not worth an entry."""
    return any(isinstance(slot, Unit) and not stays_visible(view, target, slot) for slot in slots)


def freed_by_folding(view: View, target: Target, slots: Iterable[Slot]) -> Size:
    """The size that a fold over these slots frees, before its own text: all but the units that stay visible. A unit
    of which an older fold has an excerpt counts as visible, because a new fold shows it whole again."""
    return reduce(Size.plus, (_freed(view, target, slot) for slot in slots), ZERO)


def saves_tokens(view: View, target: Target, slots: Sequence[Slot], text: str) -> bool:
    """Whether a fold over these slots with this text saves tokens. One that saves no bytes is refused in any case."""
    return freed_by_folding(view, target, slots).tokens > MESSAGE_TOKENS + target.counter.count(text)


def fold_texts_size(target: Target, fold_texts: Sequence[str]) -> Size:
    """The size of the texts of folds, each one message."""
    tokens = sum(MESSAGE_TOKENS + target.counter.count(text) for text in fold_texts)
    return Size(tokens, sum(MESSAGE_BYTES + text_bytes(text) for text in fold_texts), 0, len(fold_texts))


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

    Not the newest unit, which the model needs now; no open unit; none that the user restored; no protected and no
    pinned one. Strategies that differ say why: `newest` allows the newest unit, also while it is open, `protected`
    replaces `target.protected`, and without `implied_pins` the pins that plans place do not count.
    """
    is_newest = unit.key == target.newest_unit
    if (is_newest and not newest) or (unit.open_calls and not is_newest) or view.user_restored(unit):
        return False
    if unit.key in (target.protected if protected is None else protected):
        return False
    return not (unit.pins if implied_pins else is_user_pinned(view, unit))


def unsent_units(view: View, target: Target, *, over: float = 0) -> Iterator[Unit]:
    """The units of more than `over` tokens that no request has carried, and that no edit has touched since their last
    result.

    The newest unit is one of them: on arrival everything is new, and a trim costs nothing. So is a unit whose results
    come one by one, as long as the newest of them is behind the edits of the others.
    """
    for slot in view.slots[max(0, view.shared_slots) :]:
        if not isinstance(slot, Unit) or slot.size.tokens <= over or _is_trimmed_since_last_result(slot):
            continue
        if may_trim(view, target, slot, newest=True):
            yield slot


def _is_trimmed_since_last_result(unit: Unit) -> bool:
    return any(trim.seq > unit.seqs[-1] for trim in unit.trims)


def is_large(part: ShownPart, preview: int) -> bool:
    """Whether a text is worth a stub with a preview of this many tokens: it is more than twice as long as its stub."""
    return part.shown_tokens > 2 * stub_size(preview)


def stub_size(preview: int) -> int:
    """Tokens of a stub with a preview of this many tokens, about."""
    return preview + STUB_MARKER


# ---- room


MERGED = 0.42
"""The share of the free room (`free_room`) of a record that stands for all old turns."""


def free_room(limit: float, fixed: float) -> float:
    """The tokens that a conversation has beside its `fixed` part: head, first task, newest user message.

    The docstrings of strategies call it F: most of their shares are shares of it. Due notes are not in `fixed`: the
    next plan sees them as newest turns, so this one counts them there (law 8).
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
) -> int:
    """How many of these slots, from the first on, come to at most this many `tokens`, `units` and `messages`.

    It stops at the first fold, unless `folds` counts them like units. Notes take no room, since a plan adds them at
    the end and its next run must find the same slots (law 8); `notes` counts them all the same, where tokens are
    shared out and not slots.
    """
    count = 0
    for slot in slots:
        if stands_for_turns(slot) and not folds:
            break
        if notes or not (isinstance(slot, Unit) and isinstance(slot.first_fact, Note)):
            tokens, units, messages = tokens - slot.size.tokens, units - 1, messages - slot.size.messages
        if min(tokens, units, messages) < 0:
            break
        count += 1
    return count


# ---- worth


def is_worth_a_break(view: View, target: Target, saved: Size, least: float) -> bool:
    """Whether folds that save so much are worth a break of the cached prefix: they lower the pressure by `least`, or
    the window does not fit without them."""
    return target.over_limit or target.pressure(view) - target.pressure(view, saved) >= least


def relieves(view: View, target: Target, saved: Size) -> bool:
    """Whether edits save something of which there is too much: tokens, bytes, images or messages.

    A trim does not help where only messages are too many. And a marker of fewer bytes than a few short messages, which
    the log would take, may have more tokens than they have (law 7).
    """
    return any(size > goal and part > 0 for size, goal, part in zip(view.total, target.goal, saved, strict=True))


def is_worth_a_batch(view: View, target: Target, saved: Size, least: float) -> bool:
    """Whether trims that save so much are worth a break: they relieve the window, and save the share `least` of the
    limit, in tokens or bytes.

    This is not the question for folds. A fold goes as deep as it has to, and is judged by how far the pressure falls;
    a batch of trims has what it finds, and is judged by its own size.
    """
    shares = ((saved.tokens, target.limit.tokens), (saved.bytes, target.limit.bytes))
    return relieves(view, target, saved) and any(part >= least * limit for part, limit in shares)
