"""The covering digest: old turns fold into a record of what happened. It quotes passages of their own text, chosen so
that as many names as fit stay in the window once, with their surroundings, the weightiest first.

Records are frozen layers. A compaction adds a layer and leaves the older ones as they are, so that the prefix stays
cached. When the layers are full they become one layer, which is made again from the original entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
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
    slots_before_newest,
    stays_visible,
)
from transom.strategies.digest.digest_text import HEADER, digest_text
from transom.strategies.digest.index import Index
from transom.strategies.digest.tool_lines import TOOL_LINES, ToolLine
from transom.strategies.summary_wants import WHY as WITH_SUMMARY
from transom.strategies.summary_wants import shown_summary, summary_want

WHY = "digest"

MAX_SHARE = 0.85
"""The largest digest, as a share of what it replaces."""

MIN_LAYER = 3 * HEADER
"""Tokens of the smallest layer that can hold anything."""

MAX_RECENT = 0.95
"""The most of the room that whole turns grow to, together with what stays free."""

SPARE = 1.2
"""The fold with the summary covers turns of so many times the summary's tokens, beside what their record takes."""

TALK_RATIO = 3
"""A digest of talk can stand for about this many times its own size."""


class Digest(Struct, frozen=True, kw_only=True):
    """Folds all but the newest turns into records. Every setting is a share of F, the room beside what must stay.

    `keep_recent`: the newest turns, which stay whole; always the last complete round. `quiet`: what a compaction leaves
    free. `cap`: all layers together. `layer`: a new layer, as a share of what is free under the cap. `merge`: the one
    layer that all of them become when a new one would be smaller than `least`.

    `summary`: the most of the rolling summary, which a summarizer makes; it counts as a layer. 0: none. It stands at
    the beginning of the newest record, which covers only a few turns and is made again at each compaction.

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
        """A summary of the turns that a compaction would fold now."""
        if self.summary:
            cut = self._cut(view, target)
            if hides_a_unit(view, target, cut.old):
                yield from summary_want(view, target, cut.old, free=cut.free, most=self.summary * cut.free)

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        cut = self._cut(view, target)
        old, free = cut.old, cut.free
        if not hides_a_unit(view, target, old):
            return
        shown = shown_summary(view, old[-1].last + 1, self.summary * free, target) if self.summary else None
        summary, of_summary = shown or (None, 0)
        newer = sum(slot.size.tokens for slot in view.slots[cut.stop :] if slot.first not in target.required)
        room = target.limit.tokens - cut.fixed - newer - cut.quiet * free - HEADER - of_summary
        cap = min(self.cap + 0.35 * cut.talk, 1 - cut.recent - cut.quiet) * free - of_summary
        layers = _layers(old, summary)
        in_layers = sum(slot.size.tokens for slot in old[:layers] if slot.first not in target.required)
        beside_layers = _staying_tokens(view, target, old[layers:])
        again = _record_to_make_again(old[layers:], of_summary) if summary is not None else 0
        new_layer = self.layer * (min(cap, room - beside_layers) - in_layers - again)
        if layers and new_layer >= max(self.least * free, MIN_LAYER):
            old, size = old[layers:], new_layer + again
        else:
            merge = self.merge + 0.5 * cut.talk
            size = min(merge * free, cap, room - _staying_tokens(view, target, old))
        runs = _in_order(view, target, old)
        if summary is not None and runs:
            runs = _with_short_end(runs, of_summary, size)
        yield from self._folds(view, target, runs, size, cut.talk, summary)

    def _cut(self, view: View, target: Target) -> _Cut:
        """What of the window is old, and how the room is shared."""
        fixed = target.fixed_size.tokens + target.due_notes.tokens
        free = free_room(target.limit.tokens, fixed)
        start, stop = leading_slots(view, target), slots_before_newest(view, target)
        first = Index.of(view, target.budget.usable, target.derived, self.tools).first(view)
        talk, lost = _talk((unit for slot in view.slots[start:stop] for unit in units_in(slot, first)), free)
        grown = min(self.keep_recent + self.talk * talk * lost, MAX_RECENT - self.quiet)
        recent = max(self.keep_recent, grown)
        quiet = max(self.least_quiet, self.quiet * (1 - 0.9 * talk * (1 - lost)))
        in_recent = recent * free - sum(slot.size.tokens for slot in view.slots[stop:])
        stop -= how_many_fit(reversed(view.slots[start:stop]), in_recent, notes=True)
        return _Cut(view.slots[start:stop], stop, fixed, free, recent, quiet, talk)

    def _folds(
        self,
        view: View,
        target: Target,
        found: Sequence[Sequence[Slot]],
        size: float,
        talk: float,
        summary: Summary | None = None,
    ) -> Iterator[Fold]:
        """A digest of each run of slots, all of them together in about `size` tokens. The last one begins with the
        summary, if the fold is smaller than its turns all the same. It comes first, since what comes after may not be
        needed any more."""
        folded, names = [slot for run in found for slot in run], 1 - 0.8 * talk
        whole = sum(slot.size.tokens for slot in folded)
        for run in found if summary is None else reversed(found):
            if hides_a_unit(view, target, run) or any(map(is_summary, run)):
                tokens = sum(slot.size.tokens for slot in run)
                share = min(size * tokens / whole, MAX_SHARE * tokens)
                digest = digest_text(view, target, run, folded, share, names, talk)
                plain = Fold(first=run[0].first, last=run[-1].last, text=digest.text, quotes=digest.quotes, why=WHY)
                if summary is not None and run is found[-1]:
                    text = texts.summary_and_record(summary.text, digest.text)
                    with_summary = replace(plain, text=text, why=WITH_SUMMARY)
                    plain = plain if view.refusal(with_summary) is not None else with_summary
                yield plain


class _Cut(NamedTuple):
    """The slots to fold, how many slots precede what stays whole, and shares of the room (see `Digest`)."""

    old: Sequence[Slot]
    stop: int
    fixed: int
    free: float
    recent: float
    quiet: float
    talk: float


def _layers(old: Sequence[Slot], summary: Summary | None) -> int:
    """How many of these slots are layers. The fold with the last summary is none if another one takes its place."""
    folds = [at for at, slot in enumerate(old) if is_summary(slot)]
    last = old[folds[-1]] if folds else None
    if summary is not None and isinstance(last, Folded) and last.why == WITH_SUMMARY:
        folds.pop()
    return 1 + folds[-1] if folds else 0


def _record_to_make_again(slots: Sequence[Slot], of_summary: int) -> int:
    """Tokens of the record in the fold with the last summary: its turns keep as much in the new layer."""
    first = slots[0] if slots else None
    if not isinstance(first, Folded) or first.why != WITH_SUMMARY:
        return 0
    return max(0, first.tokens - of_summary)


def _with_short_end(runs: Sequence[Sequence[Slot]], of_summary: int, size: float) -> Sequence[Sequence[Slot]]:
    """The runs, the last one in two, so that the fold with the summary covers only a few turns: as many as it needs to
    be smaller than they are. The record before it is a layer, and stays."""
    whole = sum(slot.size.tokens for run in runs for slot in run)
    share = min(MAX_SHARE, size / max(1, whole))
    left = SPARE * of_summary / (1 - share) + MIN_LAYER
    last, at = runs[-1], len(runs[-1])
    while at > 0 and left > 0:
        at -= 1
        left -= last[at].size.tokens
    if sum(slot.size.tokens for slot in last[:at]) < MIN_LAYER:
        return runs
    return [*runs[:-1], last[:at], last[at:]]


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


def _talk(units: Iterable[Unit], free: float) -> tuple[float, float]:
    """How far talk outweighs work with tools: 0 if there is as much work, 1 if there is only talk. And the share of
    the talk that no digest can hold."""
    talk = work = 0
    for unit in units:
        if len(unit.seqs) > 1:
            work += unit.untrimmed_size.tokens
        else:
            talk += unit.untrimmed_size.tokens
    return max(0.0, (talk - work) / max(1, talk + work)), 1 - min(1.0, TALK_RATIO * free / max(1, talk))
