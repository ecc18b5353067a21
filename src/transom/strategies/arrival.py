"""On arrival: what was not sent yet is cut for free, since no cache knows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core.edit import Edit, Trim
from transom.core.policy import Target
from transom.core.tokens import text_bytes
from transom.core.unit import Unit
from transom.core.view import View
from transom.errors import InvalidSetting
from transom.strategies.text.stubs import stubbed
from transom.strategies.text.truncation import Spot, is_read_back, level, shorten, text_spots

ClipUnit = Literal["tokens", "bytes", "none"]

TOKEN_BYTES = 4
"""Bytes of UTF-8 that stand for a token where bytes are counted."""


class _Bytes:
    """Sizes in UTF-8 bytes."""

    def count(self, text: str, /) -> int:
        return text_bytes(text)


BYTES = _Bytes()


class Clip(Struct, frozen=True, kw_only=True):
    """A long tool result keeps half from its start and half from its end (as codex does); images stay.

    Over `allowance` times min(`tokens`, `fraction` of usable) it is cut to that; its parts share the budget, the long
    ones giving way first. `unit`: what is counted: tokens, bytes of UTF-8 (four for a token), or nothing, which clips
    nothing. `header`: the marker also says how many lines the whole has; it says so there since a line of our own
    before a tool's first one could not be told from the tool's.
    """

    tokens: int = 5_000
    fraction: float = 0.25
    allowance: float = 1.2
    unit: ClipUnit = "tokens"
    header: bool = True

    def __post_init__(self) -> None:
        if self.unit not in get_args(ClipUnit):
            raise InvalidSetting(f"clip: unit must be tokens, bytes or none, not {self.unit!r}")

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        if self.unit == "none":
            return
        cap = target.budget.share(self.tokens, self.fraction)
        least = cap * self.allowance
        if self.unit == "bytes":
            cap, least = cap * TOKEN_BYTES, 0
        for unit in fresh(view, least):
            for spots in results_of(view, unit):
                yield from self._cut(target, spots, cap)

    def _cut(self, target: Target, spots: list[Spot], cap: int) -> Iterator[Trim]:
        """What brings the texts of a result down to `cap`, if they are too long."""
        sizes = [text_bytes(spot.text) if self.unit == "bytes" else spot.tokens for spot in spots]
        if sum(sizes) <= cap * self.allowance:
            return
        most = level(sizes, cap)
        for spot, size in zip(spots, sizes, strict=True):
            if size > most:
                yield self._clipped(target, spot, size, int(most))

    def _clipped(self, target: Target, spot: Spot, size: int, cap: int) -> Trim:
        ref, lines = target.reference(spot.entry), spot.text.count("\n") + 1
        total = lines if self.header and lines > 1 else 0
        counter = BYTES if self.unit == "bytes" else target.counter
        keep, note = shorten(
            replace(spot, tokens=size),
            cap,
            counter,
            lambda gone: texts.clipped(ref, gone * spot.tokens // size, total),
            texts.bare(ref),
        )
        return Trim(entry=spot.entry, part=spot.part, keep=keep, note=note, why="clip")


class Stub(Struct, frozen=True, kw_only=True):
    """A tool result over `characters` is shown as a stub: what tells most in `preview` tokens, and where the whole is.

    In small windows a result counts as long from `fraction` characters a usable token on.
    """

    characters: int = 7_000
    fraction: float = 0.5
    preview: int = 200

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        most = target.budget.share(self.characters, self.fraction)
        for unit in fresh(view):
            for spots in results_of(view, unit):
                if sum(len(spot.text) for spot in spots) > most:
                    yield from (stubbed(view, unit, target, spot, self.preview, "stub") for spot in spots)


def fresh(view: View, over: float = 0) -> Iterator[Unit]:
    """Units with results, larger than `over` tokens, that no request has carried and nobody has touched so far."""
    for slot in view.slots[max(0, view.shared_slots) :]:
        if isinstance(slot, Unit) and len(slot.seqs) > 1 and slot.size.tokens > over and _free(view, slot):
            yield slot


def _free(view: View, unit: Unit) -> bool:
    return not unit.trims and not unit.pins and not view.user_restored(unit)


def results_of(view: View, unit: Unit) -> Iterator[list[Spot]]:
    """The texts of each result of a unit that may be cut: what was read back from the log may not."""
    spots = list(text_spots(view, unit, of_results=True))
    for seq in unit.seqs[1:]:
        if not is_read_back(view, unit, seq):
            yield [spot for spot in spots if spot.entry == seq]
