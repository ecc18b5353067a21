"""Key messages: the units that matter most stay whole, and the sentences that matter most of the others are quoted.

Every step shrinks the window, or it changes nothing. Where the choice cannot reach the goal, because too much must
stay, `key_message_fallbacks` take over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core.budget import Budget, fits
from transom.core.edit import Edit, Fold
from transom.core.index_cache import IndexCache
from transom.core.policy import KeptUnit, Strategy, Target
from transom.core.tokens import ZERO, Size, text_bytes
from transom.core.unit import Slot
from transom.core.view import View
from transom.strategies.candidates import (
    fold_texts_size,
    foldable_runs,
    freed_by_folding,
    hides_a_unit,
    is_worth_a_break,
    leading_slots,
    relieves,
    saves_tokens,
    slots_before_newest,
    stays_visible,
)
from transom.strategies.fold.key_message_fallbacks import FALLBACKS
from transom.strategies.fold.omission import omission
from transom.strategies.sentences.collect import collect_statements, quotable_units
from transom.strategies.sentences.corrections import REQUESTS
from transom.strategies.sentences.salience import names_of_unit, unit_score
from transom.strategies.text.references import range_reference

RECENT_UNITS = 6
"""The newest units, whose names tell what the conversation works on."""

MODEL_WEIGHT = 0.6
"""The value of a sentence of the model, beside the same sentence of the user."""

MIN_TOKENS = 10
"""With fewer tokens left there is no room for another sentence."""

QUOTED_PART = 10
"""One in this many of the tokens that a fold frees are for its quotes even where the goal is out of reach, if the limit
allows it."""


class KeepKey(Struct, frozen=True, kw_only=True):
    """Protects the `newest` units within half of `share` of the goal's room, then units by score per token, within all
    of it. A unit with an outdated statement is not protected: it must not look as if it were still in force."""

    share: float = 0.5
    newest: int = 10

    def __call__(self, view: View, target: Target) -> Iterator[KeptUnit]:
        units = [
            unit for unit in view.visible_units() if unit.key < target.newest_unit and unit.key not in target.required
        ]
        recent = frozenset(name for unit in units[-RECENT_UNITS:] for name in names_of_unit(view.entries_of(unit)))
        statements, outdated = collect_statements(view, target.indexes)
        stale = {statements[at].entry for at in outdated}
        units = [unit for unit in units if unit.seqs[0] not in stale]
        worth, why = dict[int, float](), dict[int, str]()
        for at, unit in enumerate(units):
            shared = recent if at < len(units) - RECENT_UNITS else frozenset[str]()  # not with themselves
            score, reasons = unit_score(view.entries_of(unit), shared, age=1 - at / len(units))
            worth[unit.key] = score / unit.size.tokens
            why[unit.key] = f"score {score:.1f}: {', '.join(reasons)}"
        best = sorted((unit for unit in units if worth[unit.key]), key=lambda unit: (-worth[unit.key], -unit.key))
        room = [max(0, goal - fixed) * self.share for goal, fixed in zip(target.goal, target.fixed_size, strict=True)]
        half, whole, used = Size(*(int(part / 2) for part in room)), Size(*map(int, room)), ZERO
        kept: dict[int, KeptUnit] = {}
        newest = ((unit, half, "newest") for unit in units[: -self.newest - 1 : -1])
        for unit, most, reason in (*newest, *((unit, whole, why[unit.key]) for unit in best)):
            if unit.key not in kept and fits(used.plus(unit.size), most):
                used, kept[unit.key] = used.plus(unit.size), KeptUnit(unit.key, reason)
        yield from kept.values()


class KeyMessages(Struct, frozen=True, kw_only=True):
    """Folds what is neither required nor protected, up to the newest unit, and quotes its best sentences for which the
    goal has room, chosen greedily by score per character, in log order.

    It quotes original entries, however often they were folded: those of the newest turns, and those that were quoted
    before. It never quotes an outdated statement, nor the output of a tool, which would look like the user's words.
    Nothing happens if that neither reaches the goal nor lowers the pressure by `least`; the fallbacks are next.
    """

    least: float = 0.1

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        slots = view.slots[leading_slots(view, target) : slots_before_newest(view, target)]
        found = [run for run in foldable_runs(view, target, slots) if hides_a_unit(view, target, run)]
        freed = freed_by_folding(view, target, chain(*found))
        titles = [texts.key_points_title(range_reference(view, target, run)) for run in found]
        room = _room_for_quotes(view, target, freed).minus(fold_texts_size(target, titles))
        quotes = _quotes(view, target, found, room)
        folds = [_fold(view, target, run, title, quotes) for run, title in zip(found, titles, strict=True)]
        saved = freed.minus(fold_texts_size(target, [fold.text for fold in folds]))
        is_enough = fits(view.total.minus(saved), target.goal)
        if relieves(view, target, saved) and (is_enough or is_worth_a_break(view, target, saved, self.least)):
            yield from (
                fold for run, fold in zip(found, folds, strict=True) if saves_tokens(view, target, run, fold.text)
            )

    def prepare(self, view: View, budget: Budget, indexes: IndexCache) -> None:  # noqa: ARG002 - as every strategy's
        """Read the sentences and names of the new units. Optional: it changes latency, never a window."""
        collect_statements(view, indexes)
        for unit in view.visible_units():
            names_of_unit(view.entries_of(unit))


KEY_STEPS: tuple[Strategy, ...] = (KeyMessages(), *FALLBACKS)
"""The choice, and its fallbacks."""


def _room_for_quotes(view: View, target: Target, freed: Size) -> Size:
    """The room for titles and quotes: up to the goal; where the goal is out of reach, a part of what is freed."""
    rest = view.total.minus(freed)
    to_goal, to_limit = target.goal.minus(rest), target.limit.minus(target.due_notes).minus(rest)
    sizes = zip(to_goal, to_limit, freed, strict=True)
    room = Size(*(max(goal, min(limit, part // QUOTED_PART)) for goal, limit, part in sizes))
    return replace(room, bytes=min(room.bytes, freed.bytes * 9 // 10))  # a fold must be shorter than what it replaces


def _quotes(view: View, target: Target, found: Sequence[Sequence[Slot]], room: Size) -> list[tuple[int, str]]:
    """The best sentences of the units that the folds hide and that fit, each with its unit's key."""
    statements, outdated = collect_statements(view, target.indexes)
    units = {unit.seqs[0]: unit for unit in quotable_units(view)}
    spans = [(run[0].first, run[-1].last) for run in found]
    hidden = {
        entry: unit.key
        for entry, unit in units.items()
        if any(first <= unit.key <= last for first, last in spans) and not stays_visible(view, target, unit)
    }
    ranked, chosen = list[tuple[float, int, str]](), list[tuple[int, int, str]]()
    state = tuple(view.notes)
    for at, logged in enumerate(statements):
        sentence = logged.statement
        if logged.entry in hidden and at not in outdated and sentence.value:
            line = _line(logged.role, sentence.text, state)
            value = sentence.value * (MODEL_WEIGHT if logged.role == "assistant" else 1)
            if not REQUESTS.intersection(sentence.reasons):  # a request does not age
                value *= 0.8 + 0.4 * at / len(statements)
            ranked.append((-value / len(line), at, line))
    for _, at, line in sorted(ranked):
        if room.tokens < MIN_TOKENS:
            break
        size = Size(target.counter.count(line), text_bytes(line))
        if fits(size, room):
            room = room.minus(size)
            chosen.append((at, hidden[statements[at].entry], line))
    return [(key, line) for _, key, line in sorted(chosen)]


@lru_cache(maxsize=1 << 14)
def _line(role: str, text: str, state: tuple[str, ...]) -> str:
    """A quoted sentence, in which nothing passes for a marker of ours; `state`: the keys of the announced state."""
    return texts.key_point(role, texts.disarmed(text, state))


def _fold(view: View, target: Target, run: Sequence[Slot], title: str, quotes: Sequence[tuple[int, str]]) -> Fold:
    """The fold of a run with its quotes; the plain omission if it has none, or if it would be too long."""
    first, last = run[0].first, run[-1].last
    mine = [(view.unit(key).seqs[0], line) for key, line in quotes if first <= key <= last]
    text, entries = "".join(line for _, line in mine), tuple(dict.fromkeys(entry for entry, _ in mine))
    fold = Fold(first=first, last=last, text=title + text, quotes=entries, why="key messages")
    if text and view.refusal(fold) is None and saves_tokens(view, target, run, fold.text):
        return fold
    return omission(view, target, run)
