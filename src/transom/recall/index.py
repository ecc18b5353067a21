"""The index that recall searches: the passages of a log, and the words and names in each; and the vectors of the
passages, for a second ranking by meaning.

It is a function of the log alone: an index that is built anew at the same point is the same. It reaches back a bounded
number of tokens. Older entries can be found with the search over the store.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import log, sqrt
from operator import mul
from typing import Any, NamedTuple

from transom.core.entry import Entry
from transom.core.log import IndexCache
from transom.core.message import Fact, ToolResult
from transom.core.view import View
from transom.search.base import Embedder
from transom.strategies.record.passages import is_repeated, readable, split
from transom.strategies.text.identifiers import names_in
from transom.strategies.text.shown_parts import is_read_back
from transom.strategies.text.terms import words_in

REACH_TOKENS = 1_000_000
"""How far back the index reaches: the tokens of a log, counted from its end, that it has."""

WHOLE_TEXT_TOKENS = 260
"""A text of at most this many tokens is one passage."""

LENGTH_PENALTY = 0.4
"""How much less a long passage counts (the b of BM25)."""

SATURATION = 1.2
"""How much less each further word of the query counts in one passage (the k1 of BM25). A word counts once in each."""

NAME_WEIGHT = 2.0
"""The weight of a name relative to that of a word."""


class RecallPassage(NamedTuple):
    """A span of one text of an entry.

    `entry`: the seq of the entry. `text`: the index of the text among those of the entry (`passages.readable`).
    `start`, `end`: the span in characters. `tokens`: about how many it has. `terms`: how many different terms it has.
    """

    entry: int
    text: int
    start: int
    end: int
    tokens: float
    terms: int


def terms_of(text: str) -> set[str]:
    """Return the terms of a text: its words as `words_in` gives them (lower case, without common endings), and its
    names (of files, functions, …) as they are, each with "=" in front."""
    return {*words_in(text), *(f"={name}" for _, names in names_in(text, talk=True) for name in names)}


class RecallIndex:
    """The index of the entries before the entry `n`. Passages further back than the last 1,000,000 tokens
    (`REACH_TOKENS`) are not searched. Take it with `of`."""

    def __init__(self) -> None:
        self._restart()

    def _restart(self) -> None:
        """Empty the index. The next entry to be added is the first one of the log."""
        self.n = 0
        self.passages: list[RecallPassage] = []
        self._found_in: dict[str, array[int]] = {}
        self._first = 0  # passages before it are beyond the reach
        self._tokens = 0.0
        self._terms = 0

    @staticmethod
    def of(view: View, indexes: IndexCache) -> RecallIndex:
        """Return the index of the entries before the newest turn of a view; an empty one if there is no turn. It is the
        one in `indexes`, which is brought up to date in place; for an older view it is made again.

        Entries that a plan adds come after that turn. So this plan and one right after it find the same.
        """
        index = indexes.of(RecallIndex)
        n = max(0, view.newest_unit)
        if index.n > n:  # an older view must not know what came later
            index._restart()
        for seq in range(index.n, n):
            index.add(view, view.fetch(seq))
        return index

    @property
    def alive(self) -> range:
        """The indexes, in `passages`, of the passages that are searched: those of the last REACH_TOKENS tokens."""
        return range(self._first, len(self.passages))

    def add(self, view: View, entry: Entry) -> None:
        """Index the entry with the seq `n`, the next one; `of` does this. If there are then more than `REACH_TOKENS`
        tokens, the oldest passages are not searched any more."""
        self.n += 1
        for number, text, start, end, tokens in _spans(view, entry):
            terms = terms_of(text[start:end])
            at = len(self.passages)
            self.passages.append(RecallPassage(entry.seq, number, start, end, tokens, len(terms)))
            self._tokens += tokens
            self._terms += len(terms)
            for term in terms:
                self._found_in.setdefault(term, array("I")).append(at)
        while self._tokens > REACH_TOKENS:
            gone = self.passages[self._first]
            self._tokens -= gone.tokens
            self._terms -= gone.terms
            self._first += 1

    def weight(self, term: str) -> float:
        """Return the weight of a term (see `terms_of`) in a query: its rarity (the idf of BM25), and twice that for a
        name, which has "=" in front. A term that no passage has gets the greatest weight."""
        among = len(self.passages) - self._first
        found = len(self._where(term))
        rarity = log(1 + (among - found + 0.5) / (found + 0.5))
        return NAME_WEIGHT * rarity if term[0] == "=" else rarity

    def scores(self, weights: dict[str, float]) -> dict[int, float]:
        """Score by BM25 the passages that have any of these terms. `weights`: the weight of each term (see `weight`).
        Returns the scores by the index of the passage; passages without a term are left out. A score is about the sum
        of the weights at most."""
        mean, first = max(1.0, self._terms / max(1, len(self.alive))), self._first
        sums = [0.0] * len(self.alive)
        for term, weight in weights.items():
            for at in self._where(term):
                sums[at - first] += weight
        found: dict[int, float] = {}
        for at, total in enumerate(sums, first):
            if total:
                length = 1 - LENGTH_PENALTY + LENGTH_PENALTY * self.passages[at].terms / mean
                found[at] = total * (SATURATION + 1) / (1 + SATURATION * length)
        return found

    def _where(self, term: str) -> Sequence[int]:
        """The indexes of the passages that have a term and are searched, rising."""
        places = self._found_in.get(term)
        if places is None:
            return ()
        return places if not self._first else places[bisect_left(places, self._first) :]


def _spans(view: View, entry: Entry) -> Iterator[tuple[int, str, int, int, float]]:
    """Yield the passages of an entry: index of the text, text, start, end, tokens. None if it only repeats others."""
    fact = entry.body
    if not isinstance(fact, Fact) or view.unit_of[entry.seq] < 0 or is_repeated(fact):
        return
    if isinstance(fact, ToolResult) and is_read_back(view, view.unit(view.unit_of[entry.seq]), entry.seq):
        return
    for number, (text, position) in enumerate(readable(fact)):
        rate = entry.tokens[position] / max(1, len(text))
        spans = [(0, len(text))] if entry.tokens[position] <= WHOLE_TEXT_TOKENS else split(text, rate)
        for start, end in spans:
            if text[start:end].strip():
                yield number, text, start, end, (end - start) * rate


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
        """Embed the passages of the index that have no vector yet, 256 texts at a time. With another index or another
        embedder, all are embedded anew. What the embedder raises passes through; what was embedded before stays."""
        if self._passages is not index.passages or self._name != embedder.name:  # another log, or another model
            self._of, self._passages, self._name = [], index.passages, embedder.name
        missing = map(text_of, islice(index.passages, len(self._of), None))
        while batch := list(islice(missing, BATCH_TEXTS)):
            self._of += map(unit_vector, embedder.embed(batch))

    def similarities(self, vector: Iterable[float], alive: range) -> dict[int, float]:
        """Return the cosine of each passage with a vector, by the index of the passage. `alive`: the indexes of the
        passages, which must have vectors already (see `update`)."""
        wanted = unit_vector(vector)
        return {at: sum(map(mul, wanted, self._of[at])) for at in alive}


def unit_vector(vector: Any) -> array[float]:
    """Return a vector scaled to length 1, as 32-bit floats; a vector of zeros keeps its values."""
    values = array("f", vector)
    length = sqrt(sum(map(mul, values, values)))
    return array("f", (value / length for value in values)) if length else values


def newest_best(ranking: dict[int, float]) -> list[int]:
    """Return the 200 passages (`MAX_FUSED`) with the highest scores, the best first; among equals the newer one first.
    `ranking`: the scores, by the index of the passage. The result has these indexes."""
    return sorted(ranking, key=lambda at: (-ranking[at], -at))[:MAX_FUSED]
