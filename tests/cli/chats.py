"""Conversations in files, and the command line in a process that can be killed."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path


def chat(turns, size=200):
    """A conversation with tool calls, one for each turn."""
    messages = [{"role": "system", "content": "You count."}, {"role": "user", "content": "Count the files."}]
    for n in range(turns):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "ls", "arguments": f'{{"folder": {n}}}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": f"file {n} " * size})
    return [*messages, {"role": "assistant", "content": f"{turns} folders."}]


def write(path, *records):
    """Records as JSON Lines, packed if the name says so."""
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    Path(path).write_bytes(gzip.compress(data) if str(path).endswith(".gz") else data)
    return path


def lines(path):
    """The lines of an `--out` file."""
    data = Path(path).read_bytes()
    data = gzip.decompress(data) if str(path).endswith(".gz") else data
    return [json.loads(line) for line in data.splitlines()]


def process(*args, seed="0", **options):
    """The command line in a process of its own, which minds Ctrl-C as at a terminal, however the tests were started."""
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{heard}; import sys; from transom.cli import main; sys.exit(main())"]
    environment = {**os.environ, "PYTHONHASHSEED": seed, "COLUMNS": "80"}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([*command, *map(str, args)], env=environment, **options)


def finish(started):
    """Exit code, stdout, stderr of a process."""
    out, err = started.communicate(timeout=60)
    return started.returncode, out, err
