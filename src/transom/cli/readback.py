"""The commands `transom read`, `grep` and `entries`: read a log back, with the functions that answer a model."""

from __future__ import annotations

import sys

from msgspec import Struct, to_builtins
from msgspec.structs import asdict

from transom.cli.commands import Entries, Grep, Read
from transom.cli.locate import open_log
from transom.cli.terminal import print_json
from transom.readback import EntryList, GrepResult, grep, list_entries, read
from transom.readback.content import escaped
from transom.stores import StoredLog

UNLIMITED = 1 << 60
"""In place of a bound: a person can scroll, or stop the output."""


def run(options: Read | Grep | Entries) -> int:
    """Print the answer, hidden entries included. Exit code 1 if `grep` finds no match."""
    with open_log(options.store, options.id) as log:
        result = _result(log, options)
        if options.json:
            print_json({"conversation": log.name, **to_builtins(result)})
        else:
            text = str(result)
            if isinstance(result, EntryList):  # its first line says how a model goes on; no text of the log is in it
                text = text.replace("; more: first ", "; more: --first ", 1)
            _print(text)
    return 1 if isinstance(result, GrepResult) and not result.matches else 0


def _result(log: StoredLog, options: Read | Grep | Entries) -> Struct:
    arguments = {key: value for key, value in asdict(options).items() if key not in {"id", "store", "json"}}
    arguments |= {"max_bytes": UNLIMITED, "include_hidden": True}
    if isinstance(options, Read):
        arguments |= {"reference": " ".join(options.reference), "lines": options.lines or UNLIMITED}
        return read(log, **arguments)
    return (grep if isinstance(options, Grep) else list_entries)(log, **arguments)


def _print(text: str) -> None:
    """Print a text from outside. Control characters other than line ends and tabs are escaped."""
    for line in text.split("\n"):
        sys.stdout.write("\t".join(map(escaped, line.split("\t"))) + "\n")
