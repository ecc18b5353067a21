"""Run a command line; report every foreseen error in one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from transom.cli import commands
from transom.cli.app import ClickException, command_line
from transom.cli.streams import drop, say
from transom.errors import TransomError

MISUSE = 2

COMMANDS = commands
"""Importing them adds them to the command line."""


def run_command(args: Sequence[str] | None) -> int:
    """The exit code of this command line; 2 with one line on stderr for every foreseen error."""
    try:
        job = command_line(args)
        code = job if isinstance(job, int) else job()
        sys.stdout.flush()
    except ClickException as problem:
        return say(f"{problem.format_message()} (try --help)", MISUSE)
    except typer.Abort:  # what becomes of Ctrl-C while the command line is read
        raise KeyboardInterrupt from None
    except TransomError as problem:
        return say(str(problem), MISUSE)
    except BrokenPipeError:  # who reads the output has seen enough
        drop(sys.stdout)
        return 0
    except OSError as problem:
        drop(sys.stdout)
        where = f"{os.fsdecode(problem.filename)}: " if problem.filename else ""
        return say(f"{where}{problem.strerror or problem}", MISUSE)
    return code
