"""Compares passages by meaning: an optional second ranking, beside the one by words."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from math import sqrt
from operator import mul
from typing import Any

from transom.recall.index import RecallIndex, RecallPassage
from transom.search.base import Embedder

BATCH_TEXTS = 256
"""Texts that are embedded together."""

MAX_FUSED = 200
"""How many of the best of each ranking are fused."""


class PassageVectors:
    """The vectors of the passages of an index. Each is computed once; the log and the embedder decide what it is."""

    def __init__(self) -> None:
        self._of: list[array[float]] = []
        self._passages: Sequence[RecallPassage] | None = None
        self._name = ""

    def update(self, index: RecallIndex, embedder: Embedder, text_of: Callable[[RecallPassage], str]) -> None:
        """Embed the passages that have no vector yet. With another index or another embedder, all are embedded anew."""
        if self._passages is not index.passages or self._name != embedder.name:  # another log, or another model
            self._of, self._passages, self._name = [], index.passages, embedder.name
        missing = map(text_of, islice(index.passages, len(self._of), None))
        while batch := list(islice(missing, BATCH_TEXTS)):
            self._of += map(unit_vector, embedder.embed(batch))

    def similarities(self, vector: Iterable[float], alive: range) -> dict[int, float]:
        """Return the cosine of each passage in `alive` with a vector."""
        wanted = unit_vector(vector)
        return {at: sum(map(mul, wanted, self._of[at])) for at in alive}


def unit_vector(vector: Any) -> array[float]:
    """Scale a vector to length 1; a vector of zeros is returned as it is."""
    values = array("f", vector)
    length = sqrt(sum(map(mul, values, values)))
    return array("f", (value / length for value in values)) if length else values


def newest_best(ranking: dict[int, float]) -> list[int]:
    """Return the best MAX_FUSED passages of a ranking, the best first; among equals the newer one first."""
    return sorted(ranking, key=lambda at: (-ranking[at], -at))[:MAX_FUSED]
