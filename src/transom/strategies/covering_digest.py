"""The covering digest: old turns fold into a record of what happened. It quotes passages of their own text, chosen so
that as many names as fit stay in the window once, with their surroundings, the weightiest first.

Records are frozen layers. A compaction adds a layer and leaves the older ones as they are, so that the prefix stays
cached. When the layers are full they become one layer, which is made again from the original entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import sqrt
from typing import NamedTuple

from msgspec import Struct

from transom.core.budget import Budget
from transom.core.derived import Derived
from transom.core.edit import Edit, Fold
from transom.core.policy import Target
from transom.core.summary import Summarise, Summary
from transom.core.unit import Folded, Slot, Unit, units_in
from transom.core.view import View
from transom.strategies.candidates import (
    foldable_runs,
    free_room,
    hides_a_unit,
    how_many_fit,
    is_summary,
    leading_slots,
    saves_tokens,
    slots_before_newest,
    stays_visible,
)
from transom.strategies.digest.digest_text import HEADER, digest_text
from transom.strategies.digest.index import Index
from transom.strategies.digest.tool_lines import TOOL_LINES, ToolLine
from transom.strategies.kept_words import keeps_as_much
from transom.strategies.summary_folds import (
    RECORD_ONLY,
    folded_before,
    is_left_out,
    must_show,
    short_end,
    shows_summary,
    summary_in_place,
    tokens_of_summaries,
    whole_room,
    with_summary,
    without_summary,
)
from transom.strategies.summary_wants import MOST_SHARE, shown_summary, summary_cap, summary_want, takes_more_than

MAX_SHARE = 0.85
"""The most tokens of a digest, as a share of the tokens of the slots that it replaces."""

REMADE_SHARE = 0.96
"""The same share where a digest replaces only one older record, and no new turn: it may then save less."""

MIN_LAYER = 3 * HEADER
"""Tokens of the smallest layer that can hold anything."""

KEPT_LAYERS = 0.25
"""Older records stay as they are if they have at least this share of the tokens of the next one. Smaller ones were made
when something else took the room, say very little, and cost little to make again."""

MAX_RECENT = 0.95
"""The most of the room that whole turns grow to, together with what stays free."""

TALK_RATIO = 3
"""A digest of talk can stand for about this many times its own size."""


class Digest(Struct, frozen=True, kw_only=True):
    """Folds all but the newest turns into records. Every setting is a share of F, the room beside what must stay.

    `keep_recent`: the newest turns, which stay whole; always the last complete round. `quiet`: what a compaction leaves
    free. `cap`: all layers together. `layer`: a new layer, as a share of what is free under the cap. `merge`: the one
    layer that all of them become when a new one would be smaller than `least`.

    `summary`: the most of the rolling summary, which a summarizer makes; it counts as a layer. 0: none. In a small
    room it may have 160 tokens all the same, if these are no more than a quarter of it; it is shown there only if the
    record beside it and itself keep as much of what was said as a record alone (`keeps_as_much`), or if it has notes.
    It stands at the beginning of the newest record, and leaves it when there is a newer one.

    `tools`: the table by which the lines of calls are written; put entries of your own in front.

    A turn that must stay, or is pinned, is not folded: the record ends before it, and another one begins behind it, so
    that everything in the window is in the order of the log.

    Where talk outweighs work with tools, the record is larger and keeps most of its room for words; it leaves hardly
    anything free as long as it can hold what there is (`least_quiet`). Where there is more talk than that, the newest
    turns grow by up to `talk`: they are then the better guess.
    """

    keep_recent: float = 0.2
    cap: float = 0.65
    layer: float = 0.5
    merge: float = 0.5
    least: float = 0.04
    quiet: float = 0.2
    least_quiet: float = 0.0
    talk: float = 0.55
    summary: float = 0.0
    tools: tuple[ToolLine, ...] = TOOL_LINES

    def prepare(self, view: View, budget: Budget, derived: Derived) -> None:
        """Index the entries that came since the last call."""
        Index.of(view, budget.usable, derived, self.tools).prepare(view)

    def wants(self, view: View, target: Target) -> Iterator[Summarise]:
        """A summary of the turns that a compaction would fold now. In a small room a model is not asked for another one
        if its last one was left out."""
        if self.summary and not self._last_summary_was_left_out(view, target):
            cut = self._cut(view, target)
            old, free = cut.old, cut.free
            if hides_a_unit(view, target, old):
                yield from summary_want(view, target, old, free=free, most=self._summary_tokens(view, target, free))
            else:
                old, free = folded_before(old, target), whole_room(view, target)
                yield from summary_want(view, target, old, free=free, most=summary_cap(self.summary, free))

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        cut = self._cut(view, target)
        old, free = cut.old, cut.free
        if not hides_a_unit(view, target, old):
            if self.summary:
                most = summary_cap(self.summary, whole_room(view, target))
                yield from summary_in_place(view, target, folded_before(old, target), most)
            return
        most = self._summary_tokens(view, target, free)
        shown = shown_summary(view, old[-1].last + 1, most, target) if self.summary else None
        folds = self._folds(view, target, cut, shown)
        if shown is None or must_show(shown[0]) or not takes_more_than(self.summary, whole_room(view, target)):
            yield from folds
            return
        with_summary_shown, record_alone = list(folds), list(self._folds(view, target, cut, None))
        keeps = keeps_as_much(view, target, old, with_summary_shown, record_alone)
        yield from with_summary_shown if keeps else record_alone

    def _last_summary_was_left_out(self, view: View, target: Target) -> bool:
        """Whether summaries cost something and the last one was not worth its room, which is small."""
        is_free = not target.summaries_cost or target.waits_for_wants
        return not is_free and takes_more_than(self.summary, whole_room(view, target)) and is_left_out(view)

    def _folds(self, view: View, target: Target, cut: _Cut, shown: tuple[Summary, int] | None) -> Iterator[Fold]:
        """The folds of the old slots. `shown`: the summary that they show, and its tokens; None: no summary."""
        old, free = cut.old, cut.free
        of_summary = 0 if shown is None else shown[1]
        newer = sum(slot.size.tokens for slot in view.slots[cut.stop :] if slot.first not in target.required)
        room = target.limit.tokens - cut.fixed - newer - cut.quiet * free - HEADER - of_summary
        cap = min(self.cap + 0.35 * cut.talk, 1 - cut.recent - cut.quiet) * free - of_summary
        layers = 1 + max((at for at, slot in enumerate(old) if is_summary(slot)), default=-1)
        in_layers = sum(slot.size.tokens for slot in old[:layers] if slot.first not in target.required)
        in_layers -= 0 if shown is None else tokens_of_summaries(old[:layers], target.counter)
        beside_layers = _staying_tokens(view, target, old[layers:])
        new_layer = self.layer * (min(cap, room - beside_layers) - in_layers)
        frozen: Sequence[Slot] = []
        is_worth_keeping = in_layers >= KEPT_LAYERS * new_layer
        if layers and new_layer >= max(self.least * free, MIN_LAYER) and is_worth_keeping:
            frozen, old, size = old[:layers], old[layers:], new_layer
        else:
            merge = self.merge + 0.5 * cut.talk
            size = min(merge * free - of_summary, cap, room - _staying_tokens(view, target, old))
        records = _Records(view, target, _in_order(view, target, old), size, cut.talk)
        if shown is None:
            yield from records.folds()
        else:
            yield from records.folds_with(*shown, frozen)

    def _summary_tokens(self, view: View, target: Target, free: float) -> float:
        """Tokens of the summary: its share of the whole room, also where the window ends earlier for now; but not so
        many that the records have none. Where prices decide when to compact, its share of the room until there."""
        if target.budget.prices is not None:
            return summary_cap(self.summary, free)
        most = summary_cap(self.summary, whole_room(view, target))
        return min(most, max(self.summary, MOST_SHARE) * free)

    def _cut(self, view: View, target: Target) -> _Cut:
        """What of the window is old, and how the room is shared."""
        fixed = target.fixed_size.tokens + target.due_notes.tokens
        free = free_room(target.limit.tokens, fixed)
        start, stop = leading_slots(view, target), slots_before_newest(view, target)
        first = Index.of(view, target.budget.usable, target.derived, self.tools).first(view)
        talk, lost = _talk_over_work((unit for slot in view.slots[start:stop] for unit in units_in(slot, first)), free)
        grown = min(self.keep_recent + self.talk * talk * lost, MAX_RECENT - self.quiet)
        recent = max(self.keep_recent, grown)
        quiet = max(self.least_quiet, self.quiet * (1 - 0.9 * talk * (1 - lost)))
        in_recent = recent * free - sum(slot.size.tokens for slot in view.slots[stop:])
        stop -= how_many_fit(reversed(view.slots[start:stop]), in_recent, notes=True)
        return _Cut(view.slots[start:stop], stop, fixed, free, recent, quiet, talk)


class _Records:
    """The folds of one compaction: a digest of each run of slots, all of them together in about `size` tokens."""

    def __init__(self, view: View, target: Target, runs: Sequence[Sequence[Slot]], size: float, talk: float) -> None:
        self.view, self.target, self.talk = view, target, talk
        self.folded = [slot for run in runs for slot in run]
        self.shares = [
            (run, share)
            for run, share in zip(runs, _shares(runs, size), strict=True)
            if hides_a_unit(view, target, run) or any(map(is_summary, run))
        ]

    def folds(self) -> Iterator[Fold]:
        """One fold for each run of slots that is worth folding."""
        return (fold for run, share in self.shares if self._saves(run, fold := self._fold(run, share)))

    def folds_with(self, summary: Summary, of_summary: int, layers: Sequence[Slot]) -> Iterator[Fold]:
        """The same, with the summary in front of the newest record that has turns enough for it. That fold comes
        first, since what comes after it may not be needed any more. `layers`: older records, which stay; another
        summary leaves them."""
        if any(shows_summary(slot, summary) for slot in layers):
            yield from self.folds()
            return
        if not layers:
            self._split(of_summary)
        others = [fold for slot in layers if (fold := without_summary(self.view, slot)) is not None]
        made: dict[int, Fold] = {}
        shown = None
        for at, (run, share) in reversed([*enumerate(self.shares)]):
            record = self._fold(run, share)
            shown = with_summary(record, summary)
            if self._applies(shown):
                made[at] = shown
                break
            if self._saves(run, record):
                made[at] = record
        else:
            if others and self._applies(shown := with_summary(others[-1], summary)):
                others[-1] = shown
        yield from others
        yield from (made[at] for at in sorted(made))
        oldest = min(made, default=len(self.shares))
        older = ((run, self._fold(run, share)) for run, share in self.shares[:oldest])
        yield from (fold for run, fold in older if self._saves(run, fold))

    def _saves(self, run: Sequence[Slot], record: Fold) -> bool:
        """Whether a record of few and short turns is shorter than they are."""
        return saves_tokens(self.view, self.target, run, record.text)

    def _applies(self, fold: Fold) -> bool:
        """Whether a fold applies when it is redacted, which may make it longer."""
        return self.view.refusal(self.target.as_logged(self.view, fold)) is None

    def _split(self, of_summary: int) -> None:
        """Cut off the end of the newest run: it is made again soon, and what is before it stays as it is."""
        if not self.shares:
            return
        run, size = self.shares.pop()
        at, part = short_end(run, of_summary, size / sum(slot.untrimmed_size.tokens for slot in run), MIN_LAYER)
        ends = [(run[:at], (1 - part) * size)] if at else []
        self.shares += [*ends, (run[at:], part * size)]

    def _fold(self, run: Sequence[Slot], share: float) -> Fold:
        most = REMADE_SHARE if len(run) == 1 and is_summary(run[0]) else MAX_SHARE
        size = min(share, most * sum(slot.size.tokens for slot in run))
        digest = digest_text(self.view, self.target, run, self.folded, size, 1 - 0.8 * self.talk, self.talk)
        return Fold(first=run[0].first, last=run[-1].last, text=digest.text, quotes=digest.quotes, why=RECORD_ONLY)


def _shares(runs: Sequence[Sequence[Slot]], size: float) -> list[float]:
    """The room of the record of each run, by the geometric means of its tokens in the window and those of its turns. By
    the former alone a record would lose its room, merge by merge, to turns that are still whole; by the latter alone
    the newest turns would have hardly any beside very many old ones. Each has at least what a small record needs."""
    weights = [
        sqrt(sum(slot.size.tokens for slot in run) * sum(slot.untrimmed_size.tokens for slot in run)) for run in runs
    ]
    least = min(MIN_LAYER, max(0.0, size) / max(1, len(runs)))
    shares = [max(least, size * weight / sum(weights)) for weight in weights]
    over = sum(shares) - size
    spare = sum(share - least for share in shares)
    return [share - over * (share - least) / spare if spare > 0 else share for share in shares]


class _Cut(NamedTuple):
    """The slots to fold, how many slots precede what stays whole, and shares of the room (see `Digest`)."""

    old: Sequence[Slot]
    stop: int
    fixed: int
    free: float
    recent: float
    quiet: float
    talk: float


def _in_order(view: View, target: Target, slots: Sequence[Slot]) -> Sequence[Sequence[Slot]]:
    """The runs of adjacent slots that a fold may take, without the units that stay visible: such a unit would appear
    behind the text of its fold, which tells what came after it. Only if none of these runs is large enough for a record
    does a record reach across such units."""
    found: list[list[Slot]] = []
    whole = list(foldable_runs(view, target, slots))
    for run in whole:
        found.append([])
        for slot in run:
            if isinstance(slot, Unit) and stays_visible(view, target, slot):
                found.append([])
            else:
                found[-1].append(slot)
    return [run for run in found if sum(slot.size.tokens for slot in run) >= MIN_LAYER] or whole


def _staying_tokens(view: View, target: Target, slots: Sequence[Slot]) -> int:
    """Tokens of the pinned and protected turns among these slots, required ones aside."""
    size = 0
    for slot in slots:
        if isinstance(slot, Folded):
            size += sum(unit.size.tokens for unit in slot.surfaced_units)
        elif slot.key not in target.required and stays_visible(view, target, slot):
            size += slot.size.tokens
    return size


def _talk_over_work(units: Iterable[Unit], free: float) -> tuple[float, float]:
    """How far talk outweighs work with tools: 0 if there is as much work, 1 if there is only talk. And the share of
    the talk that no digest can hold."""
    talk = work = 0
    for unit in units:
        if len(unit.seqs) > 1:
            work += unit.untrimmed_size.tokens
        else:
            talk += unit.untrimmed_size.tokens
    return max(0.0, (talk - work) / max(1, talk + work)), 1 - min(1.0, TALK_RATIO * free / max(1, talk))
