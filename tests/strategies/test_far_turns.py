"""Turns that were folded long ago: what came of them stands, what was said there is not looked for again."""

from __future__ import annotations

import json

import transom
from transom.strategies.record import index
from transom.testing import WordCounter
from transom.texts import is_record

BUDGET = 1_000


def turn(at: int, name: str, args: dict, result: str):
    call = {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{at}", "content": result},
    ]


def record_after(windows: float) -> str:
    """The records of a conversation that goes on for this many windows after it changed a file. Each later turn names
    the file too, so that no record has to quote the turn that changed it."""
    with transom.Conversation.open("memory:", "c", budget=BUDGET, counter=WordCounter()) as conv:
        conv.extend([{"role": "user", "content": "Go."}, *turn(0, "write_file", {"path": "first.py"}, "written")])
        tokens, at = 0.0, 1
        while tokens < windows * BUDGET:
            conv.request()
            conv.extend(
                turn(
                    at,
                    "read_file",
                    {"path": f"module_{at}.py"},
                    f"value_{at} = 1  # see first.py\n" + "pass it on\n" * 20,
                )
            )
            tokens, at = tokens + 70, at + 1
        messages = conv.request()["messages"]
    return "\n".join(m["content"] for m in messages if is_record(m["content"] or ""))


def test_a_file_that_was_changed_long_ago_is_still_named():
    assert index.NEAR < 6 < index.MANY
    text = record_after(6)
    assert "Changed: first.py (1)" in text
    assert "\n1 write_file" not in text
