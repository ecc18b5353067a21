"""Names: what a later step may need to the letter and cannot guess: paths, identifiers, ids, numbers, addresses.

A run of name characters is a name if it contains a digit, an underscore, or an inner dot, slash, at sign or capital;
plain words are not names. Parts of a compound name count too if they are names themselves. So does what is in quotes;
in somebody's own words only if it is one word or looks like code, since a dialogue in quotes is prose. Of Chinese and
Japanese, titles in their quotes are names: 《红楼梦》. A key of JSON is no name, since every answer of a tool has the
same keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

MIN_NAME, MAX_NAME = 4, 200
"""Characters of the shortest and the longest name; anything longer is data."""

_IN_NAMES = r"A-Za-z0-9_~./@$#-"
_RUN = re.compile(
    rf"(?<![{_IN_NAMES}])(?![A-Za-z][a-z]*+[.-]?+(?![:{_IN_NAMES}]))"
    rf"(?:https?://[^\s\"'<>)\]}}]+|[{_IN_NAMES}]{{4,}})",
    re.ASCII,
)
"""A run of name characters, but for plain words, which are most of a text and never names."""
_MARK = re.compile(r"[0-9_]|[^./@~][./@][^./@]|[a-z0-9][A-Z]|[A-Z]{2}[a-z]", re.ASCII)
_PART = re.compile(r"[^/@.:?&=#~$-]+")
_QUOTED = re.compile(
    r"""["'`](?<![A-Za-z0-9].)(?:(?<=")([^"\n]{4,80})"|(?<=')([^'\n]{4,80})'|(?<=`)([^`\n]{4,80})`)(?![A-Za-z0-9])"""
)
"""The pattern begins with the quote, which makes the search fast; the text before it is checked by looking back."""
_KEY_ENDS = re.compile(r'\\?"\s?:(?!:)')
"""What stands behind a key of JSON: a quote, also an escaped one, and a colon, with or without a blank."""
_TITLE = re.compile(r"[《「『]([^《》「」『』，。！？；\s]{2,40})[》」』]")
"""What is in quotes of a script without blanks: a title, or a word that is named. A sentence of somebody has marks in
it."""
_CODE = re.compile(r"[0-9%{}<>=_:/\\$]")
_OUTER = "./-#~@$"
_BEHIND_NUMBER = frozenset("\t→|:")
INDENT = 8
"""Blanks that may stand before the number of a line."""


def names_in(text: str, *, talk: bool = False) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the names of a text, run by run: the position at which the run begins, and its names. Keys of JSON and
    numbers of lines are left out.

    The runs of name characters come first, then titles, and then what is in quotes; each of these in the order of the
    text. `talk`: the text is somebody's own words, so what is in quotes must be one word or look like code.
    """
    for match in _RUN.finditer(text):
        run = match[0]
        if len(run) > MAX_NAME or not (found := names_of(run)) or _KEY_ENDS.match(text, match.end()):
            continue
        if not run[0].isdecimal() or not _is_line_number(text, match):
            yield match.start(), found
    if not text.isascii():
        yield from ((match.start(), (match[1],)) for match in _TITLE.finditer(text))
    for match in _QUOTED.finditer(text):
        quoted = match.group(match.lastindex or 0)
        if (not talk or " " not in quoted or _CODE.search(quoted)) and not _KEY_ENDS.match(text, match.end() - 1):
            yield match.start(), (quoted,)


def all_names(text: str) -> frozenset[str]:
    """All names that `names_in` finds in a text that is nobody's own words."""
    return frozenset(name for _, names in names_in(text) for name in names)


def _is_line_number(text: str, match: re.Match[str]) -> bool:
    """Whether a run is the number in front of a line, as tools print it that read or search files."""
    start, run = match.start(), match.group()
    if not run.rstrip("-").isdecimal():
        return False
    if run[-1] != "-" and text[match.end() : match.end() + 1] not in _BEHIND_NUMBER:
        return False
    before = text[max(0, start - INDENT) : start]
    line = before[before.rfind("\n") + 1 :]
    return not line.strip() and (len(line) < len(before) or start <= INDENT)


def is_between_strings(name: str) -> bool:
    """Whether a name that was found in quotes, which must not be empty, is the code between two strings, as in `" if x
    else "`: it begins or ends with a blank, or begins with a comma, a semicolon or a closing bracket. Reports leave
    such a name out, records do not."""
    return name != name.strip() or name[0] in ",;)]}"


@lru_cache(maxsize=1 << 16)
def names_of(run: str) -> tuple[str, ...]:
    """The names in a run of name characters, which must not be empty: the run without the punctuation around it, and
    then its parts that are names themselves. Empty if the run is no name."""
    whole = run.rstrip(_OUTER) if run[0] in "~/.$@#" else run.strip(_OUTER)
    if not whole.startswith("__"):
        whole = whole.strip("_")  # _emphasis_
    if not _is_name(whole):
        return ()
    parts = (whole.rsplit("/", 1)[-1], *_PART.findall(whole))
    return tuple(dict.fromkeys((whole, *(part for part in parts if len(part) > MIN_NAME and _is_name(part)))))


def _is_name(text: str) -> bool:
    return len(text) >= MIN_NAME and _MARK.search(text) is not None
