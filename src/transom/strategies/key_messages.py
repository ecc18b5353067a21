"""Key messages: the units that matter most stay whole, and of the rest the sentences that matter most are quoted.

A compaction is only worth its name if it shrinks: every edit shows less than what it stands for (the log refuses
others). Where the choice cannot reach the goal because too much of it is mandatory, the steps behind it take over:
`previews` of results, `outlines` of long texts, and at the worst the `last_rounds`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from itertools import islice
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core.budget import fits
from transom.core.derived import Derived
from transom.core.edit import Edit, Fold, Span, Trim
from transom.core.log import stored
from transom.core.message import Fact, Note, User, role_of
from transom.core.policy import KeptUnit, Strategy, Target
from transom.core.tokens import MESSAGE_BYTES, MESSAGE_TOKENS, ZERO, Size, text_bytes
from transom.core.unit import Folded, Slot, Unit
from transom.core.view import View
from transom.strategies import last_resort
from transom.strategies.arrival import results_of
from transom.strategies.omission import before, freed, leading, left_out, pinned, runs, span, stays
from transom.strategies.sentences.corrections import REQUESTS, LoggedStatement, outdated
from transom.strategies.sentences.salience import names, spoken, statements, unit_score
from transom.strategies.text.stubs import stubbed
from transom.strategies.text.truncation import Spot, text_spots

PREVIEW, OUTLINE, ROUNDS, RECENT = 60, 200, 4, 6
"""Tokens of a preview, and from which on a text is outlined; the rounds that stay at the worst; the newest units, whose
names say what is worked on."""

MODEL, LEAST, TENTH = 0.6, 10, 10
"""What a sentence of the model counts beside the user's; tokens below which there is no room for one more; the part of
what a fold frees that is for its quotes even where the goal is out of reach, if the limit allows it."""

HEARD = 1_000
"""Units whose sentences may be quoted however deep they are folded; of older ones those that are quoted already."""

_POINT = re.compile(r"\s*(?:[-*•#]|\d+[.)])\s")


class KeepKey(Struct, frozen=True, kw_only=True):
    """A keeper: the `newest` units within half of `share` of the goal's room, then by score per token within all of it.

    A unit whose words a later one replaced is in neither: what is no longer in force must not look as if it were.
    """

    share: float = 0.5
    newest: int = 10

    def __call__(self, view: View, target: Target) -> Iterator[KeptUnit]:
        units = [
            unit for unit in view.visible_units() if unit.key < target.newest_unit and unit.key not in target.required
        ]
        recent = frozenset(name for unit in units[-RECENT:] for name in names(view.entries_of(unit)))
        told, gone = _told(view, target.derived)
        stale = {told[at].entry for at in gone}
        units = [unit for unit in units if unit.seqs[0] not in stale]
        worth, why = dict[int, float](), dict[int, str]()
        for at, unit in enumerate(units):
            shared = recent if at < len(units) - RECENT else frozenset[str]()  # not with themselves
            score, reasons = unit_score(view.entries_of(unit), shared, age=1 - at / len(units))
            worth[unit.key] = score / unit.size.tokens
            why[unit.key] = f"score {score:.1f}: {', '.join(reasons)}"
        best = sorted((unit for unit in units if worth[unit.key]), key=lambda unit: (-worth[unit.key], -unit.key))
        room = [max(0, most - base) * self.share for most, base in zip(target.goal, target.fixed_size, strict=True)]
        half, whole, used = Size(*(int(part / 2) for part in room)), Size(*map(int, room)), ZERO
        kept: dict[int, KeptUnit] = {}
        newest = ((unit, half, "newest") for unit in units[: -self.newest - 1 : -1])
        for unit, most, reason in (*newest, *((unit, whole, why[unit.key]) for unit in best)):
            if unit.key not in kept and fits(used.plus(unit.size), most):
                used, kept[unit.key] = used.plus(unit.size), KeptUnit(unit.key, reason)
        yield from kept.values()


class KeyMessages(Struct, frozen=True, kw_only=True):
    """Folds what is neither required nor kept, up to the newest unit, and quotes of it as many sentences as the goal
    has room for, chosen greedily by score per character, in the order they were said.

    Quoted from originals, however often they were folded, of the newest turns and of what was quoted before; nothing
    that a later statement replaced, and nothing that a tool said: in a fold its words would stand beside the user's. A
    cut that neither reaches the goal nor brings the pressure down by `least` is not worth its break: that is left to
    the fallbacks.
    """

    least: float = 0.1

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        going = _runs(view, target)
        gone = reduce(Size.plus, (freed(view, target, slot) for run in going for slot in run), ZERO)
        after = view.total.minus(gone)
        near, far = target.goal.minus(after), target.limit.minus(target.due_notes).minus(after)
        room = Size(*(max(a, min(b, c // TENTH)) for a, b, c in zip(near, far, gone, strict=True)))
        room = replace(room, bytes=min(room.bytes, gone.bytes * 9 // 10))  # a fold must be shorter
        titles = [texts.key_points(span(view, target, run)) for run in going]
        quotes = _quotes(view, target, going, room.minus(_cost(target, titles)))
        folds = [_fold(view, target, run, title, quotes) for run, title in zip(going, titles, strict=True)]
        saved = gone.minus(_cost(target, [fold.text for fold in folds]))
        gain = target.pressure(view) - target.pressure(view, saved)
        if target.hard or gain >= self.least or fits(view.total.minus(saved), target.goal):
            yield from folds


def previews(view: View, target: Target) -> Iterator[Edit]:
    """Large results, but for the newest unit's and pinned ones, as stubs."""
    for slot in view.slots:
        spared = not isinstance(slot, Unit) or slot.key == target.newest_unit or slot.pins or view.user_restored(slot)
        if isinstance(slot, Unit) and not spared:
            large = (spot for spots in results_of(view, slot) for spot in spots if spot.shown > 2 * (PREVIEW + 40))
            yield from (stubbed(view, slot, target, spot, PREVIEW, "preview") for spot in large)


def outlines(view: View, target: Target) -> Iterator[Edit]:
    """Long texts as their first paragraph and their points; of required and pinned ones only where nothing fits."""
    for unit in view.visible_units():
        if (target.hard or not (unit.key in target.required or pinned(view, unit))) and not view.user_restored(unit):
            long = (spot for spot in text_spots(view, unit, of_results=False) if spot.shown > OUTLINE)
            yield from (_outline(target, spot) for spot in long)


def last_rounds(view: View, target: Target) -> Iterator[Edit]:
    """All before the last rounds becomes one slot with excerpts of what must stay. A round begins with a user message,
    or, where there are not enough of them, with any unit."""
    units = [slot for slot in view.slots if isinstance(slot, Unit) and not isinstance(slot.head, Note)]
    rounds = [unit.key for unit in units if isinstance(unit.head, User)]
    if len(rounds) <= ROUNDS:
        rounds = [unit.key for unit in units]
    if len(rounds) > ROUNDS and (target.hard or not any(map(view.user_restored, view.slots))):
        shorter_and_shorter = last_resort.before_newest(view, replace(target, newest_unit=rounds[-ROUNDS]))
        yield from islice(shorter_and_shorter, None if target.hard else 1)


KEY_STEPS: tuple[Strategy, ...] = (KeyMessages(), previews, outlines, last_rounds)
"""The choice, and the fallbacks behind it."""


def _runs(view: View, target: Target) -> list[Sequence[Slot]]:
    """What may be folded: behind the leading task, before the newest unit, around the places that are held."""
    found = runs(view, target, view.slots[leading(view, target) : before(view, target)])
    return [run for run in found if any(isinstance(slot, Unit) and not stays(view, target, slot) for slot in run)]


def _quotes(view: View, target: Target, going: Sequence[Sequence[Slot]], room: Size) -> list[tuple[int, str]]:
    """The best sentences of what is folded that fit, each with its unit's key. What was asked for does not age."""
    told, gone = _told(view, target.derived)
    heard = {unit.seqs[0]: unit for unit in _heard(view)}
    spans = [(run[0].first, run[-1].last) for run in going]
    folded = {
        entry: unit.key
        for entry, unit in heard.items()
        if any(first <= unit.key <= last for first, last in spans) and not stays(view, target, unit)
    }
    ranked, chosen = list[tuple[float, int, str]](), list[tuple[int, int, str]]()
    state = tuple(view.notes)
    for at, logged in enumerate(told):
        entry, one, role = logged.entry, logged.statement, logged.role
        if entry in folded and at not in gone and one.value:
            line = _line(role, one.text, state)
            value = one.value * (MODEL if role == "assistant" else 1)
            value *= 1 if REQUESTS.intersection(one.reasons) else 0.8 + 0.4 * at / len(told)
            ranked.append((-value / len(line), at, line))
    for _, at, line in sorted(ranked):
        if room.tokens < LEAST:
            break
        size = Size(target.counter.count(line), text_bytes(line))
        if fits(size, room):
            room = room.minus(size)
            chosen.append((at, folded[told[at].entry], line))
    return [(key, line) for _, key, line in sorted(chosen)]


@lru_cache(maxsize=1 << 14)
def _line(role: str, text: str, state: tuple[str, ...]) -> str:
    """A quoted sentence, in which nothing passes for a marker of ours; `state`: the names of the announced state."""
    return texts.key_line(role, texts.disarmed(text, state))


def _fold(view: View, target: Target, run: Sequence[Slot], title: str, quotes: Sequence[tuple[int, str]]) -> Fold:
    first, last = run[0].first, run[-1].last
    mine = [(view.unit(key).seqs[0], line) for key, line in quotes if first <= key <= last]
    text, entries = "".join(line for _, line in mine), tuple(dict.fromkeys(entry for entry, _ in mine))
    fold = Fold(first=first, last=last, text=title + text, quotes=entries, why="key messages")
    return fold if text and view.refusal(fold) is None else left_out(view, target, run)


def _cost(target: Target, said: Sequence[str]) -> Size:
    """What texts of folds take, each a message."""
    tokens = sum(MESSAGE_TOKENS + target.counter.count(text) for text in said)
    return Size(tokens, sum(MESSAGE_BYTES + text_bytes(text) for text in said), 0, len(said))


def _told(view: View, derived: Derived) -> tuple[list[LoggedStatement], frozenset[int]]:
    """The sentences that may be quoted, folded ones too, in order, and the indexes of those no longer in force."""
    last, n = derived.of(_LastTold), stored(view.log)
    known, last.of_entry = last.of_entry, {}
    told = list[LoggedStatement]()
    for unit in _heard(view):
        seq = unit.seqs[0]
        mine = known.get(seq)
        if mine is None:
            mine = _said(view, unit)
        if seq < n:  # what is planned may never be stored, and then its number names another entry
            last.of_entry[seq] = mine
        told.extend(mine)
    if told != last.told:
        last.told, last.gone = told, outdated(told)
    return told, last.gone


class _LastTold:
    """The sentences that were looked at last, those of each entry, and the indexes of those no longer in force."""

    def __init__(self) -> None:
        self.of_entry: dict[int, tuple[LoggedStatement, ...]] = {}
        self.told: list[LoggedStatement] = []
        self.gone: frozenset[int] = frozenset()


def _heard(view: View) -> list[Unit]:
    """The units that are listened to, in order: the newest, and those that the folds that show quote. One walk over the
    folds: looking each unit up by its key would go down all of them again, for every unit."""
    newest, stack = dict[int, Unit](), list(view.slots)
    while stack and len(newest) < HEARD:
        top = stack.pop()
        if isinstance(top, Unit):
            newest[top.key] = top
        else:
            stack.extend(top.children)
    folds = (view.fetch(slot.seq).body for slot in view.slots if isinstance(slot, Folded))
    quoted = (view.unit_of[entry] for fold in folds if isinstance(fold, Fold) for entry in fold.quotes)
    older = {key: view.unit(key) for key in quoted if key not in newest}
    return [unit for _, unit in sorted((newest | older).items())]


def _said(view: View, unit: Unit) -> tuple[LoggedStatement, ...]:
    fact = cast("Fact", (unit.entries[0] if unit.entries else view.fetch(unit.seqs[0])).body)
    return tuple(LoggedStatement(unit.seqs[0], one, role_of(fact)) for one in statements(spoken(fact)))


def _outline(target: Target, spot: Spot) -> Trim:
    """The first paragraph of a text, and every line after it that is a bullet, a numbered point or a heading."""
    keep: list[Span] = []
    at, opening = 0, True
    for line in spot.text.splitlines(keepends=True):
        opening = opening and bool(line.strip() or not at)
        if opening or _POINT.match(line):
            start = keep.pop()[0] if keep and keep[-1][1] == at else at
            keep.append((start, at + len(line)))
        at += len(line)
    gone = spot.tokens * (at - sum(b - a for a, b in keep)) // max(1, at)
    note = texts.excerpt(target.reference(spot.entry), gone)
    return Trim(entry=spot.entry, part=spot.part, keep=tuple(keep), note=note, why="outline")
