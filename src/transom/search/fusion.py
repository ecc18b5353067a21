"""Reciprocal rank fusion: makes one ranking of several, from the ranks alone.

G. V. Cormack, C. L. A. Clarke, S. Buettcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
Methods, SIGIR 2009.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

RANK_CONSTANT = 60
"""The constant of the paper: the larger, the less the first ranks differ."""

Item = TypeVar("Item", bound=Hashable)


def fused(rankings: Iterable[Sequence[Item]]) -> list[tuple[Item, float]]:
    """Return the items of all rankings with their scores, the best first.

    The score is the sum of 1 / (60 + rank) over the rankings that contain the item, with ranks from 1. Among items with
    equal scores, the one that comes first in the earliest ranking is first.
    """
    scores: dict[Item, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            scores[item] = scores.get(item, 0.0) + 1 / (RANK_CONSTANT + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])
