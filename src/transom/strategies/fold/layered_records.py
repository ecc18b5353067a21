"""The strategy `Digest`: old turns are folded into records of what happened, which quote passages of their own text.

Records are layers. A compaction adds one and leaves the older ones as they are, so that the prefix stays cached. When
the layers are full they become one layer, which is made again from the original entries.

What a record says is chosen in `strategies/record`; here is decided which turns are folded and how large the records
are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import sqrt
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from transom.core.budget import Budget
from transom.core.edit import Edit, Fold
from transom.core.log import IndexCache
from transom.core.policy import Target
from transom.core.ranges import Share
from transom.core.summary import Summarise
from transom.core.unit import FoldedSlot, Slot, Unit, units_in
from transom.core.view import View
from transom.strategies.actions.tool_table import TOOLS, ToolRow
from transom.strategies.candidates import (
    MERGED,
    cut_before_user,
    foldable_runs,
    free_room,
    hides_a_unit,
    how_many_fit,
    leading_slots,
    saves_tokens,
    size_behind_fold,
    slots_before_newest,
    stands_for_turns,
    stays_visible,
)
from transom.strategies.record.index import Index
from transom.strategies.record.make_record import HEADER, make_record
from transom.strategies.summary.folds import (
    RECORD_ONLY,
    folded_before,
    short_end,
    shows_summary,
    summary_in_place,
    tokens_of_summaries,
    whole_room,
    with_summary,
    without_summary,
)
from transom.strategies.summary.when_to_summarise import (
    MOST_SHARE,
    ShownSummary,
    shown_summary,
    summary_cap,
    summary_want,
)

MAX_RECORD_SHARE = 0.85
"""The most tokens of a record, as a share of the tokens of the slots that it replaces."""

MAX_REMADE_SHARE = 0.96
"""The same share where a record replaces only one older record, and no new turn: it may then save less."""

MIN_LAYER = 3 * HEADER
"""Tokens of the smallest layer that can hold anything."""

KEPT_LAYERS = 0.25
"""Older records stay as they are if they have at least this share of the tokens of the next one. Smaller ones were made
when something else took the room, say very little, and cost little to make again."""

MAX_CUT_BEFORE_USER = 0.5
"""The greatest share of the room for whole turns that is given up so that they begin with a user message."""

MAX_RECENT = 0.95
"""The greatest share of F for whole turns and what stays free (`quiet`) together, when whole turns get more room."""

CHAT_COMPRESSION = 3
"""A record of talk can stand for about this many times its own size."""

MORE_CAP_FOR_CHAT, MORE_MERGE_FOR_CHAT = 0.35, 0.5
"""What `cap` and `merge` grow by where there is only talk, as shares of F."""

LESS_QUIET_FOR_CHAT = 0.9
"""The part of `quiet` that is given up where there is only talk and a record can hold all of it."""

MAX_CHAT_FULLNESS = 0.9
"""How full, as a share of the trigger, a compaction may leave a window of mere talk, if the policy gives no target."""

LEAST_RECORD = 0.1
"""The least share of F that records must have, between what stays whole and the target."""

REDACTED_TRIES, REDACTED_LONGER = 3, 1.05
"""How often a record is made again, smaller, because the names of the secrets in it are longer than the secrets; and by
how much a record may be longer than its size. Without that the window would not fit, and lose the record."""

NO_ROOM = 0.01
"""A share of F for records that counts as none, where shares are compared."""


class Digest(Struct, frozen=True, kw_only=True):
    """Folds all but the newest turns into records.

    The settings are shares of F: the tokens of the limit without those of what must stay (`free_room`).

    - `keep_recent`: for the newest turns, which are not folded. The newest turn with its results never is, nor is a
      turn with open calls and what comes after it.
    - `quiet`: what a compaction leaves free for the next calls. `least_quiet`: the least that it leaves free where
      there is mostly talk.
    - `cap`: the most for all layers together.
    - `layer`: for a new layer; a share of what is still free under the cap, not of F.
    - `least`: the smallest new layer. If it would be smaller, all layers are merged into one.
    - `merge`: for that one layer.
    - `summary`: the most for the rolling summary, which a summarizer makes; it counts as a layer. 0: no summary. It
      stands at the beginning of the newest record, and moves on to the next one. If this share is less than 160 tokens,
      the summary may still have 160, as long as they are no more than a quarter of F.
    - `talk`: by how much `keep_recent` may grow where there is more talk than a record can hold.
    - `tools`: no share, but the table by which the lines of calls are written; put entries of your own in front.

    If the policy has a trigger below 1, or gives a target, a compaction leaves the window below both. `quiet` follows
    from them. `cap`, `merge`, `summary` and `least` change in proportion to the room for records, but `least` never
    grows. `keep_recent` shrinks only if that room would be too small. `layer` and `talk` stay as they are.

    A turn that must stay, or is pinned, is not folded: the record ends before it, and another one begins behind it, so
    that everything in the window is in the order of the log. If no run of turns between those that stay is large enough
    for a record, one record spans them, and they are shown behind it.

    Where talk outweighs work with tools, the record is larger and keeps most of its room for words. As long as it can
    hold all of the talk, it leaves hardly anything free. If there is more talk than a record can hold, the newest turns
    get more room, since they are most likely to be needed.
    """

    keep_recent: Share = 0.25
    cap: Share = 0.6
    layer: Share = 0.5
    merge: Share = MERGED
    least: Share = 0.035
    quiet: Share = 0.2
    least_quiet: Share = 0.0
    talk: Share = 0.55
    summary: Share = 0.0
    tools: tuple[ToolRow, ...] = TOOLS

    def prepare(self, view: View, budget: Budget, indexes: IndexCache) -> None:
        """Index the entries that came since the last call, in `indexes`, so that a compaction need not do it."""
        Index.of(view, budget.usable, indexes, self.tools).prepare(view)

    def wants(self, view: View, target: Target) -> Iterator[Summarise]:
        """Yield the want for a summary of the turns that a compaction would fold now, or nothing (see `summary_want`);
        nothing if the share `summary` is 0."""
        yield from self.scaled(target.policy_trigger, target.policy_target)._wants(view, target)

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        yield from self.scaled(target.policy_trigger, target.policy_target)._edits(view, target)

    def scaled(self, trigger: float, target: float | None = None) -> Digest:
        """The digest as it works in a policy with this trigger and target. It leaves the window at most as full as
        `target`; a target below `LEAST_RECORD` (0.1) counts as that. `keep_recent` is made smaller if it would leave
        records less than 0.1. The sizes of its records change in proportion to the room that the target leaves beside
        the newest turns.

        If `target` is None, it is (1 − `quiet`) × `trigger`, and where there is mostly talk the window may be up to
        `MAX_CHAT_FULLNESS` (0.9) × `trigger` full, if that is more. If `target` is None and `trigger` is 0, or 1 or
        more, the digest itself is returned.
        """
        if target is None and not 0 < trigger < 1:
            return self
        most = max(LEAST_RECORD, (1 - self.quiet) * trigger if target is None else target)
        full = max(most, MAX_CHAT_FULLNESS * trigger) if target is None else most
        kept = self.with_keep_recent(min(self.keep_recent, most - LEAST_RECORD), most)
        return replace(kept, quiet=1 - most, least_quiet=1 - full)

    def with_keep_recent(self, keep_recent: float, most: float | None = None) -> Digest:
        """The digest with another `keep_recent`. The sizes of its records change in proportion to the room that this
        leaves them; but `least` never grows.

        `most`: how full the digest leaves the window, as a share of F; None: `1 - quiet`, as before. It changes only
        these sizes, not `quiet`.
        """
        room = (1 - self.quiet if most is None else most) - keep_recent
        scale = max(room, NO_ROOM) / max(1 - self.quiet - self.keep_recent, NO_ROOM)
        return replace(
            self,
            keep_recent=keep_recent,
            cap=self.cap * scale,
            merge=self.merge * scale,
            least=self.least * min(1.0, scale),
            summary=self.summary * scale,
        )

    def _wants(self, view: View, target: Target) -> Iterator[Summarise]:
        if self.summary:
            cut = self._cut(view, target)
            old, free = cut.old, cut.free
            if _can_hide_a_unit(view, target, old):
                most = self._summary_tokens(view, target, free)
            else:
                old, free = folded_before(old, target), whole_room(view, target)
                most = summary_cap(self.summary, free)
            yield from summary_want(view, target, old, free=free, most=most, beside_record=True)

    def _edits(self, view: View, target: Target) -> Iterator[Edit]:
        cut = self._cut(view, target)
        old, free = cut.old, cut.free
        if not _can_hide_a_unit(view, target, old):
            if self.summary:
                most = summary_cap(self.summary, whole_room(view, target))
                yield from summary_in_place(view, target, folded_before(old, target), most)
            return
        most = self._summary_tokens(view, target, free)
        shown = shown_summary(view, old[-1].last + 1, most, target) if self.summary else None
        yield from self._folds(view, target, cut, shown)

    def _folds(self, view: View, target: Target, cut: _Cut, shown: ShownSummary | None) -> Iterator[Fold]:
        """Yield the folds of the old slots. `shown`: the summary that one of them shows; None: no summary."""
        # `room`: what the limit leaves for records. `cap`: the most for all layers. The older layers stay if the new
        # one gets enough of both, and if they are not tiny beside it. Otherwise everything becomes one layer.
        old, free = cut.old, cut.free
        of_summary = 0 if shown is None else shown.tokens
        behind = [slot for slot in view.slots[cut.stop :] if slot.first not in target.required]
        newer = sum(size_behind_fold(slot).tokens for slot in behind)
        newer += target.due_notes.tokens
        room = target.limit.tokens - cut.fixed - newer - cut.quiet * free - HEADER - of_summary
        cap = min(self.cap + MORE_CAP_FOR_CHAT * cut.talk, 1 - cut.recent - cut.quiet) * free - of_summary
        layers = 1 + max((at for at, slot in enumerate(old) if stands_for_turns(slot)), default=-1)
        in_layers = sum(slot.size.tokens for slot in old[:layers] if slot.first not in target.required)
        in_layers -= 0 if shown is None else tokens_of_summaries(view, old[:layers], target.counter)
        beside_layers = _staying_tokens(view, target, old[layers:])
        new_layer = self.layer * (min(cap, room - beside_layers) - in_layers)
        frozen: Sequence[Slot] = []
        is_worth_keeping = in_layers >= KEPT_LAYERS * new_layer
        if layers and new_layer >= max(self.least * free, MIN_LAYER) and is_worth_keeping:
            frozen, old, size = old[:layers], old[layers:], new_layer
        else:
            merge = self.merge + MORE_MERGE_FOR_CHAT * cut.talk
            size = min(merge * free - of_summary, cap, room - _staying_tokens(view, target, old))
        records = _Records(view, target, _runs_to_fold(view, target, old), size, cut.talk)
        if shown is None:
            yield from records.folds()
        else:
            yield from records.folds_with(shown, frozen)

    def _summary_tokens(self, view: View, target: Target, free: float) -> float:
        """The most tokens that the summary may have: `summary_cap` of the room of the whole budget (`whole_room`).

        But it may take no more than a quarter of this compaction's room, or the share `summary` of it if that is more.
        With prices it is `summary_cap` of this compaction's room alone.
        """
        if target.budget.prices is not None:
            return summary_cap(self.summary, free)
        most = summary_cap(self.summary, whole_room(view, target))
        return min(most, max(self.summary, MOST_SHARE) * free)

    def _cut(self, view: View, target: Target) -> _Cut:
        """What of the window is old, and how the room is shared."""
        fixed = target.fixed_size.tokens
        free = free_room(target.limit.tokens, fixed)
        start, stop = leading_slots(view, target), slots_before_newest(view, target)
        first = Index.of(view, target.budget.usable, target.indexes, self.tools).first(view)
        talk, lost = _talk_over_work((unit for slot in view.slots[start:stop] for unit in units_in(slot, first)), free)
        grown = min(self.keep_recent + self.talk * talk * lost, MAX_RECENT - self.quiet)
        recent = max(self.keep_recent, grown)
        quiet = max(self.least_quiet, self.quiet * (1 - LESS_QUIET_FOR_CHAT * talk * (1 - lost)))
        newest = sum(size_behind_fold(slot).tokens for slot in view.slots[stop:]) + target.due_notes.tokens
        end = stop
        stop -= how_many_fit(reversed(view.slots[start:stop]), recent * free - newest, notes=True, behind_fold=True)
        stop += cut_before_user(view, view.slots[stop : end + 1], MAX_CUT_BEFORE_USER * recent * free)
        return _Cut(view.slots[start:stop], stop, fixed, free, recent, quiet, talk)


# ---- two ways to run a digest, for a policy that compares the prices of both (`Policy.choices`)


class OldSummary(Struct, frozen=True):
    """Runs a digest without its `wants`: no summary is asked for, and the records show the newest one that there is."""

    digest: Digest
    """The digest that it runs."""

    def prepare(self, view: View, budget: Budget, indexes: IndexCache) -> None:
        """Index the entries that came since the last call, as the digest does."""
        self.digest.prepare(view, budget, indexes)

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        return self.digest(view, target)


class NewSummary(OldSummary, frozen=True):
    """Runs a digest that wants a new summary, in place of the newest that there is. It proposes no edit until there is
    a summary that no fold of the window shows."""

    def wants(self, view: View, target: Target) -> Iterator[Summarise]:
        """Yield the want for the summary that the digest wants, or nothing."""
        return self.digest.wants(view, target)

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        newest = view.summary
        if newest is not None and not any(shows_summary(view, slot, newest[0]) for slot in view.slots):
            yield from self.digest(view, target)


# ---- the folds of one compaction


class _Records:
    """The folds of one compaction: a record for each run of slots that hides something, in about `size` tokens."""

    def __init__(self, view: View, target: Target, runs: Sequence[Sequence[Slot]], size: float, talk: float) -> None:
        self.view, self.target, self.talk = view, target, talk
        self.folded = [slot for run in runs for slot in run]
        self.shares = [
            (run, share)
            for run, share in zip(runs, _shares(runs, size), strict=True)
            if hides_a_unit(view, target, run) or any(map(stands_for_turns, run))
        ]

    def folds(self) -> Iterator[Fold]:
        """Yield one fold for each run of slots; a fold that saves no tokens is left out."""
        return (fold for run, share in self.shares if self._saves(run, fold := self._fold(run, share)))

    def folds_with(self, shown: ShownSummary, layers: Sequence[Slot]) -> Iterator[Fold]:
        """Yield the same folds, with the summary in front of the newest record that has turns enough for it.

        `layers`: older records, which stay. If one of them shows this summary already, no other fold gets it. If one of
        them begins with an older summary, it is folded again without it, first of all. Then come the fold with the
        summary and the newer ones, and last the older ones: the plan may stop before these, if the window is small
        enough by then.
        """
        if any(shows_summary(self.view, slot, shown.seq) for slot in layers):
            yield from self.folds()
            return
        if not layers:
            self._split(shown.tokens)
        others = [fold for slot in layers if (fold := without_summary(self.view, slot)) is not None]
        made: dict[int, Fold] = {}
        for at, (run, share) in reversed([*enumerate(self.shares)]):
            record = self._fold(run, share)
            begins = with_summary(record, shown.seq, shown.summary)
            if self._applies(begins):
                made[at] = begins
                break
            if self._saves(run, record):
                made[at] = record
        else:
            if others and self._applies(begins := with_summary(others[-1], shown.seq, shown.summary)):
                others[-1] = begins
        yield from others
        yield from (made[at] for at in sorted(made))
        oldest = min(made, default=len(self.shares))
        older = ((run, self._fold(run, share)) for run, share in self.shares[:oldest])
        yield from (fold for run, fold in older if self._saves(run, fold))

    def _saves(self, run: Sequence[Slot], record: Fold) -> bool:
        """Whether a record has fewer tokens than what it hides. The record of a few short turns may have more."""
        return saves_tokens(self.view, self.target, run, record.text)

    def _applies(self, fold: Fold) -> bool:
        """Whether the log would accept a fold as it is stored, that is redacted, which may make it longer."""
        return self.view.refusal(self.target.as_logged(self.view, fold)) is None

    def _split(self, of_summary: int) -> None:
        """Split the newest run in two: a short end for the record that begins with the summary, and the turns before
        it. Only the record of the end is made again when the summary changes."""
        if not self.shares:
            return
        run, size = self.shares.pop()
        at, part = short_end(run, of_summary, size / sum(slot.untrimmed_size.tokens for slot in run), MIN_LAYER)
        before = [(run[:at], (1 - part) * size)] if at else []
        self.shares += [*before, (run[at:], part * size)]

    def _fold(self, run: Sequence[Slot], share: float) -> Fold:
        most = MAX_REMADE_SHARE if len(run) == 1 and stands_for_turns(run[0]) else MAX_RECORD_SHARE
        size = min(share, most * sum(slot.size.tokens for slot in run))
        fold = self._record(run, size)
        for _ in range(REDACTED_TRIES if self.target.redact is not None else 0):
            logged = self.target.as_logged(self.view, fold)
            longer = self._tokens(logged) / max(1, self._tokens(fold))
            if longer <= REDACTED_LONGER or self._tokens(logged) <= size:
                break
            size /= longer
            fold = self._record(run, size)
        return fold

    def _record(self, run: Sequence[Slot], size: float) -> Fold:
        made = make_record(self.view, self.target, run, self.folded, size, self.talk)
        return Fold(first=run[0].first, last=run[-1].last, text=made.text, quotes=made.quotes, why=RECORD_ONLY)

    def _tokens(self, edit: Edit) -> int:
        return self.target.counter.count(edit.text) if isinstance(edit, Fold) else 0


def _shares(runs: Sequence[Sequence[Slot]], size: float) -> list[float]:
    """Divide `size` tokens among the records of these runs. The weight of a run is the geometric mean of its tokens now
    and of those without any edit: by the first alone, older records would lose room with every merge; by the second,
    the newest turns would get hardly any. Each run gets at least `MIN_LAYER`, or an equal part if there is less."""
    weights = [
        sqrt(sum(slot.size.tokens for slot in run) * sum(slot.untrimmed_size.tokens for slot in run)) for run in runs
    ]
    least = min(MIN_LAYER, max(0.0, size) / max(1, len(runs)))
    shares = [max(least, size * weight / sum(weights)) for weight in weights]
    over = sum(shares) - size
    spare = sum(share - least for share in shares)
    return [share - over * (share - least) / spare if spare > 0 else share for share in shares]


class _Cut(NamedTuple):
    """Which slots of a window are folded, and how the room is divided among what stays, records and free space.

    `old`: the slots to fold. `stop`: the index of the first slot that stays whole. `fixed`: tokens of what must stay.
    `free`: F, as in `Digest`. `recent`, `quiet`: the shares of F for whole turns, and for what stays free. `talk`: how
    far talk outweighs work with tools, from 0 to 1.
    """

    old: Sequence[Slot]
    stop: int
    fixed: int
    free: float
    recent: float
    quiet: float
    talk: float


def _can_hide_a_unit(view: View, target: Target, slots: Sequence[Slot]) -> bool:
    """Whether folds over these slots would hide a visible unit; else each plan would make them again (law 8)."""
    return any(hides_a_unit(view, target, run) for run in foldable_runs(view, target, slots))


def _runs_to_fold(view: View, target: Target, slots: Sequence[Slot]) -> Sequence[Sequence[Slot]]:
    """Divide slots into the runs that are folded, each into one record. A unit that stays visible ends a run: inside a
    fold it would be shown behind the fold's text, that is, after turns that came later. Runs that are too small for a
    record are left out. If all are, units that stay visible do not end a run, so that one record spans them."""
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
    """Tokens of the units that stay visible among these slots and under their folds, without the required ones."""
    size = 0
    for slot in slots:
        if isinstance(slot, FoldedSlot):
            size += sum(unit.size.tokens for unit in slot.pinned_units)
        elif slot.key not in target.required and stays_visible(view, target, slot):
            size += slot.size.tokens
    return size


def _talk_over_work(units: Iterable[Unit], free: float) -> tuple[float, float]:
    """Two numbers: how far talk outweighs work with tools, from 0 (at least as much work) to 1 (only talk); and the
    share of the talk that no record in `free` tokens can hold."""
    talk = work = 0
    for unit in units:
        if len(unit.seqs) > 1:
            work += unit.untrimmed_size.tokens
        else:
            talk += unit.untrimmed_size.tokens
    return max(0.0, (talk - work) / max(1, talk + work)), 1 - min(1.0, CHAT_COMPRESSION * free / max(1, talk))
