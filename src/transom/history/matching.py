"""Which of the messages a manager returned are which of those it was given. It owes us no ids: it may return the same
objects or copies, shortened, reordered, doubled, or things that nobody gave it."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Any, cast

from msgspec import Struct

from transom.core.message import Raw

TRIES = 64
"""How many candidates a rewritten text is compared with: the nearest ones."""


class Match(Struct, frozen=True):
    """`found`: for each given message the position of its like in the result, if it is there. `invented`: positions in
    the result that are like none. `moved`: some stand in another order."""

    found: dict[int, int]
    invented: tuple[int, ...]
    moved: bool


def match(given: Sequence[Raw], handed: Sequence[Raw], result: Sequence[object]) -> Match:
    """Match a result with what was given; `handed` are the very objects that the manager got, `given` the same messages
    as they were. By identity first, then by content, then by the calls they hold or answer, then by likeness."""
    work = _Matching(len(given), result)
    own = {id(message): at for at, message in enumerate(handed)}
    work.by({at: id(message) for at, message in enumerate(handed)}, lambda item: id(item) if id(item) in own else None)
    for key in (_content, _calls):
        work.by({at: key(message) for at, message in enumerate(given)}, key)
    work.by_likeness(given)
    order = [work.source[at] for at in sorted(work.source)]
    return Match(
        {place: at for at, place in work.source.items()},
        tuple(at for at in range(len(result)) if at not in work.source),
        any(a > b for a, b in pairwise(order)),
    )


class _Matching:
    """Pairs found so far: position in the result → position in what was given."""

    def __init__(self, given: int, result: Sequence[object]) -> None:
        self.given, self.result = given, result
        self.source: dict[int, int] = {}

    def by(self, keys: dict[int, Hashable], key: Callable[[object], Hashable]) -> None:
        """Pair what has the same key. From the end, since it is the old that goes: of equal messages the last stay."""
        taken = set(self.source.values())
        places: dict[Hashable, list[int]] = {}
        for at, label in sorted(keys.items()):
            if label is not None and at not in taken:
                places.setdefault(label, []).append(at)
        bound = self.given
        for at in range(len(self.result) - 1, -1, -1):
            if at not in self.source and (label := key(self.result[at])) is not None and (free := places.get(label)):
                before = bisect_left(free, bound)
                self.source[at] = free.pop(before - 1 if before else -1)
            bound = min(bound, self.source.get(at, bound))

    def by_likeness(self, given: Sequence[Raw]) -> None:
        """Pair what says less than it did, each with the nearest message of its role that nothing else is like."""
        taken = set(self.source.values())
        gaps = gaps_of(self.source, len(self.result), self.given)
        for at, item in enumerate(self.result):
            if at in self.source or not isinstance(item, dict):
                continue
            low, high = gaps[at]
            free = [place for place in range(high - 1, low, -1) if place not in taken][:TRIES]
            like = next((place for place in free if _says_less(given[place], cast("Raw", item))), None)
            if like is not None:
                self.source[at] = like
                taken.add(like)


def gaps_of(source: dict[int, int], results: int, given: int) -> list[tuple[int, int]]:
    """For each position in a result, between which given positions it stands: behind the last that is matched before
    it, before the first that is matched after it."""
    highs = [given] * (results + 1)
    for at in range(results - 1, -1, -1):
        highs[at] = min(highs[at + 1], source.get(at, given))
    gaps, low = list[tuple[int, int]](), -1
    for at in range(results):
        gaps.append((low, highs[at + 1]))
        low = max(low, source.get(at, -1))
    return gaps


def _content(item: object) -> Hashable:
    """Equal for equal messages; None for what is no JSON."""
    try:
        return json.dumps(item, sort_keys=True) if isinstance(item, dict) else None
    except (TypeError, ValueError, RecursionError):
        return None


def _calls(item: object) -> Hashable:
    """The calls a message holds or answers."""
    if not isinstance(item, dict):
        return None
    fields = cast("Raw", item)
    if fields.get("role") == "tool":
        label: object = fields.get("tool_call_id")
        return ("answers", label) if isinstance(label, str) else None
    calls: Any = fields.get("tool_calls")
    if fields.get("role") != "assistant" or not isinstance(calls, list) or not calls:
        return None
    ids = [cast("Raw", call).get("id") for call in cast("list[object]", calls) if isinstance(call, dict)]
    return ("holds", *ids) if all(isinstance(label, str) for label in ids) else None


def _says_less(whole: Raw, item: Raw) -> bool:
    """Whether a message without calls holds a part of what another one does."""
    if whole.get("role") != item.get("role") or whole.get("tool_calls") or item.get("tool_calls"):
        return False
    before, after = whole.get("content"), item.get("content")
    if isinstance(before, str) and isinstance(after, str):
        return bool(after) and is_less(before, after)
    if not isinstance(before, list):
        return False
    parts: list[object] = [{"type": "text", "text": after}] if isinstance(after, str) else []
    left = cast("list[object]", after) if isinstance(after, list) else parts
    return bool(left) and all(part in before for part in left)


def is_less(whole: str, text: str) -> bool:
    """Whether a text is most of it the beginning and the end of a longer one."""
    start, end = shared(whole, text)
    return len(text) < len(whole) and 2 * (start + end) >= len(text)


def shared(whole: str, text: str) -> tuple[int, int]:
    """How many characters two texts share at their start, and how many at their end beside these."""
    start = _common(len(text), lambda n: whole.startswith(text[:n]), min(len(whole), len(text)))
    rest = min(len(whole), len(text)) - start
    return start, _common(len(text), lambda n: whole.endswith(text[len(text) - n :]), rest)


def _common(size: int, holds: Callable[[int], bool], most: int) -> int:
    """The largest n up to `most` for which it holds; it holds for all smaller ones."""
    low, high = 0, min(size, most)
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low
