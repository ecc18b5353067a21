"""The command line. A command line is first parsed into a job, a callable; then the job runs. An error is one line.

Nothing slow is imported here, so that Ctrl-C during the imports is reported in one line too.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from transom.cli.streams import prepare_streams, print_notice

INTERRUPTED = 130
FAILED = 2
"""The exit code of every expected error."""


def main(args: Sequence[str] | None = None) -> int:
    """Run `transom` with these arguments, the words behind `transom` (default: those of the process), and return the
    exit code. It does not end the process.

    An expected error is one line on stderr and exit code 2. Ctrl-C is one line on stderr and exit code 130. If the
    reader of stdout closes the pipe, that is no error.
    """
    try:
        prepare_streams()
        return import_module("transom.cli.run_command").run_command(args)
    except KeyboardInterrupt:
        print_notice("interrupted")
        return INTERRUPTED
