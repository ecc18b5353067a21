"""Recorded conversations in files, for reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TASK = "Count the files of every folder. Never delete one."


def recording(turns: int, *, said: dict[int, str] | None = None, task: str = TASK) -> list[dict[str, Any]]:
    """A conversation with a tool call in each turn. `said`: what the results of some turns end with."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You count."}, {"role": "user", "content": task}]
    for n in range(turns):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "ls", "arguments": json.dumps({"folder": n})}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        content = f"file {n} " * 150 + (said or {}).get(n, "")
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": content})
    return [*messages, {"role": "assistant", "content": f"{turns} folders."}]


def write_recordings(path: Path, **conversations: list[dict[str, Any]]) -> None:
    """Write conversations by id, one a line."""
    lines = (json.dumps({"id": name, "messages": messages}) for name, messages in conversations.items())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
