"""The command line. A command is first read into a job, which is a value; then the job runs. Errors are one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from transom.cli.app import ClickException, command_line
from transom.errors import TransomError

MISUSE, INTERRUPTED = 2, 130


def main(args: Sequence[str] | None = None) -> int:
    """Run `transom` with these arguments (default: the process's own); the exit code.

    Every foreseen error is one line on stderr and exit code 2; Ctrl-C is one line and 130.
    """
    for stream in (sys.stdout, sys.stderr):  # a tool's output may hold what this terminal cannot show
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="replace")
    return _told(lambda: _run(args))


def _run(args: Sequence[str] | None) -> int:
    asked = command_line(args)
    code = asked if isinstance(asked, int) else asked()
    sys.stdout.flush()
    return code


def _told(work: Callable[[], int]) -> int:
    try:
        return work()
    except ClickException as problem:
        return _say(f"{problem.format_message()} (try --help)", MISUSE)
    except TransomError as problem:
        return _say(str(problem), MISUSE)
    except BrokenPipeError:
        _drop_stdout()
        return _say("the output was not read to its end", MISUSE)
    except OSError as problem:
        _drop_stdout()
        where = f"{os.fsdecode(problem.filename)}: " if problem.filename else ""
        return _say(f"{where}{problem.strerror or problem}", MISUSE)
    except KeyboardInterrupt as stop:
        return _say("; ".join(["interrupted", *getattr(stop, "__notes__", ())]), INTERRUPTED)


def _say(line: str, code: int) -> int:
    sys.stderr.write(f"transom: {' '.join(line.split())}\n")
    return code


def _drop_stdout() -> None:
    """What could not be written must not be tried again when the process ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
