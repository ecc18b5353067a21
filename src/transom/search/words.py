"""Splits texts and queries into words of the index.

The index splits at everything that is no letter or digit. Scripts without spaces (Chinese, Japanese, Thai, …) would
give one word for a sentence, so each of their characters is a word of its own, and a query asks for pairs of
neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from transom.core.tokens import replace_surrogates

MAX_TERMS = 64
"""The most words of a query that are looked up."""
MAX_QUERY = 4_000
"""The most characters of a query that are read."""
MARK = "\x1f"
"""Separates characters that are words of their own. It is no letter, and texts have no use for it."""

_SINGLE = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
_ALONE = re.compile(f"[{_SINGLE}]")
_RUN = re.compile(f"([{_SINGLE}]+)|[^\\W_{_SINGLE}]+")
_WORD = re.compile(r"[^\W_]+")


def indexable(text: str) -> str:
    """Return the text as the index stores it. In scripts without spaces each character is a word, and has a mark (MARK)
    before and behind it.

    `text_of_indexed` is the inverse.
    """
    if text.isascii():
        return text.replace("\0", " ")
    return _ALONE.sub(f"{MARK}\\g<0>{MARK}", replace_surrogates(text).replace("\0", " "))


def text_of_indexed(stored: str) -> str:
    """Return the text that `indexable` was given. But a NUL is a blank now, a lone surrogate a question mark, and marks
    (`MARK`) that the text had itself are gone."""
    return stored.replace(MARK, "")


def words_of(stored: str) -> set[str]:
    """Return the distinct words of a text that `indexable` has made, in lower case."""
    return set(_WORD.findall(stored.lower()))


def query_terms(query: str) -> list[str]:
    """Return the words of a query in lower case, each once, in order: the first 64 of its first 4,000 characters. Words
    are runs of letters and digits; in scripts without spaces, each pair of adjacent characters, or a character that
    stands alone."""
    return list(dict.fromkeys(_terms(replace_surrogates(query[:MAX_QUERY]).lower())))[:MAX_TERMS]


def _terms(query: str) -> Iterator[str]:
    for found in _RUN.finditer(query):
        run = found[1]
        if run is None:
            yield found[0]
        elif len(run) == 1:
            yield run
        else:
            yield from (run[at : at + 2] for at in range(len(run) - 1))


def phrase(text: str) -> str:
    """Quote a text for FTS5, so that it matches these words one right after the other, and nothing in it is an
    operator. Only the first 64 words of the first 4,000 characters count. A text without words gives `""`, which
    matches nothing."""
    return '"' + " ".join(_WORD.findall(indexable(text[:MAX_QUERY]))[:MAX_TERMS]) + '"'


def has_words(text: str) -> bool:
    """True if a text has a letter or digit to look for."""
    return _WORD.search(text) is not None
