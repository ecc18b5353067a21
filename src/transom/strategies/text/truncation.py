"""Shortens a text to a number of tokens: one half from its start, one half from its end, a marker between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from transom import texts
from transom.core.edit import Span, Trim
from transom.core.policy import Target
from transom.core.tokens import Size, text_bytes, trimmed_text
from transom.strategies.text.parts import TextPart

SNAP = 0.15
"""A half ends at the end of a line, if there is one within this share of the half."""

WORD = 32
"""Otherwise it ends at a blank, if there is one within so many characters: half a number is another number."""

Shortened = tuple[tuple[Span, ...], str]
"""What a trim leaves of a text: the spans that stay, and the note in their gap."""


class Counter(Protocol):
    """Counts a text, in the unit of `TextPart.tokens`."""

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


def shorten(part: TextPart, most: int, counter: Counter, marker: Callable[[int], str], bare: str) -> Shortened:
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


def shrink(
    target: Target, used: Size, goal: Size, parts: Sequence[TextPart], why: str, least: int = 0
) -> Iterator[Trim]:
    """Trims that level the longest of these texts until `used` would be within `goal`, none below `least` tokens."""
    over, over_bytes = used.tokens - goal.tokens, used.bytes - goal.bytes
    sizes = [text_bytes(part.text) * part.shown_tokens // max(1, part.tokens) for part in parts]
    most = level([part.shown_tokens for part in parts], sum(part.shown_tokens for part in parts) - max(0, over))
    most_bytes = level(sizes, sum(sizes) - max(0, over_bytes))
    for part, size in zip(parts, sizes, strict=True):
        share = min(1.0, most / max(1, part.shown_tokens), most_bytes / max(1, size))
        tokens = max(least, int(part.shown_tokens * share))
        if share < 1.0 and tokens < part.shown_tokens:
            reference = target.reference(part.entry)
            keep, note = shorten(
                part,
                tokens,
                target.counter,
                lambda removed, reference=reference: texts.excerpt_marker(reference, removed),
                texts.bare_marker(reference),
            )
            yield Trim(entry=part.entry, part=part.part, keep=keep, note=note, why=why)
