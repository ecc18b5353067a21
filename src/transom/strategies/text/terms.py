"""The words of a text. Where prose has no names, a record chooses what it quotes by them: rare words tell the most."""

from __future__ import annotations

import re
from functools import lru_cache

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_JOINED = re.compile(f"[{_CJK}]")
_WORD = re.compile(rf"[{_CJK}]{{2,}}|[^\W\d_{_CJK}]{{3,}}|\d+")
_SENTENCE_END = ".!?:\n\"'“”。！？"

_PLAIN = re.compile(r"[a-z]{3,}|[0-9]+")
"""As `_WORD`, in lower ASCII."""
_PROPER = re.compile(r"""[A-Z](?:(?<=[^ .!?:\n"'A-Za-z].)|(?<=[^ .!?:\n"'] .))[A-Za-z]{2,}""")
"""A capitalised word within a sentence, in ASCII."""

_SIGNALS = re.compile(
    r"\d|[A-Z][\w-]*[A-Z_.]|\w[._/]\w|\b(?i:not?|never|don.t|only|must|should|always|please|without)\b"
)
"""What makes a sentence worth its place: numbers, names, and English words that ask or forbid."""


def words_in(text: str) -> dict[str, bool]:
    """The words of a text in order of appearance, and whether each is capitalised within a sentence anywhere in it.

    Words are runs of three letters or more, in lower case and without the commonest endings, and numbers; in scripts
    without blanks between words (Chinese, Japanese, Korean) every two adjacent letters.
    """
    if text.isascii():  # nearly always, and much faster
        found = dict.fromkeys(map(stem, dict.fromkeys(_PLAIN.findall(text.lower()))), False)
        found.update(dict.fromkeys([stem(run.lower()) for run in _PROPER.findall(text)], True))
        return found
    found = dict[str, bool]()
    for match in _WORD.finditer(text):
        run = match.group()
        before = text[max(0, match.start() - 2) : match.start()].rstrip(" ") if run[0].isupper() else ""
        proper = bool(before) and before[-1] not in _SENTENCE_END
        found.update({word: proper or found.get(word, False) for word in words_of(run)})
    return found


def words_of(run: str) -> tuple[str, ...]:
    """The words in a run of letters or digits: its stem; of Chinese, Japanese or Korean every two adjacent letters."""
    if run[0] >= "\u3040" and _JOINED.match(run):
        return tuple(run[at : at + 2] for at in range(len(run) - 1))
    return (stem(run.lower()),)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A word without one of the commonest English endings: "ing", "ed", "es" or "s". A short word stays as it is, and
    one that ends with "ss" too."""
    for ending, least in (("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


def signal_count(text: str, start: int = 0, stop: int | None = None) -> int:
    """Count the digits, names, and English words that ask or forbid, in a text from `start` to `stop`."""
    return len(_SIGNALS.findall(text, start, len(text) if stop is None else stop))
