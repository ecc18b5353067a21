"""The last steps, which cannot fail while the smallest window fits: turns become excerpts in the text of a fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transom.core import texts
from transom.core.edit import Edit, Fold
from transom.core.message import Assistant, Fact, Note, Text, User, said
from transom.core.policy import Aim
from transom.core.tokens import shown_text
from transom.core.unit import Folded, Slot, Unit, pinned_in
from transom.core.view import View
from transom.strategies.cutting import Spot, shorten
from transom.strategies.omission import span

EXCERPTS = (200, 60, 20, 8)
"""Tokens of each excerpt: the first try, and what follows if that does not fit."""


def late_notes(view: View, aim: Aim) -> Iterator[Edit]:
    """Late results that were said give way to their reference."""
    for slot in view.slots:
        if isinstance(slot, Unit) and isinstance(slot.head, Note) and not slot.head.key:
            yield Fold(first=slot.key, last=slot.key, text=texts.bare(aim.ref(slot.head.refs[0])), why="elide")


def newest_turn(view: View, aim: Aim) -> Iterator[Edit]:
    """A newest turn that is too large even so becomes one slot with excerpts of what it holds."""
    slot = view.slots[view.index(aim.newest)]  # or, if there are only notes, the last of them
    if not isinstance(slot, Unit) or slot.key in aim.required or slot.missing:
        return
    pieces = [piece for seq in slot.seqs for piece in _piece(view, aim, seq)]
    yield from _folds(view, aim, (slot,), pieces, (slot.key,))


def bare_omissions(view: View, aim: Aim) -> Iterator[Edit]:
    """The markers of what is left out say no more than where it is."""
    for slot in view.slots:
        if isinstance(slot, Folded) and not slot.carries:
            yield Fold(
                first=slot.first, last=slot.last, text=texts.bare(span(view, aim, (slot,))), why="over the limit"
            )


def everything(view: View, aim: Aim) -> Iterator[Edit]:
    """All there is becomes one slot with excerpts of what must stay, what is pinned, and the newest turn."""
    pinned = (unit.key for slot in view.slots for unit in pinned_in(slot))
    keys = dict.fromkeys(key for key in (*aim.required, *pinned, aim.newest) if key >= 0)
    pieces = [piece for key in keys for piece in _piece(view, aim, view.unit(key).seqs[0])]
    yield from _folds(view, aim, view.slots, pieces, tuple(keys))


def _folds(
    view: View, aim: Aim, slots: Sequence[Slot], pieces: Sequence[tuple[str, Spot]], carries: tuple[int, ...]
) -> Iterator[Fold]:
    """Folds of the same range, each smaller than the one before: the planner stops at the first that fits."""
    title = texts.bare(span(view, aim, slots))
    for cap in EXCERPTS:
        text = title + "".join(
            texts.quoted(aim.ref(spot.entry), role, _excerpt(aim, spot, cap)) for role, spot in pieces
        )
        yield Fold(first=slots[0].first, last=slots[-1].last, text=text, carries=carries, why="over the limit")


def _piece(view: View, aim: Aim, seq: int) -> Iterator[tuple[str, Spot]]:
    fact = view.fetch(seq).body
    assert isinstance(fact, Fact)
    text = said(fact) or "\n".join(part.text for part in fact.parts if isinstance(part, Text))
    role = "user" if isinstance(fact, User) else "assistant" if isinstance(fact, Assistant) else "tool"
    if text.strip():
        tokens = aim.counter.count(text)
        yield role, Spot(seq, ("text", 0), text, tokens, tokens)


def _excerpt(aim: Aim, spot: Spot, cap: int) -> str:
    if spot.tokens <= cap:
        return spot.text
    keep, note = shorten(spot, cap, aim.counter, lambda gone: f" […{gone:,} tokens…] ", "…")
    return shown_text(spot.text, keep, note)
