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

LONGEST_NAME = 200
"""Characters at the end of an argument in which the end of a file name is looked for."""

_DEFINES = re.compile(
    r"(?:(?:export|default|pub|public|private|protected|static|async|abstract|final) )*"
    r"(?:def|class|func|function|fn|type|interface|struct|enum|trait|impl|test|describe|it|const|let|var)\b[ (]"
)
_IMPORT = re.compile(r"(?:import|from|use|using|require|package)\b|#include|[\"'][^\"'\s]*[\"'],?\Z|return\Z|else\b")
"""A line that brings something in, or says nothing of its own; a string alone is most often an import of Go."""
_COMMENT = re.compile(r"//|/?\*|#(?!\[)|<!--|--\s|\"\"\"|'''")
_HEADING = re.compile(r"#{1,6} \S")
_DECORATOR = re.compile(r"@|#\[")
_OPENS = re.compile(r"[^()=:\"']*[{(\[]\Z")
"""A line that only opens a block, such as the selector of a style."""
_WORDS = re.compile(r"[^\W\d_]{2}.*[^\W\d_]{2}")
_NAME = re.compile(r"[^\W\d]\w{2,}")
_PROSE = re.compile(r"\.(?:md|mdx|markdown|rst|adoc|txt)\s*\Z", re.MULTILINE)


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
        is_prose = any(line.startswith("*** ") and _PROSE.search(line) for line in lines)
    else:
        old = _lines(value for key, value in values if key in REPLACED)
        new = _lines(value for key, value in values if key in ADDED or key in WRITTEN)
        before, after = {line.strip() for line in old}, {line.strip() for line in new}
        added = [line for line in new if line.strip() not in before]
        removed = [line for line in old if line.strip() not in after]
        is_prose = any(_PROSE.search(value[-LONGEST_NAME:]) for key, value in values if key not in REPLACED | ADDED)
    if found := _best_line(added, removed, is_prose=is_prose):
        return EditLine(found)
    return EditLine(_best_line(removed, added, is_prose=is_prose), added=False)


def _lines(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in text[:SCANNED].splitlines()]


def _best_line(lines: Sequence[str], others: Sequence[str], *, is_prose: bool) -> str:
    """The first of the lines that tell most; "" if all of them are blank. `others`: the lines of the other side. What
    has a name that these lack says more than what they have too."""
    known = frozenset(name for line in others for name in _NAME.findall(line))
    filled = [line.strip() for line in lines if line.strip()]
    return min(filled, key=lambda line: _rank(line, known, is_prose=is_prose), default="")


def _rank(line: str, known: frozenset[str], *, is_prose: bool) -> int:
    """How little a line tells: a definition or a heading the least little, then code, then what opens a block, a
    decorator, a comment, an import, and a line without words. `known`: names that are nothing new."""
    if is_prose and _HEADING.match(line):
        return 0
    if not _WORDS.search(line):
        return 8
    defines = not is_prose and bool(_DEFINES.match(line))
    if not is_prose and not defines:
        for rank, kind in ((5, _DECORATOR), (6, _COMMENT), (7, _IMPORT), (4, _OPENS)):
            if kind.match(line):
                return rank
    is_old = known.issuperset(_NAME.findall(line))
    return (2 if is_old else 0) + (0 if defines else 1)
