"""The last line of a record names what the calls really changed."""

from __future__ import annotations

import json

import transom


def work(turn, *calls):
    """A turn of several calls at once, each with its result."""
    made = [
        {"id": f"c{turn}_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments, _) in enumerate(calls)
    ]
    yield {"role": "assistant", "content": None, "tool_calls": made}
    for call, (_, _, text) in zip(made, calls, strict=True):
        yield {"role": "tool", "tool_call_id": call["id"], "content": text}


def test_a_failed_call_beside_one_that_succeeded_changed_nothing():
    text = "def run():\n    return 1\n" * 20
    messages = [{"role": "user", "content": "Mend the parser."}]
    messages += work(
        0,
        ("Edit", {"file_path": "src/failed_edit.py", "old_string": "a"}, "String to replace not found in file."),
        ("Read", {"file_path": "src/only_read.py"}, text),
        ("Edit", {"file_path": "src/good_edit.py", "old_string": "a"}, "The file was updated."),
    )
    for turn in range(1, 40):
        messages += work(turn, ("Read", {"file_path": f"src/part_{turn}.py"}, text))
    short = transom.fit(messages, budget=3_000)
    record = next(message["content"] for message in short if "a record of" in (message["content"] or ""))
    changed = next(line for line in record.splitlines() if line.startswith("Changed: "))
    assert changed == "Changed: src/good_edit.py (1)"
