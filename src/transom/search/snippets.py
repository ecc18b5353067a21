"""Makes the snippet of a hit: the part of an entry that shows why it was found."""

from __future__ import annotations

from collections.abc import Sequence

from transom.quoting import escaped

MAX_CHARACTERS = 240
"""The most characters of a snippet."""
_BEFORE = 60
_MOST_PLACES = 200


def snippet(text: str, query: str, terms: Sequence[str]) -> str:
    """Return at most 240 characters of a text, on one line: around the query itself, else where most of its words are
    close together, else from the beginning. "…" stands where text was left out; control characters are escaped.

    `terms`: the words of the query (`query_terms`).
    """
    folded = text.lower()
    if len(folded) != len(text):  # a few letters have a longer lower case
        folded = text
    at = folded.find(query.lower().strip())
    start = max(0, (at if at >= 0 else _densest(folded, terms)) - _BEFORE)
    line = escaped(" ".join(text[start : start + 2 * MAX_CHARACTERS].split()))
    before, after = "…" * (start > 0), "…" * (start + 2 * MAX_CHARACTERS < len(text))
    room = MAX_CHARACTERS - len(before) - len(after)
    if len(line) > room:
        line, after = line[: MAX_CHARACTERS - len(before) - 1], "…"
    return f"{before}{line}{after}"


def _densest(folded: str, terms: Sequence[str]) -> int:
    """Return the position where the most different words begin within the width of a snippet; 0 if none occurs."""
    places: list[tuple[int, str]] = []
    for term in terms:
        at = folded.find(term)
        for _ in range(_MOST_PLACES // max(1, len(terms)) + 1):
            if at < 0:
                break
            places.append((at, term))
            at = folded.find(term, at + 1)
    places.sort()
    best, most = 0, 0
    for first, (at, _) in enumerate(places):
        near = {term for place, term in places[first : first + 50] if place < at + MAX_CHARACTERS - _BEFORE}
        if len(near) > most:
            best, most = at, len(near)
    return best
