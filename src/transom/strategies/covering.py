"""Maximum coverage by a greedy choice: what may be needed stands somewhere, in its surroundings, as cheaply as it goes.

The lazy greedy algorithm (Minoux 1978) for a monotone submodular gain under a knapsack, by gain per cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

from msgspec import Struct

from transom.strategies.passages import MARGIN, Passage

TAG = 8
"""Tokens that name the entry before its first passage."""


class Candidate(Struct, frozen=True, eq=False):
    """A passage that may be chosen, the `number`-th of its entry. Its neighbours in the same text stand beside it in
    the list of candidates, unless it is the `first` or the `last` of its text."""

    entry: int
    number: int
    passage: Passage
    first: bool
    last: bool


class _Worth(dict[str, float]):
    """What items weigh, asked once for each."""

    def __init__(self, weight: Callable[[str], float]) -> None:
        self._weight = weight

    def __missing__(self, item: str) -> float:
        self[item] = value = self._weight(item)
        return value


class Choice:
    """What is chosen of some candidates: places in the list, in the order of choosing, and what they cost in tokens."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.candidates = candidates
        self.taken: list[int] = []
        self.spent = 0.0
        self._chosen: set[int] = set()
        self._tagged: set[int] = set()

    def cover(
        self,
        budget: float,
        items: Callable[[int], Sequence[str]],
        weight: Callable[[str], float],
        times: dict[str, int],
        *,
        again: float = 0.0,
        factor: Callable[[int], float] = lambda _: 1.0,
    ) -> None:
        """Choose on for at most `budget` tokens, by the weights of what the candidates hold: the k-th cover of an item
        is worth `again`^k of it. `times` says how often each is covered already, and grows. Ties go to the newer.
        """

        worth = _Worth(weight)

        def gain(at: int) -> float:
            total = 0.0
            for item in items(at):
                seen = times.get(item)
                if not seen:
                    total += worth[item]
                elif again:
                    total += worth[item] * again**seen
            return total * factor(at)

        places = (at for at in range(len(self.candidates)) if at not in self._chosen)
        heap = [(-value / self._cost(at), -at) for at in places if (value := gain(at)) > 0]
        heapify(heap)
        while heap:
            was, place = heappop(heap)
            at = -place
            if at in self._chosen or (value := gain(at)) <= 0:
                continue
            price = self._cost(at)
            if -value / price > was + 1e-12:
                heappush(heap, (-value / price, place))
            elif price <= budget:
                budget -= price
                self._take(at, price)
                for item in items(at):
                    times[item] = times.get(item, 0) + 1
                for near in self._beside(at):
                    if near not in self._chosen and (value := gain(near)) > 0:
                        heappush(heap, (-value / self._cost(near), -near))

    def _take(self, at: int, price: float) -> None:
        self.spent += price
        self.taken.append(at)
        self._chosen.add(at)
        self._tagged.add(self.candidates[at].entry)

    def _beside(self, at: int) -> tuple[int, ...]:
        one = self.candidates[at]
        return (() if one.first else (at - 1,)) + (() if one.last else (at + 1,))

    def _cost(self, at: int) -> float:
        """Tokens of a passage with its margins, which a chosen neighbour shares, and of its entry's tag."""
        one = self.candidates[at]
        passage = one.passage
        cost = passage.tokens + (0 if one.entry in self._tagged else TAG)
        margin = MARGIN * (passage.tokens - 1) / max(1, passage.end - passage.start)
        for near in self._beside(at):
            cost += -margin if near in self._chosen else margin
        return cost
