"""The most telling sentences of messages: those with words that few other messages have, and that no quote has yet.

What is said again and again ("Can you confirm with a yes that you would like to proceed?") has no rare words, and what
was quoted once is worth half as much the next time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from math import log

from transom.core.edit import Span
from transom.strategies.digest.passages import announces, opening, sentences
from transom.strategies.text.terms import words_in

FEWEST = 20
"""Messages among which words are compared, at least: of two messages nearly every word is rare."""

STRONG = 1.5
"""The worth of a proper name or a number, compared with another word."""

REPEATED = 0.5
"""The worth of a word at each further quote, as a share of the one before."""

ANNOUNCED = 0.2
"""The worth of a sentence that only says what comes next ("Here are the details:")."""

BOLD = 2.0
"""The worth of a sentence that begins in bold ("**Verdict: approve.** …"): its author holds it to be important."""

SHORTEST = 30
"""Characters of a sentence that may be quoted alone; a shorter one ("Thanks.") belongs to the next one."""

BESIDE = 20
"""Characters that a sentence costs beside its own, so that one of few words does not win by its length."""

_BOLD = re.compile(r"\W{0,4}(?:\d{1,2}\. )?\*\*\w")


class Rarity:
    """How rare the words of some messages are among them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts

    def of(self, word: str) -> float:
        """How rare a word is, by ln(N / df)."""
        messages, found_in, strong = self._counted
        rare = log(messages / min(messages, max(1, found_in[word])))
        return rare * (STRONG if word in strong else 1.0)

    @cached_property
    def _counted(self) -> tuple[int, Counter[str], set[str]]:
        """How many messages there are, in how many each word is, and which words are strong. Read at first use: where
        all messages are short, no words are compared."""
        found_in: Counter[str] = Counter()
        strong: set[str] = set()
        messages = 0
        for text in self._texts:
            messages += 1
            words = words_in(text)
            found_in.update(words.keys())
            strong.update(word for word, is_proper in words.items() if is_proper or word.isdigit())
        return max(FEWEST, messages), found_in, strong


class Worth:
    """What texts are worth as quotes, by the rarity of their words and by what was quoted before."""

    def __init__(self, rarity: Rarity) -> None:
        self._rarity = rarity
        self._quoted: Counter[str] = Counter()

    def ranked(self, text: str, spans: Sequence[Span], ends: float) -> list[int]:
        """The places of these spans of a text, the most telling first. `ends`: how many times the worth of another one
        the first and the last one have."""
        last = len(spans) - 1

        def rank(at: int) -> float:
            piece = text[slice(*spans[at])]
            share = ends if at in {0, last} else 1.0
            if announces(piece, len(piece)):
                share = ANNOUNCED if share == 1 else share
            elif _BOLD.match(piece):
                share *= BOLD
            return -self._of(piece) * share

        return sorted(range(len(spans)), key=rank)

    def quote(self, text: str) -> None:
        """Count the words of a text as quoted."""
        self._quoted.update(words_in(text).keys())

    def _of(self, text: str) -> float:
        """The worth of a text for each of its characters: that of its words, once each."""
        total = sum(self._rarity.of(word) * REPEATED ** self._quoted[word] for word in words_in(text))
        return total / (len(text) + BESIDE)


def key_sentences(text: str, most: int, worth: Worth, *, ends: float = 1.0) -> list[Span]:
    """The most telling sentences of a text in about so many characters, in order; of one that alone is too long, its
    beginning."""
    spans = list(sentences(text, least=SHORTEST))
    chosen: list[Span] = []
    left = most
    for start, end in (spans[at] for at in worth.ranked(text, spans, ends)):
        if end - start <= left:
            chosen.append((start, end))
            left -= end - start
    if not chosen and spans:
        start, end = spans[worth.ranked(text, spans, ends)[0]]
        chosen = [(start, start + opening(text[start:end], most))]
    return sorted(chosen)
