"""The command line. A command is first read into a job, which is a value; then the job runs. Errors are one line.

Nothing is imported here that takes time, so that Ctrl-C while the rest is being imported is told in one line too.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from transom.cli.streams import open_streams, say

INTERRUPTED = 130


def main(args: Sequence[str] | None = None) -> int:
    """Run `transom` with these arguments (default: the process's own); the exit code.

    Every foreseen error is one line on stderr and exit code 2; Ctrl-C is one line and 130; a reader of stdout that has
    seen enough is no error.
    """
    try:
        open_streams()
        return import_module("transom.cli.run_command").run_command(args)
    except KeyboardInterrupt as stop:
        return say("; ".join(["interrupted", *getattr(stop, "__notes__", ())]), INTERRUPTED)
