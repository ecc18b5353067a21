"""The second pass of a choice of quotes: rare words, for text that has few names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from statistics import median

from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.digest.index import Index
from transom.strategies.digest.passage_choice import PassageChoice
from transom.strategies.digest.passages import Passage

REPEATED_WORD = 0.5
"""The worth of each further passage with the same word, as a share of the one before."""

SHORT = 100
"""Messages of up to this many tokens count whole."""

USER, MODEL = "user", "assistant"
"""The roles whose messages are compared."""


def cover_words(
    view: View,
    index: Index,
    choice: PassageChoice,
    room: float,
    factors: Sequence[float] = (),
    repeated: float = REPEATED_WORD,
) -> None:
    """Choose on by words, in at most `room` tokens. `factors`: the worth of each passage. `repeated`: that of each
    further passage with the same word, as a share of the one before."""
    words = index.words.update(view, index)
    entries = dict.fromkeys(passage.entry for passage in choice.passages)
    of_entry = {seq: words.at(view, index, seq) for seq in entries}
    items = [of_entry[one.entry][one.text, one.start] for one in choice.passages]
    times = Counter(chain.from_iterable(items[at] for at in choice.taken))

    def worth(word: str) -> int:
        return int(words.weight(word) * repeated ** times[word])

    choice.cover(room, items, worth, repeated=repeated, factors=factors)


def length_factors(view: View, index: Index, passages: Sequence[Passage], hidden: Sequence[Unit]) -> list[float]:
    """The worth of the words of each passage: less in messages of more than `SHORT` tokens, and less in those of the
    model if it says more than the user: (median length of the user's messages ÷ the model's)², from 0.1 to 1. Who says
    little says what matters."""
    heads = [index.at(view, unit.seqs[0]) for unit in hidden]
    of_user, of_model = (median([one.tokens for one in heads if one.role == role] or [0]) for role in (USER, MODEL))
    verbosity = min(1.0, max(0.1, (of_user / of_model) ** 2)) if of_user and of_model else 1.0
    factors: dict[int, float] = {}
    for seq in {one.entry for one in passages}:
        indexed = index.at(view, seq)
        factors[seq] = min(1.0, SHORT / max(1, indexed.tokens)) * (verbosity if indexed.role == MODEL else 1.0)
    return [factors[one.entry] for one in passages]
