"""Observation masking: what tools said longest ago gives way to one line each, many at a time."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from msgspec import Struct

from transom import texts
from transom.core.edit import Edit, Trim
from transom.core.message import Assistant, Call, ToolResult
from transom.core.policy import Target
from transom.core.tokens import text_bytes
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.text.stubs import outcome
from transom.strategies.text.truncation import Spot, text_spots

WORTH = 20  # tokens that a trim must free to be worth its entry in the log


class Mask(Struct, frozen=True, kw_only=True):
    """Results older than the `last` ones show as one line (SWE-agent); images stay, `DropMedia` is for them. The border
    moves `polling` results at a time, so that the windows between have their prefix cached. The first `first` results
    and those of `tools` stay."""

    last: int = 5
    polling: int = 10
    first: int = 1
    tools: frozenset[str] = frozenset()

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        seen = list(observations(view, target.protected))
        stop = len(seen) // max(1, self.polling) * self.polling - self.last
        yield from worthwhile(target, self._masks(target, seen[self.first : max(stop, 0)]), 0.0, "mask")

    def _masks(self, target: Target, old: list[Observation]) -> Iterator[Offer]:
        for one in old:
            if one.free and one.call.name not in self.tools:
                for spot in one.spots:
                    lines = spot.text.count("\n") + 1
                    yield (
                        one.unit,
                        spot,
                        texts.masked(target.reference(one.entry), one.call.name, lines, outcome(one.result)),
                    )


class Observation(Struct, frozen=True):
    """A tool result that shows, with its call and the call's index. `free`: it may be cut; the newest unit's may not,
    nor what is open, pinned, taken back by somebody, or was read back from the log."""

    unit: Unit
    entry: int
    result: ToolResult
    call: Call
    index: int
    spots: tuple[Spot, ...]
    free: bool


Offer = tuple[Unit, Spot, str]
"""A text of a unit, and the note that could stand in its place."""


def observations(view: View, kept: Container[int]) -> Iterator[Observation]:
    """The results in the slots, oldest first; those of the units `kept` are not free."""
    for unit in view.slots:
        if isinstance(unit, Unit) and isinstance(unit.head, Assistant) and len(unit.seqs) > 1:
            free = not (
                unit.key == view.newest_unit
                or unit.key in kept
                or unit.pins
                or unit.open_calls
                or view.user_restored(unit)
            )
            spots = list(text_spots(view, unit, of_results=True))
            for seq, index, result in zip(unit.seqs[1:], unit.answered_calls, unit.facts[1:], strict=True):
                call, own = unit.head.calls[index], tuple(spot for spot in spots if spot.entry == seq)
                assert isinstance(result, ToolResult)
                yield Observation(unit, seq, result, call, index, own, free and call.name not in texts.READ_BACK)


def worthwhile(target: Target, offers: Iterable[Offer], least: float, why: str) -> Iterator[Trim]:
    """The trims of these offers that free something, in one batch; none if all of them free less than `least` of the
    limit: that is not worth a break."""
    trims, freed = list[Trim](), 0
    for unit, spot, note in offers:
        cut = unit.effective_trims().get((spot.entry, spot.part)) if unit.trims else None
        gain = spot.shown - target.counter.count(note)
        if gain >= WORTH and text_bytes(note) < (text_bytes(spot.text) if cut is None else cut.bytes):
            trims.append(Trim(entry=spot.entry, part=spot.part, note=note, why=why))
            freed += gain
    if freed >= least * target.limit.tokens:
        yield from trims
