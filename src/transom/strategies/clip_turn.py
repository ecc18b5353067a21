"""On arrival: no turn's results may fill the room that a cut has made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain

from msgspec import Struct

from transom import texts
from transom.core.edit import Edit, Trim
from transom.core.policy import Target
from transom.core.tokens import trimmed_text
from transom.core.view import View
from transom.strategies.arrival import fresh, results_of
from transom.strategies.digest.coverage import Choice
from transom.strategies.digest.index import Index
from transom.strategies.digest.passages import Passage, joined, wider
from transom.strategies.text.truncation import Form, Spot, level, shorten

LEAST = 3
"""Passages of a text of which some can be chosen."""

TRIES, CLOSE = 4, 0.98
"""How often passages are chosen until they fit, each time for so much of what would just fit."""


class ClipTurn(Struct, frozen=True, kw_only=True):
    """Results of over `tokens` are cut to that, and those of one turn that together come to over `over` of F, the room
    beside what must stand, to `to` of it, the longest first.

    Of a result stay its ends and the passages that hold most of its names; images stay.
    """

    tokens: int = 5_000
    allowance: float = 1.2
    over: float = 0.2
    to: float = 0.16

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        limit, large = target.limit.tokens, self.tokens * self.allowance
        if not any(fresh(view, min(large, self.over * 0.25 * limit))):
            return  # however little is free
        free = max(0.25 * limit, limit - view.head_size.tokens - _standing(view))
        for unit in fresh(view, min(large, self.over * free)):
            spots = [spot for spots in results_of(view, unit) for spot in spots]
            sizes = [spot.tokens for spot in spots]
            least = level([min(size, self.tokens) for size in sizes], int(self.to * free))
            most = min(self.tokens, least if sum(sizes) > self.over * free else self.tokens)
            for spot in spots:
                if spot.tokens > (most if most < self.tokens else most * self.allowance):
                    yield _clipped(view, target, spot, int(most))


def _standing(view: View) -> int:
    """What must stand whatever comes."""
    return sum(view.unit(key).size.tokens for key in {view.first_task, view.newest_user} if key is not None)


def _clipped(view: View, target: Target, spot: Spot, cap: int) -> Trim:
    """A text cut to what covers most of its names, its ends included; in two halves if it has too few passages."""
    ref, lines = target.reference(spot.entry), spot.text.count("\n") + 1
    index = Index.of(view, target.budget.usable, target.derived)
    passages = [one for one in index.at(view, spot.entry).passages if one.text == spot.part[1]]
    marker = partial(texts.clipped, ref, lines=lines)
    keep, note = _covering(target, index, spot, passages, cap, marker) or shorten(
        spot, cap, target.counter, marker, texts.bare(ref)
    )
    return Trim(entry=spot.entry, part=spot.part, keep=keep, note=note, why="clip")


def _covering(
    target: Target, index: Index, spot: Spot, passages: Sequence[Passage], cap: int, marker: Callable[[int], str]
) -> Form | None:
    """The form that shows its first and its last passage, those that hold most of its other names, and, where names
    leave room, what stands next to its ends. It is counted; where dense passages make more of it, fewer are chosen."""
    asked = float(cap)
    for _ in range(TRIES if len(passages) >= LEAST else 0):
        spans = joined(
            [wider(spot.text, passages[at].start, passages[at].end) for at in _chosen(index, passages, asked)]
        )
        shown = target.counter.count(trimmed_text(spot.text, spans, ""))
        note = marker(spot.tokens - shown)
        if len(spans) > 1 and shown + target.counter.count(note) <= cap:
            return tuple(spans), note
        asked *= CLOSE * cap / (shown + target.counter.count(note))
    return None


def _chosen(index: Index, passages: Sequence[Passage], room: float) -> set[int]:
    """The passages, by their places, that are shown in so many tokens."""
    last = len(passages) - 1
    chosen, choice, names = {0, last}, Choice(passages), [one.names for one in passages]
    left = room - sum(passages[at].tokens + passages[at].margin for at in chosen)
    choice.cover(left, names, index.weight, covered=(*names[0], *names[last]))
    chosen.update(choice.taken)
    left -= choice.spent
    inwards = chain.from_iterable(zip(range(1, last), range(last - 1, 0, -1), strict=True))
    for at in inwards:
        if at not in chosen:
            left -= passages[at].tokens
            if left < 0:
                break
            chosen.add(at)
    return chosen
