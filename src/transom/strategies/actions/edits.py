"""What an edit or a patch puts in place of what, and its most informative line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from transom.strategies.actions.arguments import ADDED, PATHS, REPLACED, WRITTEN

SCANNED_EDIT = 8_000
"""Characters of a text that are looked at."""

PATCH = "*** "
_SECTION = re.compile(r"^\*\*\* (?:(Add|Update|Delete) File|Move to): (\S[^\n]{0,300})\n?", re.MULTILINE)
_HUNK = re.compile(r"^(?:@@|\*\*\* )[^\n]*\n?", re.MULTILINE)

_DEFINES = re.compile(
    r"(?:(?:export|default|pub|public|private|protected|static|async|abstract|final) )*"
    r"(?:def|class|func|function|fn|type|interface|struct|enum|trait|impl|test|describe|it|const|let|var)\b[ (]"
)
_MINOR = re.compile(
    r"(?:import|from|use|using|require|package)\b|[\"'][^\"'\s]*[\"'],?\Z|return\Z|else\b|//|/?\*|#|@|<!--|--\s"
    r"|\"\"\"|'''"
)
"""An import, a comment or a decorator; a string alone is most often an import of Go."""
_NAME = re.compile(r"[^\W\d]\w{2,}")
_PROSE = (".md", ".mdx", ".markdown", ".rst", ".adoc", ".txt")


class FileEdit(Struct, frozen=True, gc=False):
    """An edit of a `file`: what it puts (`new`) in place of what (`old`). `whole`: the text is all of the file;
    `deletes`: the file is gone."""

    file: str
    old: str = ""
    new: str = ""
    whole: bool = False
    deletes: bool = False


def file_edits_in(values: Sequence[tuple[str, str]]) -> tuple[FileEdit, ...]:
    """The edits in the arguments of a call: the hunks of a patch ("*** Update File: …"), else its old and new texts."""
    if any(PATCH in value and "File: " in value for _, value in values):
        return tuple(_of_patch("\n".join(value for _, value in values)))
    file = next((value for key, value in values if key in PATHS), "")
    old = [value for key, value in values if key in REPLACED]
    new = [value for key, value in values if key in ADDED]
    if old or new:
        sides = zip(old, new, strict=True) if len(old) == len(new) else [("", one) for one in new or old]
        return tuple(FileEdit(file, before, after) for before, after in sides)
    return tuple(FileEdit(file, new=value, whole=True) for key, value in values if key in WRITTEN)


def _of_patch(patch: str) -> Iterator[FileEdit]:
    sections = list(_SECTION.finditer(patch))
    for at, found in enumerate(sections):
        body = patch[found.end() : sections[at + 1].start() if at + 1 < len(sections) else len(patch)]
        file, kind = found[2].strip(), found[1]
        hunks = [hunk for hunk in _HUNK.split(body) if hunk.strip()] if kind == "Update" or not kind else [body]
        for hunk in hunks or [""]:
            lines = hunk.splitlines()
            old, new = ("\n".join(line[1:] for line in lines if line[:1] in (sign, " ")) for sign in "-+")
            yield FileEdit(file, old, new, whole=kind == "Add", deletes=kind == "Delete")


def informative_line(edits: Sequence[FileEdit]) -> tuple[str, bool]:
    """The most informative line that edits add, or else take away, and whether they add it; "" if there is none."""
    old = [line.strip() for edit in edits for line in edit.old[:SCANNED_EDIT].splitlines()]
    new = [line.strip() for edit in edits for line in edit.new[:SCANNED_EDIT].splitlines()]
    is_prose = any(edit.file.endswith(_PROSE) for edit in edits)
    before, after = set(old), set(new)
    added = [line for line in new if line and line not in before]
    removed = [line for line in old if line and line not in after]
    lines, others = (added, removed) if added else (removed, added)
    known = frozenset(name for line in others for name in _NAME.findall(line))
    return min(lines, key=lambda line: _rank(line, known, is_prose=is_prose), default=""), bool(added) or not removed


def _rank(line: str, known: frozenset[str], *, is_prose: bool) -> int:
    """How little a line tells: a definition or a heading the least little, then code, then a comment or an
    import, and a line without words. `known`: names that are nothing new."""
    names = _NAME.findall(line)
    if not names:
        return 8
    if is_prose:
        return 0 if line.startswith("#") else 1
    defines = bool(_DEFINES.match(line))
    if not defines and _MINOR.match(line):
        return 5 if line.startswith("@") else 6
    return (2 if known.issuperset(names) else 0) + (0 if defines else 1)
