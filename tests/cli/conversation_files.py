"""Conversations in files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path


def chat(turns, size=200):
    """The messages of a conversation with one tool call in each turn."""
    messages = [{"role": "system", "content": "You count."}, {"role": "user", "content": "Count the files."}]
    for n in range(turns):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "ls", "arguments": f'{{"folder": {n}}}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": f"file {n} " * size})
    return [*messages, {"role": "assistant", "content": f"{turns} folders."}]


def write_jsonl(path, *records):
    """Write records as JSON Lines, compressed if the name ends in .gz. Returns the path."""
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    Path(path).write_bytes(gzip.compress(data) if str(path).endswith(".gz") else data)
    return path


def read_jsonl(path):
    """The lines of an `--out` file."""
    data = Path(path).read_bytes()
    data = gzip.decompress(data) if str(path).endswith(".gz") else data
    return [json.loads(line) for line in data.splitlines()]
