"""`transom read`, `grep`, `list`: a log read back by a person, by the same functions that answer a model."""

from __future__ import annotations

import sys

from msgspec import Struct, to_builtins

from transom.cli.places import found_log
from transom.cli.recalls import Grep, Listing, Read
from transom.cli.term import put_json
from transom.recall.content import escaped
from transom.recall.finding import Found, grep
from transom.recall.listing import list_entries
from transom.recall.reading import read
from transom.stores import StoredLog

ALL = 1 << 60
"""No bound: a person sees what comes and can stop it."""


def run(wanted: Read | Grep | Listing) -> int:
    """Print what was asked for. Exit code 1 if a pattern is not found."""
    with found_log(wanted.store, wanted.id) as log:
        found = _found(log, wanted)
        if wanted.json:
            put_json({"conversation": log.name, **to_builtins(found)})
        else:
            _print(str(found))
    return 1 if isinstance(found, Found) and not found.matches else 0


def _found(log: StoredLog, wanted: Read | Grep | Listing) -> Struct:
    """People see also what is kept out of every window."""
    if isinstance(wanted, Read):
        lines = ALL if wanted.lines is None else wanted.lines
        return read(log, wanted.reference, wanted.start, wanted.column, lines, ALL, hidden=True)
    if isinstance(wanted, Grep):
        return grep(log, wanted.pattern, wanted.reference, wanted.start, wanted.limit, wanted.context, ALL, hidden=True)
    return list_entries(log, wanted.first, wanted.last, wanted.limit, ALL, hidden=True)


def _print(text: str) -> None:
    """Foreign text cannot move the cursor, ring or recolour anything; its lines and tabs stay."""
    for line in text.split("\n"):
        sys.stdout.write("\t".join(map(escaped, line.split("\t"))) + "\n")
