"""Maximum coverage: a greedy choice of passages that hold as many needed names as possible in a number of tokens.

The greedy algorithm for a monotone submodular gain under a knapsack, by gain per cost, with a lazy queue (Minoux 1978).
Gains are whole numbers, so that their sum is the same in any order. It is approximately greedy: once an entry's tag is
paid, its other passages get cheaper, but their place in the queue is corrected only when they are popped, or when a
neighbour is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from itertools import takewhile

from transom.strategies.record.passages import Passage

TAG = 5
"""Tokens that name the entry before its first passage."""

FINE = 1_000_000
"""The resolution of gain per token: what differs by less is a tie."""

FULL = 0.003
"""If less than this share of the budget is left, no passage is looked for."""


class PassageChoice:
    """The passages chosen so far: `taken`, positions in the list in the order of choice, and the tokens `spent`.

    A passage costs its own tokens, its margins, which a chosen neighbour shares, and the tag of its entry if it is the
    first of that. The passages of one entry are adjacent in the list, and in order.
    """

    def __init__(self, passages: Sequence[Passage], *, tag: float = TAG) -> None:
        self.passages, self._tag = passages, tag
        self.taken: list[int] = []
        self.spent = 0.0
        self._chosen: set[int] = set()
        self._tagged: set[int] = set()
        self._prices = [each.tokens + tag + (2 - each.first - each.last) * each.margin for each in passages]

    def cover(
        self,
        budget: float,
        items: Sequence[Sequence[str]],
        worth: Callable[[str], int],
        *,
        covered: Iterable[str] = (),
        repeated: float = 0.0,
        factors: Sequence[float] = (),
    ) -> None:
        """Choose more passages, for at most `budget` tokens.

        `items` of each passage are `worth` something, times the passage's factor; nothing if they are `covered`. Each
        passage with an item leaves the share `repeated` of its worth to the next one. Ties go to the newer passage.
        """
        prices, count, left = self._prices, len(self.passages), _Worth(worth, covered)
        left_of = left.__getitem__

        def rank(at: int) -> int:
            """The gain per token, negative so that the best comes first, and the position, in one number: it is sorted
            faster than a pair."""
            gain = sum(map(left_of, items[at]))
            return int(-FINE * (gain * factors[at] if factors else gain) / prices[at]) * count - at

        heap = [now for at in range(count) if at not in self._chosen and (now := rank(at)) <= -count]
        heapify(heap)
        enough = FULL * budget
        while heap and budget > enough:
            top = heap[0]
            at = -top % count
            if prices[at] > budget or at in self._chosen:
                heappop(heap)
            elif (now := rank(at)) > top:
                heapreplace(heap, now)
            elif top > -count:
                break  # no other passage is worth anything
            else:
                heappop(heap)
                budget -= prices[at]
                self._take(at)
                for item in items[at]:
                    left[item] = int(left[item] * repeated)
                for near in self._beside(at):
                    if near not in self._chosen:
                        heappush(heap, rank(near))

    def _take(self, at: int) -> None:
        self.spent += self._prices[at]
        self.taken.append(at)
        self._chosen.add(at)
        for near in self._beside(at):
            self._cheaper(near, 2 * self.passages[near].margin)
        entry = self.passages[at].entry
        if entry not in self._tagged:
            self._tagged.add(entry)
            for way in (range(at, -1, -1), range(at + 1, len(self.passages))):
                for other in takewhile(lambda place: self.passages[place].entry == entry, way):
                    self._cheaper(other, self._tag)

    def _cheaper(self, at: int, by: float) -> None:
        """The margins of its neighbours may contain a short passage: then it is nearly free."""
        self._prices[at] = max(1.0, self._prices[at] - by)

    def _beside(self, at: int) -> tuple[int, ...]:
        one = self.passages[at]
        return (() if one.first else (at - 1,)) + (() if one.last else (at + 1,))


class _Worth(dict[str, int]):
    """The remaining worth of items, computed at first use."""

    def __init__(self, of: Callable[[str], int], covered: Iterable[str]) -> None:
        super().__init__(dict.fromkeys(covered, 0))
        self._of = of

    def __missing__(self, item: str) -> int:
        value = self[item] = self._of(item)
        return value
