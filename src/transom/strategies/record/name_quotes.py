"""Old names as cheaply as can be: alone, several in a line under their turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from transom.strategies.record.passage_choice import PassageChoice
from transom.strategies.record.passages import Passage

SHORT = 8
"""Characters that a name costs beside its own, about."""

GAP = 2
"""Tokens of the mark between two names."""

TRIED = 2.0
"""How many times the names that fit are looked up in their texts, about."""


def name_quotes(
    passages: Sequence[Passage],
    text_of: Callable[[Passage], str],
    needed: Sequence[Sequence[str]],
    worth: Callable[[str], int],
    factors: Sequence[float],
    room: float,
) -> list[tuple[int, str]]:
    """Names to quote alone in this many tokens, each with its entry: those of most worth for each token first.

    `needed`: the names for which each passage may be quoted; `factors`: how much they are worth there. A name is taken
    from the passage with the greatest factor, the newest of these.
    """
    place: dict[str, int] = {}
    for at in range(len(passages) - 1, -1, -1):
        for name in needed[at]:
            if name.isdecimal() and any(name in other and name != other for other in needed[at]):
                continue  # the number of an id says nothing without the rest
            if (other := place.get(name)) is None or factors[at] > factors[other]:
                place[name] = at

    def rank(name: str) -> tuple[float, int, str]:
        return -worth(name) * factors[place[name]] / (SHORT + len(name)), -place[name], name

    found: list[Passage] = []
    left = TRIED * room
    for name in sorted(place, key=rank):
        if left < 0:
            break
        whole = passages[place[name]]
        text = text_of(whole)
        if (start := text.find(name, whole.start, whole.end + len(name))) >= 0:
            end = start + len(name)
            tokens = len(name) * whole.tokens / (whole.end - whole.start) + GAP
            inside = tuple(one for one in needed[place[name]] if one in name)
            found.append(Passage(whole.entry, whole.text, start, end, tokens, 0, inside, True, True))
            left -= tokens
    choice = PassageChoice(sorted(found), tag=0)
    choice.cover(room, [one.names for one in choice.passages], worth)
    taken = (choice.passages[at] for at in sorted(choice.taken))
    return [(one.entry, text_of(one)[one.start : one.end]) for one in taken]
