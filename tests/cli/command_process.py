"""The command line in a process of its own, which can be killed."""

from __future__ import annotations

import os
import subprocess
import sys


def start_command(*args, seed="0", **options):
    """Start a command line. Ctrl-C works in the process as at a terminal, however the tests were started."""
    signals = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{signals}; import sys; from transom.cli import main; sys.exit(main())"]
    environment = {**os.environ, "PYTHONHASHSEED": seed, "COLUMNS": "80"}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([*command, *map(str, args)], env=environment, **options)


def finish(process):
    """Wait for a process. Returns its exit code, stdout and stderr."""
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err
