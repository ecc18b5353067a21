"""The second pass of a choice of quotes: rare words, for text that has few names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from statistics import median

from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.record.index import Index
from transom.strategies.record.passage_choice import PassageChoice

REPEATED_WORD = 0.5
"""The worth of each further passage with the same word, as a share of the one before."""

SHORT = 100
"""Messages of up to this many tokens count whole."""

USER, MODEL = "user", "assistant"
"""The roles whose messages are compared."""


def cover_words(view: View, index: Index, choice: PassageChoice, room: float, hidden: Sequence[Unit]) -> None:
    """Choose more passages by their words, in at most `room` tokens: words of short messages and of the user count more
    than those of long replies. `hidden`: the turns by which is measured who says more, the user or the model."""
    words = index.words.update(view, index)
    entries = dict.fromkeys(passage.entry for passage in choice.passages)
    of_entry = {seq: words.at(view, index, seq) for seq in entries}
    items = [of_entry[one.entry][one.text, one.start] for one in choice.passages]
    times = Counter(chain.from_iterable(items[at] for at in choice.taken))

    def worth(word: str) -> int:
        return int(words.weight(word) * REPEATED_WORD ** times[word])

    factors = _length_factors(view, index, entries, hidden)
    by_passage = [factors[one.entry] for one in choice.passages]
    choice.cover(room, items, worth, repeated=REPEATED_WORD, factors=by_passage)


def _length_factors(view: View, index: Index, entries: Iterable[int], hidden: Sequence[Unit]) -> dict[int, float]:
    """The worth of a word in each entry: less in messages of more than `SHORT` tokens, and less in those of the model
    if it says more than the user: (median length of the user's messages ÷ the model's)², from 0.1 to 1. Who says little
    says what matters."""
    heads = [index.at(view, unit.seqs[0]) for unit in hidden]
    of_user, of_model = (median([one.tokens for one in heads if one.role == role] or [0]) for role in (USER, MODEL))
    verbosity = min(1.0, max(0.1, (of_user / of_model) ** 2)) if of_user and of_model else 1.0
    found = {seq: index.at(view, seq) for seq in entries}
    return {
        seq: min(1.0, SHORT / max(1, one.tokens)) * (verbosity if one.role == MODEL else 1.0)
        for seq, one in found.items()
    }
