"""Shortening a text to a number of tokens: a half from the start, a half from the end, a marker between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from transom import texts
from transom.core.edit import Span, Trim
from transom.core.message import Address, Text, ToolResult, addressed_parts
from transom.core.policy import Target
from transom.core.tokens import Size, text_bytes, trimmed_text
from transom.core.unit import Unit
from transom.core.view import View

SNAP = 0.15
"""A cut moves to a line end if one lies within this share of its half."""

WORD = 32
"""Else it moves to a blank if one lies within so many characters: half a number is another number."""

Form = tuple[tuple[Span, ...], str]
"""What a trim shows: the spans kept and the note in the gap."""


class Spot(Struct, frozen=True):
    """A text of the view that could be shortened: `tokens` whole, `shown` as it stands now."""

    entry: int
    part: Address
    text: str
    tokens: int
    shown: int


def text_spots(view: View, unit: Unit, *, of_results: bool) -> Iterator[Spot]:
    """The texts of a unit's results, or of its head."""
    best = unit.effective_trims() if unit.trims else {}
    for entry in view.entries_of(unit):
        if isinstance(entry.body, ToolResult) != of_results:
            continue
        for position, (address, part) in enumerate(addressed_parts(entry.body), start=1):  # type: ignore[arg-type]
            if isinstance(part, Text):
                cut = best.get((entry.seq, address))
                tokens = entry.tokens[position]
                yield Spot(entry.seq, address, part.text, tokens, tokens if cut is None else cut.tokens)


def is_read_back(view: View, unit: Unit, seq: int) -> bool:
    """Whether a result of a unit comes from a tool that reads the log back."""
    call = view.call_of(unit, seq)
    return call is not None and call.name in texts.READ_BACK


def halves(text: str, keep: int) -> tuple[Span, ...]:
    """Spans of at most `keep` characters in all, at line ends where they are near, or between words."""
    first = keep // 2
    last = len(text) - (keep - first)
    slack = int(first * SNAP)
    word = min(WORD, first)
    first = text.rfind("\n", first - slack, first) + 1 or text.rfind(" ", first - word, first) + 1 or first
    line, blank = text.find("\n", last, last + slack), text.find(" ", last, last + word)
    last = next((at + 1 for at in (line, blank) if 0 <= at < len(text) - 1), last)
    spans = ((0, first), (last, len(text)))
    return tuple((a, b) for a, b in spans if a < b)


class Counts(Protocol):
    """Whatever says how large a text is, in the unit of a `Spot`'s `tokens`."""

    def count(self, text: str, /) -> int: ...


def shorten(spot: Spot, cap: int, counter: Counts, marker: Callable[[int], str], bare: str) -> Form:
    """The form of a text that shows at most `cap` tokens, marker included; only `bare` if nothing more fits."""
    note = marker(spot.tokens - cap)
    room = cap - counter.count(note)
    keep = int(len(spot.text) * room / max(1, spot.tokens))
    for _ in range(8):
        if room <= 0 or keep < 8:
            break
        spans = halves(spot.text, keep)
        shown = counter.count(trimmed_text(spot.text, spans, note))
        if shown <= cap:
            true = marker(spot.tokens - shown + cap - room)
            return spans, true if len(true) == len(note) else note
        keep = int(keep * min(0.95, 0.98 * room / max(1, shown - (cap - room))))
    return (), bare


def level(weights: Sequence[int], total: int) -> float:
    """The height to which the largest weights must be levelled so that their sum is at most `total` (water-filling)."""
    rest, left = total, len(weights)
    for weight in sorted(weights):
        if weight * left > rest:
            return max(0.0, rest / left)
        rest, left = rest - weight, left - 1
    return float("inf")


def shrink(target: Target, used: Size, goal: Size, spots: Sequence[Spot], why: str, least: int = 0) -> Iterator[Trim]:
    """Trims that level the longest of `spots` until `used` would be within `goal`, none below `least` tokens."""
    over, over_bytes = used.tokens - goal.tokens, used.bytes - goal.bytes
    sizes = [text_bytes(spot.text) * spot.shown // max(1, spot.tokens) for spot in spots]
    cap = level([spot.shown for spot in spots], sum(spot.shown for spot in spots) - max(0, over))
    cap_bytes = level(sizes, sum(sizes) - max(0, over_bytes))
    for spot, size in zip(spots, sizes, strict=True):
        share = min(1.0, cap / max(1, spot.shown), cap_bytes / max(1, size))
        tokens = max(least, int(spot.shown * share))
        if share < 1.0 and tokens < spot.shown:
            ref = target.reference(spot.entry)
            keep, note = shorten(
                spot, tokens, target.counter, lambda gone, ref=ref: texts.excerpt(ref, gone), texts.bare(ref)
            )
            yield Trim(entry=spot.entry, part=spot.part, keep=keep, note=note, why=why)
