"""What a manager did to the messages of a view, as edits of the log.

Turns that are gone are folded, texts that are shorter are trimmed; everything else a manager may do has no edit, is
left undone, and is said. The first task, the newest user message, the newest turn, pins, and places somebody took an
edit back from stay whatever it did: the engine keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from transom.core import texts
from transom.core.edit import Edit, Fold, Trim
from transom.core.message import Raw, Text
from transom.core.policy import Aim
from transom.core.unit import Slot, Unit
from transom.core.view import View
from transom.errors import InvalidMessage
from transom.history.matching import Match, gaps_of, match
from transom.history.reading import Shown
from transom.history.shortening import Shortening
from transom.strategies.omission import left_out, span
from transom.wire.openai_chat import parse


class Difference(Struct, frozen=True):
    """The edits that do what a manager did, and what of it they do not."""

    edits: tuple[Edit, ...]
    ignored: tuple[str, ...]


def difference(view: View, aim: Aim, given: Shown, handed: Sequence[Raw], result: object, why: str) -> Difference:
    """The edits that lead from what a view shows to what a manager made of it. `handed` are the objects that it got.

    Total: whatever the result is, the edits are sound.
    """
    if not isinstance(result, (list, tuple)):
        return Difference((), (f"a manager must return a list of messages, not {type(result).__name__}",))
    items = list(cast("Sequence[object]", result))
    work = _Differing(view, aim, given, items, match(given.messages, handed, items), why)
    edits = (*work.trims(), *work.folds())
    return Difference(edits, tuple(dict.fromkeys(work.ignored)))


class _Differing:
    def __init__(self, view: View, aim: Aim, given: Shown, result: list[object], found: Match, why: str) -> None:
        self.view, self.aim, self.given, self.result, self.found, self.why = view, aim, given, result, found, why
        self.ignored: list[str] = ["the order of messages stays as it was"] if found.moved else []

    # ---- shorter

    def trims(self) -> Iterator[Trim]:
        """For every message that is still there, or whose turn is."""
        for at, place in enumerate(self.given.places):
            if place.unit is None:
                self._unchanged(at)
            elif at in self.found.found:
                was, now = self.given.messages[at], cast("Raw", self.result[self.found.found[at]])
                if was != now:
                    yield from self._shortening(at).between(was, now)
            elif self._kept_beside(at):
                if place.entry == place.unit.seqs[0]:
                    self.ignored.append(f"{self.aim.ref(place.entry)} stays: results without their calls are refused")
                else:
                    yield from self._shortening(at).dropped()

    def _shortening(self, at: int) -> Shortening:
        place = self.given.places[at]
        assert place.unit is not None
        return Shortening(self.view, place.unit, place.entry, self.aim.ref, self.ignored.append, self.why)

    def _kept_beside(self, at: int) -> bool:
        """Whether anything else of the message's unit is still there."""
        place = self.given.places[at]
        return any(
            other in self.found.found
            for other in self.given.slots[place.slot]
            if self.given.places[other].unit is place.unit
        )

    def _unchanged(self, at: int) -> None:
        """The head and the texts of folds are said as they are."""
        now = self.found.found.get(at)
        head = self.given.places[at].slot < 0
        if now is None and head:
            self.ignored.append("the system message stays")
        elif now is not None and self.result[now] != self.given.messages[at]:
            self.ignored.append(f"the {'system message' if head else 'text of a fold'} stays as it was")

    # ---- gone

    def folds(self) -> Iterator[Fold]:
        """A fold for every run of slots of which nothing is left, with the words that stand in its place, if any."""
        runs = [run for run in self._runs() if any(self._counts(slot) for slot in run)]
        words = self._words([self.given.slots[self.view.index(run[0].first)][0] for run in runs])
        for run, said in zip(runs, words, strict=True):
            fold = replace(left_out(self.view, self.aim, run), why=self.why)
            if said:
                where = texts.bare(span(self.view, self.aim, run))
                told = replace(fold, text=said if where in said else f"{said}\n{where}")
                if self.view.refusal(told) is None:
                    fold = told
                else:
                    self.ignored.append("words in place of what is gone are left out: they are longer")
            if (refused := self.view.refusal(fold)) is None:
                yield fold
            else:
                self.ignored.append(f"{span(self.view, self.aim, run)} stays: {refused}")

    def _runs(self) -> list[list[Slot]]:
        """Neighbours that are gone and may go; what must stay anyway is not at their ends."""
        runs: list[list[Slot]] = [[]]
        for at, slot in enumerate(self.view.slots):
            if self._may_go(at, slot):
                if runs[-1] or not self._stays(slot):
                    runs[-1].append(slot)
            elif runs[-1]:
                runs.append([])
        for run in runs:
            while run and self._stays(run[-1]):
                run.pop()
        return [run for run in runs if run]

    def _may_go(self, at: int, slot: Slot) -> bool:
        if any(message in self.found.found for message in self.given.slots[at]):
            return False
        if not slot.first <= self.view.newest <= slot.last:
            return self.aim.hard or not self.view.held(slot)
        return False

    def _stays(self, slot: Slot) -> bool:
        """Whether the engine would show it beside a fold that covers it."""
        return isinstance(slot, Unit) and (bool(slot.pins) or slot.key in {self.view.first_task, self.view.newest_user})

    def _counts(self, slot: Slot) -> bool:
        """Whether folding it leaves out anything that shows."""
        return isinstance(slot, Unit) and not self._stays(slot)

    # ---- new

    def _words(self, starts: list[int]) -> list[str]:
        """For each run of gone slots (by its first message) what the manager says in its place."""
        words: list[list[str]] = [[] for _ in starts]
        source = {at: place for place, at in self.found.found.items()}
        gaps = gaps_of(source, len(self.result), len(self.given.messages))
        for at in self.found.invented:
            low, high = gaps[at]
            run = next((run for run, start in enumerate(starts) if low < start < high), None)
            text = _text_of(self.result[at])
            if run is None or not text:
                self.ignored.append("messages that nothing is the source of are left out")
            else:
                words[run].append(text)
        return ["\n".join(said) for said in words]


def _text_of(item: object) -> str:
    """What a message says, if it says it in words alone."""
    try:
        fact = parse(item)
    except InvalidMessage:
        return ""
    pieces = [part.text for part in fact.parts if isinstance(part, Text)]
    return "\n".join(pieces).strip() if len(pieces) == len(fact.parts) else ""
