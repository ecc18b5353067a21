"""What a policy does if a fold could not reach the goal, because too much must stay: large results become previews,
long texts become outlines, and at the worst only the last rounds stay.

Each step makes the window smaller, or changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import islice

from msgspec.structs import replace

from transom import texts
from transom.core.edit import Edit, Fold, Span, Trim
from transom.core.message import Note
from transom.core.policy import Strategy, Target
from transom.core.tokens import ZERO, Size
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.candidates import fold_text_size, is_large, may_trim, relieves
from transom.strategies.fold import excerpt_folds
from transom.strategies.shorten.forms import Stub
from transom.strategies.shorten.shorten import Shorten
from transom.strategies.text.shown_parts import ShownPart, result_texts, shown_parts

PREVIEW_TOKENS = 60
"""Tokens of a preview."""

OUTLINED_FROM = 200
"""Texts of more tokens are outlined."""

LAST_ROUNDS = 4
"""The rounds that stay at the worst."""

_POINT = re.compile(r"\s*(?:[-*•#]|\d+[.)])\s")


def _large_results(view: View, target: Target) -> Iterator[ShownPart]:
    """The large results, also of protected units: what is protected did not leave enough room."""
    for slot in view.slots:
        if isinstance(slot, Unit) and may_trim(view, target, slot, protected=()):
            yield from (part for parts in result_texts(view, slot) for part in parts if is_large(part, PREVIEW_TOKENS))


def _long_texts(view: View, target: Target) -> Iterator[ShownPart]:
    """The texts of more than `OUTLINED_FROM` tokens, also those of the newest unit and of protected ones.

    Those of required units and of units that a person pinned are named only if the window does not fit; those of units
    that the user restored never.
    """
    for unit in view.visible_units():
        if target.over_limit:
            free = not view.user_restored(unit)
        else:
            free = may_trim(view, target, unit, newest=True, protected=target.required, implied_pins=False)
        if free:
            yield from (part for part in shown_parts(view, unit, "text") if part.shown_tokens > OUTLINED_FROM)


def last_rounds(view: View, target: Target) -> Iterator[Edit]:
    """Folds everything before the last four rounds into one slot, with excerpts of what must stay. Nothing if there are
    no more than four.

    A round begins with a message of the user. If there are no more than four of these, each unit but a note counts as a
    round.

    If the window does not fit, the folds are proposed one by one with shorter and shorter excerpts. If it fits, only
    the first is proposed: if it saves something of which there is too much, and the user has restored nothing.
    """
    units = [slot for slot in view.slots if isinstance(slot, Unit) and not isinstance(slot.first_fact, Note)]
    starts = [unit.key for unit in units if unit.by_user]
    if len(starts) <= LAST_ROUNDS:
        starts = [unit.key for unit in units]
    if len(starts) <= LAST_ROUNDS:
        return
    shorter_and_shorter = excerpt_folds.before_newest(view, replace(target, newest_unit=starts[-LAST_ROUNDS]))
    if target.over_limit:
        yield from shorter_and_shorter
    elif not any(map(view.user_restored, view.slots)):
        yield from (
            fold for fold in islice(shorter_and_shorter, 1) if relieves(view, target, _saved(view, target, fold))
        )


def _saved(view: View, target: Target, fold: Fold) -> Size:
    """What a fold saves if no unit of its range stays visible: the size of its slots without that of its text."""
    slots = view.slots[view.slot_index(fold.first) : view.slot_index(fold.last) + 1]
    return reduce(Size.plus, (slot.size for slot in slots), ZERO).minus(fold_text_size(target, fold.text))


def _outlines(view: View, target: Target, parts: Sequence[ShownPart]) -> Iterator[Trim]:  # noqa: ARG001
    """A form: the first paragraph of each text, and each later line that is a bullet, a numbered point or a heading."""
    for part in parts:
        keep: list[Span] = []
        at, opening = 0, True
        for line in part.text.splitlines(keepends=True):
            opening = opening and bool(line.strip() or not at)
            if opening or _POINT.match(line):
                start = keep.pop()[0] if keep and keep[-1][1] == at else at
                keep.append((start, at + len(line)))
            at += len(line)
        removed = part.tokens * (at - sum(b - a for a, b in keep)) // max(1, at)
        note = texts.excerpt_marker(target.reference(part.entry), removed)
        yield Trim(entry=part.entry, part=part.part, keep=tuple(keep), note=note)


PREVIEWS = Shorten(_large_results, Stub(PREVIEW_TOKENS), "preview")
OUTLINES = Shorten(_long_texts, _outlines, "outline")

FALLBACKS: tuple[Strategy, ...] = (PREVIEWS, OUTLINES, last_rounds)
"""In this order, until the goal is reached."""
