"""On arrival: no turn's results may fill the room that a cut has made."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom import texts
from transom.core.edit import Edit, Trim
from transom.core.policy import Aim
from transom.core.view import View
from transom.strategies.arrival import fresh, results_of
from transom.strategies.covering import Choice
from transom.strategies.cutting import Form, Spot, level, shorten
from transom.strategies.index import Index
from transom.strategies.passages import joined, wider

LEAST = 3
"""Passages of a text of which some can be chosen."""


class ClipTurn(Struct, frozen=True, kw_only=True):
    """Results of over `tokens` are cut to that, and those of one turn that together come to over `over` of F, the room
    beside what must stand, to `to` of it, the longest first.

    Of a result stay its first and its last passage and those that hold most of its names; images stay.
    """

    tokens: int = 5_000
    allowance: float = 1.2
    over: float = 0.2
    to: float = 0.15

    def __call__(self, view: View, aim: Aim) -> Iterator[Edit]:
        limit = aim.limit.tokens
        must = sum(
            view.unit(key).size.tokens for key in {view.first_task, view.newest_user} - {None} if key is not None
        )
        free = max(0.25 * limit, limit - view.head_size.tokens - must)
        for unit in fresh(view, min(self.tokens * self.allowance, self.over * free)):
            spots = [spot for spots in results_of(view, unit) for spot in spots]
            sizes = [spot.tokens for spot in spots]
            least = level([min(size, self.tokens) for size in sizes], int(self.to * free))
            most = min(self.tokens, least if sum(sizes) > self.over * free else self.tokens)
            for spot in spots:
                if spot.tokens > (most if most < self.tokens else most * self.allowance):
                    yield _clipped(view, aim, spot, int(most))


def _clipped(view: View, aim: Aim, spot: Spot, cap: int) -> Trim:
    """A text cut to what covers most of its names, its ends included; in two halves if it has too few passages."""
    ref = aim.ref(spot.entry)
    note = texts.clipped(ref, spot.tokens - cap, spot.text.count("\n") + 1)
    keep, note = _covering(view, aim, spot, cap, note) or shorten(
        spot, cap, aim.counter, lambda _: note, texts.bare(ref)
    )
    return Trim(entry=spot.entry, part=spot.part, keep=keep, note=note, why="clip")


def _covering(view: View, aim: Aim, spot: Spot, cap: int, note: str) -> Form | None:
    """The form that shows its first and its last passage and those that hold most of its other names."""
    index = Index.of(view, aim.budget.usable)
    passages = [one for one in index.at(view, spot.entry).passages if one.text == spot.part[1]]
    if len(passages) < LEAST:
        return None
    left = cap - aim.counter.count(note) - passages[0].tokens - passages[-1].tokens
    if left <= 0:
        return None
    last = len(passages) - 1
    choice = Choice(passages)
    names = [one.names for one in passages]
    choice.cover(left, names, index.weight, covered=(*names[0], *names[-1]))
    spans = joined([wider(spot.text, passages[at].start, passages[at].end) for at in {0, last, *choice.taken}])
    return (tuple(spans), note) if len(spans) > 1 else None
