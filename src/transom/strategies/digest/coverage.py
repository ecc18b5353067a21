"""Maximum coverage by a greedy choice: what may be needed stands somewhere, in its surroundings, as cheaply as it goes.

The greedy algorithm for a monotone submodular gain under a knapsack, by gain per cost, with a lazy queue (Minoux 1978).
Gains are whole numbers: exact in whatever order they are added. Nearly greedy: that the tag of an entry is paid for is
noticed when one of its passages comes up, or a neighbour of one is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from itertools import takewhile

from transom.strategies.digest.passages import Passage

TAG = 8
"""Tokens that name the entry before its first passage."""

FINE = 1_000_000
"""How finely gain per token is told apart; what differs by less is a tie."""

FULL = 0.003
"""The share of a budget that is not worth looking for a passage that fits."""


class Choice:
    """What is chosen of some passages: places in the list, in the order of choosing, and what they cost in tokens.

    A passage costs its own tokens and its margins', which a chosen neighbour shares, and the first of an entry its tag.
    Passages of one entry stand together in the list, and in order.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = passages
        self.taken: list[int] = []
        self.spent = 0.0
        self._chosen: set[int] = set()
        self._tagged: set[int] = set()
        self._prices = [
            tokens + TAG + (2 - first - last) * margin for _, _, _, _, tokens, margin, _, first, last in passages
        ]

    def cover(
        self,
        budget: float,
        items: Sequence[Sequence[str]],
        worth: Callable[[str], int],
        *,
        covered: Iterable[str] = (),
        again: float = 0.0,
        factors: Sequence[float] = (),
    ) -> None:
        """Choose on for at most `budget` tokens, by what the items that each passage holds are `worth`, times its
        factor: nothing if they are `covered`; each cover of an item leaves the next `again` of its worth. Ties go to
        the newer.
        """
        prices, count, left = self._prices, len(self.passages), _Worth(worth, covered)
        left_of = left.__getitem__

        def rank(at: int) -> int:
            """Gain per token, the better the lower, and the place: one number is sorted faster than a pair."""
            gain = sum(map(left_of, items[at]))
            return int(-FINE * (gain * factors[at] if factors else gain) / prices[at]) * count - at

        heap = [now for at in range(count) if at not in self._chosen and (now := rank(at)) <= -count]
        heapify(heap)
        enough = FULL * budget
        while heap and budget > enough:
            was = heap[0]
            at = -was % count
            if prices[at] > budget or at in self._chosen:
                heappop(heap)
            elif (now := rank(at)) > was:
                heapreplace(heap, now)
            elif was > -count:
                break  # nothing that is left is worth anything
            else:
                heappop(heap)
                budget -= prices[at]
                self._take(at)
                for item in items[at]:
                    left[item] = int(left[item] * again)
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
                    self._cheaper(other, TAG)

    def _cheaper(self, at: int, by: float) -> None:
        """Neighbours' margins may show a short passage whole: that is nearly free."""
        self._prices[at] = max(1.0, self._prices[at] - by)

    def _beside(self, at: int) -> tuple[int, ...]:
        one = self.passages[at]
        return (() if one.first else (at - 1,)) + (() if one.last else (at + 1,))


class _Worth(dict[str, int]):
    """What items are worth still; asked for at the first look."""

    def __init__(self, of: Callable[[str], int], covered: Iterable[str]) -> None:
        super().__init__(dict.fromkeys(covered, 0))
        self._of = of

    def __missing__(self, item: str) -> int:
        value = self[item] = self._of(item)
        return value
