"""What passages are alike in meaning: an optional second ranking, beside that by words."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from math import sqrt
from operator import mul
from typing import Any

from transom.recall.index import Passage, RecallIndex
from transom.search.base import Embedder

BATCH = 256
"""Texts that are embedded together."""

RANK = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke, Büttcher 2009)."""

FUSED = 200
"""So many of the best of each ranking are fused."""


class PassageVectors:
    """The vectors of an index's passages, made once each. It follows from the log and the embedder."""

    def __init__(self) -> None:
        self._of: list[array[float]] = []
        self._passages: Sequence[Passage] | None = None
        self._name = ""

    def update(self, index: RecallIndex, embedder: Embedder, text_of: Callable[[Passage], str]) -> None:
        """Embed the passages that are new."""
        if self._passages is not index.passages or self._name != embedder.name:  # another log, or another model
            self._of, self._passages, self._name = [], index.passages, embedder.name
        missing = map(text_of, islice(index.passages, len(self._of), None))
        while batch := list(islice(missing, BATCH)):
            self._of += map(unit_vector, embedder.embed(batch))

    def similarities(self, vector: Iterable[float], alive: range) -> dict[int, float]:
        """The cosine of each passage with a vector."""
        wanted = unit_vector(vector)
        return {at: sum(map(mul, wanted, self._of[at])) for at in alive}


def unit_vector(vector: Any) -> array[float]:
    """A vector of length 1; one without a direction stays as it is."""
    values = array("f", vector)
    length = sqrt(sum(map(mul, values, values)))
    return array("f", (value / length for value in values)) if length else values


def fused(*rankings: dict[int, float]) -> list[int]:
    """The best of these rankings, fused by reciprocal rank, best first. Ties go to the newer one."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        best = sorted(ranking, key=lambda at: (-ranking[at], -at))[:FUSED]
        for rank, at in enumerate(best, start=1):
            scores[at] = scores.get(at, 0.0) + 1 / (RANK + rank)
    return sorted(scores, key=lambda at: (-scores[at], -at))
