"""The last steps, which cannot fail while the smallest window fits: turns become excerpts in the text of a fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transom import texts
from transom.core.edit import Edit, Fold
from transom.core.message import Call, Fact, Media, Note, Reasoning, Text, addressed_parts, own_text, role_of
from transom.core.policy import Target
from transom.core.tokens import MESSAGE_BYTES, MESSAGE_TOKENS, Size, text_bytes, trimmed_text
from transom.core.unit import Folded, Slot, Unit, pinned_units_in
from transom.core.view import View
from transom.strategies.omission import before, span
from transom.strategies.text.truncation import Spot, shorten

EXCERPTS = (200, 60, 20, 8)
"""Tokens of each excerpt: the first try, and what follows if that does not fit."""


def late_notes(view: View, target: Target) -> Iterator[Edit]:
    """Late results that were said give way to their reference."""
    for slot in view.slots:
        if isinstance(slot, Unit) and isinstance(slot.head, Note) and slot.head.refs:
            yield Fold(first=slot.key, last=slot.key, text=texts.bare(target.reference(slot.head.refs[0])), why="elide")


def before_newest(view: View, target: Target) -> Iterator[Edit]:
    """All before the newest turn becomes one slot with excerpts of what must stay: where messages are short."""
    slots = view.slots[: before(view, target)]
    yield from _folds(
        view, target, slots, [key for key in (*target.required, *_pinned(slots)) if 0 <= key < target.newest_unit]
    )


def newest_turn(view: View, target: Target) -> Iterator[Edit]:
    """A newest turn that is too large even so becomes one slot with excerpts of what it holds."""
    slot = view.slots[view.slot_index(target.newest_unit)]  # or, if there are only notes, the last of them
    if isinstance(slot, Unit) and slot.key not in target.required and not slot.open_calls:
        yield from _folds(view, target, (slot,), (slot.key,))


def bare_omissions(view: View, target: Target) -> Iterator[Edit]:
    """The markers of what is left out say no more than where it is."""
    for slot in view.slots:
        if isinstance(slot, Folded) and not slot.carries:
            yield Fold(
                first=slot.first, last=slot.last, text=texts.bare(span(view, target, (slot,))), why="over the limit"
            )


def everything(view: View, target: Target) -> Iterator[Edit]:
    """All there is becomes one slot with excerpts of what must stay, what is pinned, and the newest turn."""
    keys = (*target.required, *_pinned(view.slots), target.newest_unit)
    yield from _folds(view, target, view.slots, [key for key in keys if key >= 0])


def _pinned(slots: Sequence[Slot]) -> list[int]:
    return [unit.key for slot in slots for unit in pinned_units_in(slot)]


def _folds(view: View, target: Target, slots: Sequence[Slot], keys: Sequence[int]) -> Iterator[Fold]:
    """Folds of the same range, each smaller than the one before: the planner stops at the first that fits.

    The text of the last has an excerpt only of what is required: the rest of `keys` is in its range, by name. Where
    only messages are still too many, a smaller text is of no help.
    """
    if not slots:
        return
    title, carries = texts.bare(span(view, target, slots)), tuple(dict.fromkeys(keys))
    required = [key for key in carries if key in target.required]
    behind = view.total
    for slot in slots:
        behind = behind.minus(slot.size)
    for cap, quoted in (*((cap, carries) for cap in EXCERPTS), (EXCERPTS[-1], required)):
        text = title + "".join(_quotes(view, target, quoted, cap))
        yield Fold(first=slots[0].first, last=slots[-1].last, text=text, carries=carries, why="over the limit")
        after = behind.plus(Size(MESSAGE_TOKENS + target.counter.count(text), MESSAGE_BYTES + text_bytes(text)))
        if after.bytes < view.total.bytes and after.tokens <= target.goal.tokens and after.bytes <= target.goal.bytes:
            return


def _quotes(view: View, target: Target, keys: Sequence[int], cap: int) -> Iterator[str]:
    """An excerpt of each fact of these units."""
    for seq in (seq for key in keys for seq in view.unit(key).seqs):
        if isinstance(fact := view.fetch(seq).body, Fact):
            yield texts.quoted(target.reference(seq), role_of(fact), _excerpt(target, seq, fact, cap), view.notes)


def _excerpt(target: Target, seq: int, fact: Fact, cap: int) -> str:
    """At most `cap` tokens of what a fact says; what is no text is named."""
    pieces = [own_text(fact)] if own_text(fact) else []
    for _, part in addressed_parts(fact):
        if isinstance(part, Text):
            pieces.append(part.text)
        elif isinstance(part, Call):
            pieces.append(f"{part.name}({part.args})")
        elif not isinstance(part, Reasoning):
            pieces.append(texts.left_out(part.media if isinstance(part, Media) else "part"))
    text = "\n".join(piece for piece in pieces if piece.strip())
    tokens = target.counter.count(text)
    if tokens <= cap:
        return text
    spot = Spot(seq, ("text", 0), text, tokens, tokens)
    keep, note = shorten(spot, cap, target.counter, lambda gone: f" […{gone:,} tokens…] ", "…")
    return trimmed_text(text, keep, note)
