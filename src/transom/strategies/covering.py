"""Maximum coverage by a greedy choice: what may be needed stands somewhere, in its surroundings, as cheaply as it goes.

The lazy greedy algorithm (Minoux 1978) for a monotone submodular gain under a knapsack, by gain per cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import takewhile

from transom.strategies.passages import Passage

TAG = 8
"""Tokens that name the entry before its first passage."""

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
        self._prices = [one.tokens + TAG + (2 - one.first - one.last) * one.margin for one in passages]

    def cover(
        self,
        budget: float,
        items: Sequence[Sequence[str]],
        worth: dict[str, float],
        *,
        again: float = 0.0,
        factors: Sequence[float] = (),
    ) -> None:
        """Choose on for at most `budget` tokens, by what the items that each passage holds are `worth`, times its
        factor: each cover of an item leaves the next `again` of that worth. Ties go to the newer.
        """
        prices, chosen = self._prices, self._chosen
        worth_of = worth.__getitem__

        def gain(at: int) -> float:
            total = sum(map(worth_of, items[at]))
            return total * factors[at] if factors else total

        places = (at for at in range(len(prices)) if at not in chosen)
        heap = [(-value / prices[at], -at) for at in places if (value := gain(at)) > 0]
        heapify(heap)
        enough = FULL * budget
        while heap and budget > enough:
            was, place = heappop(heap)
            at = -place
            price = prices[at]
            if price > budget or at in chosen or (value := gain(at)) <= 0:
                continue
            if -value / price > was + 1e-12:
                heappush(heap, (-value / price, place))
                continue
            budget -= price
            self._take(at)
            for item in items[at]:
                worth[item] *= again
            for near in self._beside(at):
                if near not in chosen and (value := gain(near)) > 0:
                    heappush(heap, (-value / prices[near], -near))

    def _take(self, at: int) -> None:
        self.spent += self._prices[at]
        self.taken.append(at)
        self._chosen.add(at)
        for near in self._beside(at):
            self._prices[near] -= 2 * self.passages[near].margin
        entry = self.passages[at].entry
        if entry not in self._tagged:
            self._tagged.add(entry)
            for way in (range(at, -1, -1), range(at + 1, len(self.passages))):
                for other in takewhile(lambda place: self.passages[place].entry == entry, way):
                    self._prices[other] -= TAG

    def _beside(self, at: int) -> tuple[int, ...]:
        one = self.passages[at]
        return (() if one.first else (at - 1,)) + (() if one.last else (at + 1,))
