"""The commands `transom read` and `grep`: read a log back, with the functions that answer a model."""

from __future__ import annotations

from msgspec import to_builtins
from msgspec.structs import asdict

from transom.cli.commands.stored import Grep, Read
from transom.cli.next_commands import command_for
from transom.cli.progress import at_work
from transom.cli.stores import open_log
from transom.cli.terminal import print_json, print_text
from transom.readback import GrepResult, grep, read
from transom.readback.matches import Match
from transom.readback.pages import Page, Start
from transom.stores import StoredLog

DEFAULT_LIMIT = 50
"""The default of --limit of `grep`."""

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
            print_text(_text(result, options))
    return 1 if isinstance(result, GrepResult) and not result.matches else 0


def _result(log: StoredLog, options: Read | Grep) -> Page | GrepResult:
    arguments = {key: value for key, value in asdict(options).items() if key not in {"id", "store", "json"}}
    arguments |= {"max_bytes": UNLIMITED, "include_hidden": True}
    if isinstance(options, Read):
        arguments |= {"reference": " ".join(options.reference), "lines": options.lines or UNLIMITED}
        return read(log, **arguments)
    return grep(log, **arguments)


def _text(result: Page | GrepResult, options: Read | Grep) -> str:
    """Return the answer as text. Where its first line tells a model what to call next, a person gets a command."""
    first, end, rest = str(result).partition("\n")
    hints = ""
    if isinstance(result, GrepResult) and result.matches:
        hints += f"; whole: {_read_command(result.matches[0], options)}"
    if result.next is not None:
        for words in ("next page: ", "more: "):
            first = first.removesuffix(f"; {words}{result.next}]")
        hints += f"; more: {_more_command(result.next, options)}"
    return f"{first.removesuffix(']')}{hints}]{end}{rest}"


def _read_command(match: Match, options: Read | Grep) -> str:
    """Return the command that prints the entry of a match, from the line of the match on."""
    start = _given(("--start", match.line, 1))
    return command_for("read", options.id, *match.reference.split(), store=options.store, options=start)


def _more_command(start: Start, options: Read | Grep) -> str:
    """Return the command that prints what follows, with the options of this one."""
    where = _given(("--start", start.line, 1), ("--column", start.column, 1))
    if isinstance(options, Grep):
        where = ["--in", start.reference, *where]
        given = _given(("--limit", options.limit, DEFAULT_LIMIT), ("--context", options.context, 0))
        return command_for("grep", options.id, options.pattern, store=options.store, options=[*where, *given])
    given = _given(("--lines", options.lines, None))
    return command_for("read", options.id, *start.reference.split(), store=options.store, options=[*where, *given])


def _given(*options: tuple[str, int | None, int | None]) -> list[object]:
    """Return the names and values of those options whose value is not the default. An option: name, value, default."""
    return [each for name, value, default in options if value != default for each in (name, value)]
