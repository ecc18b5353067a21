"""The strategies for arrival (`Policy.arrival`), for what no request has carried yet.

`ClipNew` clips what is new in a turn, so that one turn does not fill the room that a compaction has made.
`unfitting_turn` folds a turn that fits in no window, clipped or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core.edit import Edit, Fold, Trim
from transom.core.message import Assistant
from transom.core.policy import Target
from transom.core.ranges import Share
from transom.core.trims import trimmed_text
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.candidates import MIN_ROOM, free_room, size_behind_fold, unsent_units
from transom.strategies.fold.excerpt_folds import EXCERPTS, quotes
from transom.strategies.record.index import Index
from transom.strategies.record.passage_choice import PassageChoice
from transom.strategies.record.passages import Passage, with_margins
from transom.strategies.shorten.clip_arguments import clip_arguments
from transom.strategies.text.references import range_reference
from transom.strategies.text.shown_parts import PartKind, ShownPart, result_texts, shown_parts
from transom.strategies.text.spans import joined
from transom.strategies.text.truncation import Shortened, excerpt, level, shorten

LEAST_CLIPPED = 100
"""Results of fewer tokens are never clipped: the marker would be a good part of them."""

MIN_PASSAGES = 3
"""A text of fewer passages leaves no choice between them."""

TRIES, RETRY_SHARE = 4, 0.98
"""How often passages are chosen until the result fits, and the share of the estimated size that the next try gets."""


class ClipNew(Struct, frozen=True, kw_only=True):
    """Clips the new results of a turn if together they take more than the share `share` of F, the longest first. F is
    the room beside what must stay (`free_room`). New is what no request has carried yet.

    As long as the window is below the trigger, nothing is clipped; nor are results that together have 100 tokens or
    less. Clipped results have together the share `to` of what they may take; each keeps its ends and the passages with
    most of its names. Images stay.

    Two other new things are clipped in the same way, but only their ends stay; arguments stay JSON:

    - what the model wrote in one turn, its text and the arguments of its calls, if it takes more than `written` of F;
    - the newest message of the user, unless it belongs to the first task, if it takes more than `asked` of the limit
      beside the head.
    """

    share: Share = 0.25
    to: Share = 0.64
    """What is clipped is clipped to this part of what it may take, so that a clip is worth its marker."""
    written: Share = 0.5
    asked: Share = 0.9

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        if view.total.tokens <= target.goal.tokens and view.total.bytes <= target.goal.bytes:
            return
        beside_head = target.limit.tokens - view.head_size.tokens
        required = sum(view.unit(key).size.tokens for key in view.required)  # not yet in `Target.fixed_size`
        free = free_room(target.limit.tokens, view.head_size.tokens + required)
        room = max(LEAST_CLIPPED, self.share * free)
        for unit in unsent_units(view, target, over=min(room, self.asked * beside_head)):
            results = [part for result in result_texts(view, unit) for part in result]
            yield from self._clip_results(view, target, results, room)
            if isinstance(unit.first_fact, Assistant):
                written = [*shown_parts(view, unit, "text"), *shown_parts(view, unit, "arguments")]
                yield from self._clip_ends(target, written, max(LEAST_CLIPPED, self.written * free))
            elif unit.key == view.newest_user and unit.key not in view.first_task:
                asked = list(shown_parts(view, unit, "text"))
                yield from self._clip_ends(target, asked, max(LEAST_CLIPPED, self.asked * beside_head))

    def _clip_results(self, view: View, target: Target, parts: Sequence[ShownPart], room: float) -> Iterator[Trim]:
        most = self._longest(parts, room)
        too_long = [part for part in parts if part.tokens > most]
        if not too_long:
            return
        index = Index.of(view, target.budget.usable, target.indexes)  # once: each call forgets large older entries
        for part in too_long:
            passages = [one for one in index.at(view, part.entry).passages if one.text == part.part[1]]
            yield _clip(target, index, part, passages, int(most))

    def _clip_ends(self, target: Target, parts: Sequence[ShownPart], room: float) -> Iterator[Trim]:
        most = self._longest(parts, room)
        for part in parts:
            if part.tokens > most:
                is_call = part.part[0] == "args"
                yield replace((clip_arguments if is_call else excerpt)(target, part, int(most)), why="clip")

    def _longest(self, parts: Sequence[ShownPart], room: float) -> float:
        """How many tokens each of these parts may have; infinity if they all fit."""
        sizes = [part.tokens for part in parts]
        return level(sizes, int(self.to * room)) if sum(sizes) > room else inf


def _clip(target: Target, index: Index, part: ShownPart, passages: Sequence[Passage], size: int) -> Trim:
    """The trim that leaves the ends of a text, and the passages that cover most of its names if these fit."""
    reference, lines = target.reference(part.entry), part.text.count("\n") + 1
    marker = partial(texts.clip_marker, reference, lines=lines)
    keep, note = _covering_passages(target, index, part, passages, size, marker) or shorten(
        part, size, target.counter.count, marker, texts.bare_marker(reference)
    )
    return Trim(entry=part.entry, part=part.part, keep=keep, note=note, why="clip")


def _covering_passages(
    target: Target, index: Index, part: ShownPart, passages: Sequence[Passage], size: int, marker: Callable[[int], str]
) -> Shortened | None:
    """The spans of the first and the last passage, of those with most of the other names, and, if room is left, of what
    is next to the ends; and the marker. What they come to is counted: if it is too much, fewer passages are chosen.
    None for a text of fewer than `MIN_PASSAGES`, and if no choice fits."""
    room = float(size)
    for _ in range(TRIES if len(passages) >= MIN_PASSAGES else 0):
        spans = joined(
            [with_margins(part.text, passages[at].start, passages[at].end) for at in _choose(index, passages, room)]
        )
        kept = target.counter.count(trimmed_text(part.text, spans, ""))
        note = marker(part.tokens - kept)
        if len(spans) > 1 and kept + target.counter.count(note) <= size:
            return tuple(spans), note
        room *= RETRY_SHARE * size / (kept + target.counter.count(note))
    return None


def _choose(index: Index, passages: Sequence[Passage], room: float) -> set[int]:
    """The positions of the passages to keep in this many tokens."""
    last = len(passages) - 1
    chosen, choice, names = {0, last}, PassageChoice(passages), [passage.names for passage in passages]
    left = room - sum(passages[at].tokens + passages[at].margin for at in chosen)
    choice.cover(left, names, index.weight, covered=(*names[0], *names[last]))
    chosen.update(choice.taken)
    left -= choice.spent
    from_both_ends = chain.from_iterable(zip(range(1, last), range(last - 1, 0, -1), strict=True))
    for at in from_both_ends:
        if at not in chosen:
            left -= passages[at].tokens
            if left < 0:
                break
            chosen.add(at)
    return chosen


# ---- a turn that fits in no window

SHORTENABLE: tuple[PartKind, ...] = ("results", "arguments", "text", "media")
"""The kinds of parts of a turn at work of which a marker is left at the least. Its reasoning stays, and so does what a
provider's own tool gave."""

LEAST_MARKER = 8
"""Tokens of the shortest marker that may stand in place of a part, about."""


def unfitting_turn(view: View, target: Target) -> Iterator[Fold]:
    """For `Policy.arrival`: folds the newest turn into excerpts if the window is full and the turn can never fit. If
    even short excerpts have no room, only the reference of the turn stays. The turn never fits if it exceeds the limit
    even with markers in place of all that may be shortened: its reasoning, the results of the provider's own tools, or
    the number of its calls are too much.

    Such a turn must go in any case. While it stays, old turns are compacted to make room for it, until nothing of them
    is left. A turn that is required, has open calls or was restored by the user is left alone.
    """
    if view.total.tokens <= target.goal.tokens or not view.slots:
        return
    slot = view.slots[view.slot_index(target.newest_unit)]
    if not isinstance(slot, Unit) or slot.key in view.required or slot.open_calls or view.user_restored(slot):
        return
    parts = [part for kind in SHORTENABLE for part in shown_parts(view, slot, kind)]
    least = size_behind_fold(slot).tokens - sum(max(0, part.shown_tokens - LEAST_MARKER) for part in parts)
    if view.head_size.tokens + least <= target.limit.tokens:
        return
    title = texts.bare_marker(range_reference(view, target, (slot,)))
    room = MIN_ROOM * free_room(target.limit.tokens, view.head_size.tokens)
    for most in EXCERPTS:
        text = title + "".join(quotes(view, target, (slot.key,), most))
        if target.counter.count(text) <= room:
            yield Fold(first=slot.first, last=slot.last, text=text, excerpted=(slot.key,), why="over the limit")
            return
    yield Fold(first=slot.first, last=slot.last, text=title, why="over the limit")
