"""What an edit or a patch puts in place of what, and its most informative line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest

from msgspec import Struct

from transom.strategies.actions.arguments import ADDED, PATHS, REPLACED, WRITTEN

SCANNED_EDIT = 8_000
"""Characters of a text that are looked at."""

PATCH = "*** "
_SECTION = re.compile(r"^\*\*\* (?:(Add|Update|Delete) File|Move to): (\S[^\n]{0,300})\n?", re.MULTILINE)
_HEADS = ("@@", PATCH)
"""How the lines between the hunks of a file begin."""

_NAME = re.compile(r"[^\W\d]\w{2,}")


class FileEdit(Struct, frozen=True, gc=False):
    """An edit of one file, as a call states it.

    `file`: the path in the call, "" if it has none. `old`, `new`: the text that goes, and the text that comes in its
    place; in a hunk of a patch, both with the unchanged lines around. Either may be empty. `whole`: `new` is all of the
    file. `deletes`: the file is deleted.
    """

    file: str
    old: str = ""
    new: str = ""
    whole: bool = False
    deletes: bool = False


def file_edits_in(values: Sequence[tuple[str, str]]) -> tuple[FileEdit, ...]:
    """The edits in the arguments of a call, in their order. `values`: what `arguments` gives for the call.

    They are the hunks of a patch ("*** Update File: …"), each with the file of its section; else the call's old and new
    texts (`REPLACED`, `ADDED`), in pairs; else the texts that it writes as whole files (`WRITTEN`). Empty if it has
    none of these. Without a patch, all are edits of the first path among the arguments. Old texts without any new one
    are taken away. If there are new texts, but not as many as old ones, each is returned with an empty `old`.
    """
    if any(PATCH in value and "File: " in value for _, value in values):
        return tuple(_of_patch("\n".join(value for _, value in values)))
    file = next((value for key, value in values if key in PATHS), "")
    old = [value for key, value in values if key in REPLACED]
    new = [value for key, value in values if key in ADDED]
    if old or new:
        if new and len(old) != len(new):
            old = [""] * len(new)
        return tuple(FileEdit(file, before, after) for before, after in zip_longest(old, new, fillvalue=""))
    return tuple(FileEdit(file, new=value, whole=True) for key, value in values if key in WRITTEN)


def _of_patch(patch: str) -> Iterator[FileEdit]:
    sections = list(_SECTION.finditer(patch))
    for at, found in enumerate(sections):
        body = patch[found.end() : sections[at + 1].start() if at + 1 < len(sections) else len(patch)]
        file, kind = found[2].strip(), found[1]
        whole = kind in {"Add", "Delete"}
        between = groupby(body.splitlines(), key=lambda line: not whole and line.startswith(_HEADS))
        for lines in [list(hunk) for is_head, hunk in between if not is_head] or [[]]:
            old, new = ("\n".join(line[1:] for line in lines if line[:1] in (sign, " ")) for sign in "-+")
            yield FileEdit(file, old, new, whole=kind == "Add", deletes=kind == "Delete")


def informative_line(edits: Sequence[FileEdit]) -> tuple[str, bool]:
    """Choose the line that tells most about some edits, without the blanks at its ends, and say whether they add it; if
    not, they take it away. Only the first `SCANNED_EDIT` (8,000) characters of each text are read.

    It is the added line with the most names that the replaced text does not have. If the edits add no line, it is the
    removed line with the most names that the new text does not have; if they change no line, ("", True).
    """
    old = [line.strip() for edit in edits for line in edit.old[:SCANNED_EDIT].splitlines()]
    new = [line.strip() for edit in edits for line in edit.new[:SCANNED_EDIT].splitlines()]
    added, removed = (
        [line for line in lines if line and line not in others] for lines, others in ((new, set(old)), (old, set(new)))
    )
    lines, others = (added, old) if added else (removed, new)
    known = {name for line in others for name in _NAME.findall(line)}
    return max(lines, key=lambda line: len({*_NAME.findall(line)} - known), default=""), bool(added) or not removed


def is_same_file(one: str, other: str) -> bool:
    """Whether two names may be the same file: they are equal, or one is the end of the other's path (`load.py` and
    `src/engine/load.py`)."""
    short, long = sorted((one.removeprefix("./"), other.removeprefix("./")), key=len)
    return short == long or long.endswith(f"/{short}")


def file_of(path: str) -> str:
    """The name of the file at the end of a path, without its folders."""
    return path.rpartition("/")[2]
