"""Shortens a text to a number of tokens: one half from its start, one half from its end, a marker between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from transom.core.edit import Span
from transom.core.tokens import trimmed_text
from transom.strategies.text.parts import ShownPart

SNAP = 0.15
"""A half ends at the end of a line, if there is one within this share of the half."""

WORD = 32
"""Otherwise it ends at a blank, if there is one within this many characters: half a number is another number."""

Shortened = tuple[tuple[Span, ...], str]
"""What a trim leaves of a text: the spans that stay, and the note in their gap."""


class Counter(Protocol):
    """Counts a text, in the unit of `ShownPart.tokens`."""

    def count(self, text: str, /) -> int: ...


def halves(text: str, keep: int) -> tuple[Span, ...]:
    """The first and the last span, of at most `keep` characters in all, up to ends of lines or words where near."""
    first = keep // 2
    last = len(text) - (keep - first)
    slack = int(first * SNAP)
    word = min(WORD, first)
    first = text.rfind("\n", first - slack, first) + 1 or text.rfind(" ", first - word, first) + 1 or first
    line, blank = text.find("\n", last, last + slack), text.find(" ", last, last + word)
    last = next((at + 1 for at in (line, blank) if 0 <= at < len(text) - 1), last)
    spans = ((0, first), (last, len(text)))
    return tuple((a, b) for a, b in spans if a < b)


def shorten(part: ShownPart, most: int, counter: Counter, marker: Callable[[int], str], bare: str) -> Shortened:
    """A text in at most `most` tokens, marker included; only `bare` if nothing more fits.

    `marker` makes the marker from the number of removed tokens.
    """
    note = marker(part.tokens - most)
    room = most - counter.count(note)
    keep = int(len(part.text) * room / max(1, part.tokens))
    for _ in range(8):
        if room <= 0 or keep < 8:
            break
        spans = halves(part.text, keep)
        size = counter.count(trimmed_text(part.text, spans, note))
        if size <= most:
            exact = marker(part.tokens - size + most - room)
            return spans, exact if len(exact) == len(note) else note
        keep = int(keep * min(0.95, 0.98 * room / max(1, size - (most - room))))
    return (), bare


def level(weights: Sequence[int], total: int) -> float:
    """The height to which the largest weights must be levelled so that their sum is at most `total` (water-filling)."""
    rest, left = total, len(weights)
    for weight in sorted(weights):
        if weight * left > rest:
            return max(0.0, rest / left)
        rest, left = rest - weight, left - 1
    return float("inf")
