"""Shortens a text to a number of tokens: its start and its end stay, half and half, with a marker between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from transom import texts
from transom.core.edit import Span, Trim
from transom.core.policy import Target
from transom.core.trims import trimmed_text
from transom.strategies.text.shown_parts import ShownPart

LINE_WITHIN = 0.15
"""A half ends at the end of a line, if there is one within this share of the half."""

BLANK_WITHIN = 32
"""Otherwise it ends at a blank, if there is one within this many characters: half a number is another number."""

Shortened = tuple[tuple[Span, ...], str]
"""What a trim leaves of a text: the spans that stay, and the note in their gap."""


def halves(text: str, keep: int) -> tuple[Span, ...]:
    """The spans at both ends of a text of more than `keep` characters: half of these each, or a little less, since the
    text is cut at the end of a line or of a word if one is near. An empty span is left out."""
    first = keep // 2
    last = len(text) - (keep - first)
    slack = int(first * LINE_WITHIN)
    word = min(BLANK_WITHIN, first)
    first = text.rfind("\n", first - slack, first) + 1 or text.rfind(" ", first - word, first) + 1 or first
    line, blank = text.find("\n", last, last + slack), text.find(" ", last, last + word)
    last = next((at + 1 for at in (line, blank) if 0 <= at < len(text) - 1), last)
    spans = ((0, first), (last, len(text)))
    return tuple((a, b) for a, b in spans if a < b)


def shorten(
    part: ShownPart, most: int, count: Callable[[str], int], marker: Callable[[int], str], bare: str
) -> Shortened:
    """Shorten a text of more than `most` tokens to its two ends, in at most `most` tokens, marker included. Returns the
    spans that stay, and the marker.

    `count` measures a text, in the unit of `part.tokens`: mostly tokens, but `Clip` may count bytes. `marker` makes the
    marker from the number of removed tokens: those of the text less those that stay. If fewer than 8 characters fit
    beside it, only `bare` is left, a shorter marker, which may have more than `most` tokens.
    """
    note = marker(part.tokens - most)
    room = most - count(note)
    keep = int(len(part.text) * room / max(1, part.tokens))
    for _ in range(8):
        if room <= 0 or keep < 8:
            break
        spans = halves(part.text, keep)
        size = count(trimmed_text(part.text, spans, note))
        if size <= most:
            exact = marker(part.tokens - size + most - room)
            if len(exact) == len(note) or count(trimmed_text(part.text, spans, exact)) <= most:
                return spans, exact
            note, room = exact, most - count(exact)  # it has more digits: less of the text fits beside it
        keep = int(keep * min(0.95, 0.98 * room / max(1, size - (most - room))))
    return (), bare


def excerpt(target: Target, part: ShownPart, most: int) -> Trim:
    """The trim that leaves the two ends of a text of more than `most` tokens, in at most `most`, as `shorten` does."""
    reference = target.reference(part.entry)
    marker = partial(texts.excerpt_marker, reference)
    keep, note = shorten(part, most, target.counter.count, marker, texts.bare_marker(reference))
    return Trim(entry=part.entry, part=part.part, keep=keep, note=note)


def level(weights: Sequence[int], total: int) -> float:
    """The height to which the largest weights must be cut so that the sum of all is `total` (water-filling); infinity
    if it is `total` or less already."""
    rest, left = total, len(weights)
    for weight in sorted(weights):
        if weight * left > rest:
            return max(0.0, rest / left)
        rest, left = rest - weight, left - 1
    return float("inf")
