"""Runs a command line, and prints every expected error as one line."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence

import typer

from transom.cli import commands
from transom.cli.app import ClickException, command_line
from transom.cli.option_errors import option_error
from transom.cli.streams import discard_output, print_notice
from transom.errors import TransomError

FAILED = 2
"""The exit code of every expected error."""

COMMANDS = commands
"""Importing this module registers the commands."""


def run_command(args: Sequence[str] | None) -> int:
    """Parse and run a command line, and return the exit code. Raises KeyboardInterrupt, and errors that are bugs."""
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
        return _failed(str(problem))
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
