"""Runs a command line, and prints every expected error as one line."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer

from transom.cli import FAILED, commands
from transom.cli.lazy_commands import ClickException, command_line
from transom.cli.streams import discard_output, error_text, print_notice
from transom.errors import TransomError, quote

COMMANDS = commands
"""The module is imported because that registers the commands."""


def run_command(args: Sequence[str] | None) -> int:
    """Run a command line and return its exit code. `args`: the words behind `transom`; None: those of the process.

    An expected error (a wrong command line, a TransomError, an OSError) is printed as one line on stderr, and gives
    exit code 2. If the reader of stdout has closed the pipe, the exit code is 0. Raises only KeyboardInterrupt, and
    errors that are bugs.
    """
    notices = _Notices(logging.WARNING)
    logging.getLogger("transom").addHandler(notices)
    try:
        job = command_line(args)
        code = job if isinstance(job, int) else job()
        sys.stdout.flush()
    except ClickException as problem:
        return _failed(f"{option_error(problem)} (try --help)")
    except typer.Abort:  # typer turns Ctrl-C into this while it parses the command line
        raise KeyboardInterrupt from None
    except TransomError as problem:
        return _failed(error_text(problem))
    except BrokenPipeError:  # the reader of stdout has closed it: for example `head`
        discard_output(sys.stdout)
        return 0
    except OSError as problem:
        discard_output(sys.stdout)
        path = f"{os.fsdecode(problem.filename)}: " if problem.filename else ""
        return _failed(f"{path}{problem.strerror or problem}")
    finally:
        logging.getLogger("transom").removeHandler(notices)
    return code


class _Notices(logging.Handler):
    """Prints what the library logs as notices; otherwise Python would print it without our name before it."""

    def emit(self, record: logging.LogRecord) -> None:
        print_notice(record.getMessage())


def _failed(message: str) -> int:
    print_notice(message)
    return FAILED


WANTED_VALUES = {
    "int": "must be a whole number",
    "float": "must be a number",
    "datetime": "must be a time, as in 2026-11-23 or 2026-11-23T18:00:00",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}
"""What the value of an option must be, by the beginning of the type of pydantic's error. The error fills in limits."""


def option_error(problem: Any) -> str:
    """Return the message for a command line that typer could not parse. It says which value is wrong, and what it must
    be."""
    message: str = problem.format_message()
    if message == "Missing argument 'ID'.":
        return "which conversation? Give its ID: `transom conversations` lists them"
    option = str(getattr(problem, "option_name", ""))
    has_entries = any(each.name == "id" for each in problem.ctx.command.params) if problem.ctx else False
    if has_entries and option.startswith("-") and option[1:].isdecimal():  # meant as the number of an entry
        return f"{option}: entries are numbered from 0: `transom log ID` lists them"
    if not hasattr(problem.__cause__, "errors"):
        return message
    (error, *_) = problem.__cause__.errors()  # typer checks the values of options with pydantic
    known = error.get("ctx", {})
    wanted = next((text for kind, text in WANTED_VALUES.items() if error["type"].startswith(kind)), None)
    wanted = f"{wanted.format_map(known)}, not {quote(error['input'])}" if wanted else known.get("error", error["msg"])
    return f"{message.removesuffix(problem.message)}{wanted}"
