"""What an edit did, in one line: the most telling of the lines that it adds; where it adds none, that it takes away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from transom.strategies.digest.passages import REPLACED

ADDED = frozenset(("new_string", "new_str", "newText", "new_text", "newString", "new_content"))
WRITTEN = frozenset(("content", "contents", "file_text", "text"))
"""Arguments that hold the text that an edit puts in, and the text of a whole file."""

SCANNED = 4_000
"""Characters of a text that are looked at."""

_DEFINES = re.compile(
    r"\s*(?:(?:export|default|pub|public|private|protected|static|async|abstract|final) )*"
    r"(?:def|class|func|function|fn|type|interface|struct|enum|trait|impl|test|describe|it|const|let)\b[ (]"
    r"|#{1,4} \S"
)
_MINOR = re.compile(
    r"\s*(?:import\b|from\b|use\b|#include|package\b|//|/?\*|#(?!#* \S)|<!--|\"\"\"|'''|@|return\s*$|else\b)"
)
_WORDS = re.compile(r"[^\W\d_]{2}.*[^\W\d_]{2}")


class EditLine(NamedTuple):
    """A line that an edit `added`, or else took away; "" if it did neither."""

    line: str = ""
    added: bool = True


def edit_line(values: Sequence[tuple[str, str]], patch: str = "") -> EditLine:
    """The most telling line of an edit with these arguments, or of this patch."""
    if patch:
        lines = patch[:SCANNED].splitlines()
        added = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]
        removed = [line[1:] for line in lines if line.startswith("-") and not line.startswith("---")]
    else:
        old = _lines(value for key, value in values if key in REPLACED)
        new = _lines(value for key, value in values if key in ADDED or key in WRITTEN)
        before, after = {line.strip() for line in old}, {line.strip() for line in new}
        added = [line for line in new if line.strip() not in before]
        removed = [line for line in old if line.strip() not in after]
    if found := _best_line(added):
        return EditLine(found)
    return EditLine(_best_line(removed), added=False)


def _lines(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in text[:SCANNED].splitlines()]


def _best_line(lines: Sequence[str]) -> str:
    """The first line that defines something, else the first with words that is no import and no comment, else the
    first that is not blank."""
    filled = [line.strip() for line in lines if line.strip()]
    defining = (line for line in filled if _DEFINES.match(line))
    with_words = (line for line in filled if _WORDS.search(line) and not _MINOR.match(line))
    return next(defining, "") or next(with_words, "") or next(iter(filled), "")
