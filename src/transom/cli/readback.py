"""The commands `transom read` and `grep`: read a log back, with the functions that answer a model."""

from __future__ import annotations

from msgspec import to_builtins
from msgspec.structs import asdict

from transom.cli.commands.stored import Grep, Read
from transom.cli.progress import at_work
from transom.cli.stores import open_log
from transom.cli.terminal import print_json, print_text
from transom.readback import GrepResult, grep, read
from transom.readback.pages import Page
from transom.stores import StoredLog

UNLIMITED = 1 << 60
"""The bound of an output for a person, who can scroll or stop it: in effect none."""


def run(options: Read | Grep) -> int:
    """Print entries or matches, those of hidden entries too. Exit code 1 if `grep` finds no match."""
    with open_log(options.store, options.id) as log:
        with at_work("reading the log"):
            result = _result(log, options)
        if options.json:
            print_json({"conversation": log.name, **to_builtins(result)})
        else:
            print_text(str(result))
    return 1 if isinstance(result, GrepResult) and not result.matches else 0


def _result(log: StoredLog, options: Read | Grep) -> Page | GrepResult:
    arguments = {key: value for key, value in asdict(options).items() if key not in {"id", "store", "json"}}
    arguments |= {"max_bytes": UNLIMITED, "include_hidden": True}
    if isinstance(options, Read):
        arguments |= {"reference": " ".join(options.reference), "lines": options.lines or UNLIMITED}
        return read(log, **arguments)
    return grep(log, **arguments)
