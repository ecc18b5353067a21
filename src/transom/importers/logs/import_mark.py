"""Marks in a log which entries were imported, and from what.

The mark is an entry of the kind `imported`, which is never sent.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec
from msgspec import Struct

from transom.core.entry import Entry
from transom.core.message import Opaque
from transom.errors import InvalidMessage
from transom.stores import StoredLog

_KIND = "imported"


class ImportMark(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Says that the entries from the seq `first` up to this mark were imported.

    `format`: the name of the file's format. `lines`: how many lines a session file had when an import of it ended; a
    turn that was not complete there was ended there. 0 for other files, and for a mark in the midst of an import.
    """

    format: str
    first: int
    lines: int = 0


def body_of(mark: ImportMark) -> Opaque:
    """Encode a mark as the body of an entry."""
    return Opaque(raw={"kind": _KIND, **cast("dict[str, Any]", msgspec.to_builtins(mark))})


def mark_of(entry: Entry) -> ImportMark | None:
    """Decode the import mark that an entry holds; None for an entry of another kind. Raises InvalidMessage if the mark
    is damaged."""
    body = entry.body
    if not isinstance(body, Opaque) or body.raw.get("kind") != _KIND:
        return None
    try:
        return msgspec.convert(body.raw, ImportMark)
    except msgspec.ValidationError as problem:
        raise InvalidMessage(f"entry {entry.seq}", f"the mark of an import cannot be read: {problem}") from None


def newest_mark(log: StoredLog) -> ImportMark | None:
    """Return the newest mark in a log; None if nothing in the log was imported. It reads the whole log. Raises
    InvalidMessage if a mark is damaged."""
    newest = None
    for entry in log.read():
        newest = mark_of(entry) or newest
    return newest
