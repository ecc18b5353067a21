"""The second pass of a choice of quotes: rare words, for text that has few names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from statistics import median

from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.digest.index import Index, Indexed
from transom.strategies.digest.passage_choice import PassageChoice

REPEATED_WORD = 0.5
"""The worth of each further passage with the same word, as a share of the one before."""

SHORT = 100
"""Messages of up to this many tokens count whole."""

OF_USER, OF_MODEL = "user", "assistant"
"""The roles whose messages are compared."""


def cover_words(view: View, index: Index, choice: PassageChoice, left: float, hidden: Sequence[Unit]) -> None:
    """Choose on by words, with the tokens that names have left: short messages, and the user's, before long replies."""
    words = index.words.update(view, index)
    entries = dict.fromkeys(passage.entry for passage in choice.passages)
    items = [passage_words for seq in entries for passage_words in words.at(view, index, seq)]
    times = Counter(chain.from_iterable(items[at] for at in choice.taken))
    verbosity = _verbosity(view, index, hidden)
    factors = {seq: _length_factor(index.at(view, seq), verbosity) for seq in entries}
    choice.cover(
        left,
        items,
        lambda word: int(words.weight(word) * REPEATED_WORD ** times[word]),
        repeated=REPEATED_WORD,
        factors=[factors[one.entry] for one in choice.passages],
    )


def _verbosity(view: View, index: Index, units: Sequence[Unit]) -> float:
    """How much a word of the model is worth, where one of the user is worth 1: (median length of the user's messages ÷
    the model's)², from 0.1 to 1. Who says little says what matters."""
    lengths: dict[str, list[int]] = {OF_USER: [], OF_MODEL: []}
    for unit in units:
        indexed = index.at(view, unit.seqs[0])
        if indexed.role in lengths:
            lengths[indexed.role].append(indexed.tokens)
    if not all(lengths.values()):
        return 1.0
    return min(1.0, max(0.1, (median(lengths[OF_USER]) / max(1, median(lengths[OF_MODEL]))) ** 2))


def _length_factor(indexed: Indexed, verbosity: float) -> float:
    """The worth of a passage by the length of its message and by whose it is."""
    return min(1.0, SHORT / max(1, indexed.tokens)) * (verbosity if indexed.role == OF_MODEL else 1.0)
