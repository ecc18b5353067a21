"""`transom read`, `grep`, `list`: a log read back by a person, by the same functions that answer a model."""

from __future__ import annotations

import sys

from msgspec import Struct, to_builtins
from msgspec.structs import asdict

from transom.cli.commands import Entries, Grep, Read
from transom.cli.locate import found_log
from transom.cli.terminal import put_json
from transom.readback import Found, grep, list_entries, read
from transom.readback.content import escaped
from transom.stores import StoredLog

NO_BOUND = 1 << 60
"""No bound: a person sees what comes and can stop it."""


def run(options: Read | Grep | Entries) -> int:
    """Print what was asked for; people see also what is kept out of every window. Exit code 1 if a pattern is not
    found."""
    with found_log(options.store, options.id) as log:
        found = _found(log, options)
        if options.json:
            put_json({"conversation": log.name, **to_builtins(found)})
        else:
            _print(str(found))
    return 1 if isinstance(found, Found) and not found.matches else 0


def _found(log: StoredLog, options: Read | Grep | Entries) -> Struct:
    arguments = {key: value for key, value in asdict(options).items() if key not in {"id", "store", "json"}}
    arguments |= {"room": NO_BOUND, "hidden": True}
    if isinstance(options, Read):
        arguments |= {"reference": " ".join(options.reference), "lines": options.lines or NO_BOUND}
        return read(log, **arguments)
    return (grep if isinstance(options, Grep) else list_entries)(log, **arguments)


def _print(text: str) -> None:
    """Foreign text cannot move the cursor, ring or recolour anything; its lines and tabs stay."""
    for line in text.split("\n"):
        sys.stdout.write("\t".join(map(escaped, line.split("\t"))) + "\n")
