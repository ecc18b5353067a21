"""The words of a text. Where prose has no names, a record chooses what it quotes by them: rare words tell the most."""

from __future__ import annotations

import re
from functools import lru_cache

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_JOINED = re.compile(f"[{_CJK}]")
_WORD = re.compile(rf"[{_CJK}]{{2,}}|[^\W\d_{_CJK}]{{3,}}|\d+")
_PLAIN = re.compile(r"[a-z]{3,}|[0-9]+")
"""As `_WORD`, in lower ASCII."""

_SIGNALS = re.compile(
    r"\d|[A-Z][\w-]*[A-Z_.]|\w[._/]\w|\b(?i:not?|never|don.t|only|must|should|always|please|without)\b"
)
"""What makes a sentence worth its place: numbers, names, and English words that ask or forbid."""


def words_in(text: str) -> tuple[str, ...]:
    """The words of a text in order of appearance, each once.

    Words are runs of three letters or more, in lower case and without the commonest endings, and numbers; in scripts
    without blanks between words (Chinese, Japanese, Korean) every two adjacent letters.
    """
    if text.isascii():  # nearly always, and much faster
        return tuple(dict.fromkeys(map(stem, dict.fromkeys(_PLAIN.findall(text.lower())))))
    return tuple(dict.fromkeys(word for run in _WORD.findall(text) for word in words_of(run)))


def words_of(run: str) -> tuple[str, ...]:
    """The words in a run of letters or digits, which must not be empty: its stem in lower case; of Chinese, Japanese or
    Korean every two adjacent letters."""
    if run[0] >= "\u3040" and _JOINED.match(run):
        return tuple(run[at : at + 2] for at in range(len(run) - 1))
    return (stem(run.lower()),)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A word without one of the commonest English endings: "ing", "ed", "es" or "s". A word that is short, or ends with
    "ss", stays as it is."""
    for ending, least in (("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


def signal_count(text: str) -> int:
    """Count what makes a text worth its place: digits, names, and English words that ask or forbid, such as "must" and
    "never"."""
    return len(_SIGNALS.findall(text))
