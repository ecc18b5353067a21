"""On arrival: what was not sent yet is cut for free, since no cache knows it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom.core import texts
from transom.core.edit import Edit, Trim
from transom.core.policy import Aim
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.cutting import Spot, shorten, text_spots


class Clip(Struct, frozen=True, kw_only=True):
    """A long tool result keeps half from its start and half from its end (as codex does); images stay.

    Over `allowance` times min(`tokens`, `fraction` of usable) tokens it is cut to that; its parts share the budget.
    """

    tokens: int = 5_000
    fraction: float = 0.25
    allowance: float = 1.2

    def __call__(self, view: View, aim: Aim) -> Iterator[Edit]:
        cap = aim.budget.share(self.tokens, self.fraction)
        for unit in fresh(view, cap * self.allowance):
            for spots in results_of(view, unit):
                total = sum(spot.tokens for spot in spots)
                if total > cap * self.allowance:
                    yield from (_clipped(aim, spot, cap * spot.tokens // total) for spot in spots)


class Stub(Struct, frozen=True, kw_only=True):
    """A tool result over `characters` is shown as a preview of `preview` tokens with a reference to the whole.

    In small windows a result counts as long from `fraction` characters a usable token on.
    """

    characters: int = 7_000
    fraction: float = 0.5
    preview: int = 200

    def __call__(self, view: View, aim: Aim) -> Iterator[Edit]:
        most = aim.budget.share(self.characters, self.fraction)
        for unit in fresh(view):
            for spots in results_of(view, unit):
                if sum(len(spot.text) for spot in spots) > most:
                    yield from (stubbed(view, unit, aim, spot, self.preview, "stub") for spot in spots)


def fresh(view: View, over: float = 0) -> Iterator[Unit]:
    """Units with results, larger than `over` tokens, that no request has carried and nobody has touched so far."""
    for slot in view.slots[max(0, view.stable) :]:
        if isinstance(slot, Unit) and len(slot.seqs) > 1 and slot.size.tokens > over and _free(view, slot):
            yield slot


def _free(view: View, unit: Unit) -> bool:
    return not unit.cuts and not unit.pins and not view.held(unit)


def results_of(view: View, unit: Unit) -> Iterator[list[Spot]]:
    """The texts of each result of a unit."""
    spots = list(text_spots(view, unit, of_results=True))
    for seq in unit.seqs[1:]:
        yield [spot for spot in spots if spot.entry == seq]


def _clipped(aim: Aim, spot: Spot, cap: int) -> Trim:
    ref, lines = aim.ref(spot.entry), spot.text.count("\n") + 1
    keep, note = shorten(
        spot, cap, aim.counter, lambda gone: texts.clipped(ref, gone, lines if lines > 1 else 0), texts.bare(ref)
    )
    return Trim(entry=spot.entry, part=spot.part, keep=keep, note=note, why="clip")


def stubbed(view: View, unit: Unit, aim: Aim, spot: Spot, preview: int, why: str) -> Trim:
    """The trim that shows a stub in place of a result's text."""
    ref, call = aim.ref(spot.entry), view.tool_of(unit, spot.entry)
    marker = texts.stub(ref, call.name if call is not None else "", spot.tokens, spot.text.count("\n") + 1)
    cap = preview + aim.counter.count(marker)
    keep, note = shorten(spot, cap, aim.counter, lambda _: marker, texts.bare(ref))
    return Trim(entry=spot.entry, part=spot.part, keep=keep, note=note, why=why)
