"""Twice the size takes about twice the work, counted in calls of functions. `make growth` measures many more shapes, in
seconds."""

from __future__ import annotations

import json
from functools import partial

import pytest

from interpreter_steps import function_calls
from transom import Conversation

MOST = 2.2
"""Times the work that twice the size may take."""


def call(label: str, name: str, arguments: dict) -> dict:
    return {"id": label, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def turn(*calls: dict) -> dict:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def answer(label: str, content: str) -> dict:
    return {"role": "tool", "tool_call_id": label, "content": content}


def patches(n: int) -> list[dict]:
    """A patch of n files that failed, and then did not."""
    files = "".join(f"*** Update File: src/p{i}/file.py\n@@\n-old {i}\n+new {i}\n" for i in range(n))
    patch = {"patch": f"*** Begin Patch\n{files}*** End Patch\n"}
    messages = [{"role": "user", "content": "Mend the loader."}]
    for label, content in (("a", "Error: the patch does not apply."), ("b", "Done.")):
        messages += [turn(call(label, "apply_patch", patch)), answer(label, content)]
    return [*messages, {"role": "assistant", "content": "It is done."}, {"role": "user", "content": "Thanks."}]


def calls(n: int) -> list[dict]:
    """A turn of n calls."""
    some = [call(f"c{i}", "read", {"path": f"src/{i}.py"}) for i in range(n)]
    return [{"role": "user", "content": "go"}, turn(*some), *(answer(f"c{i}", f"line {i}") for i in range(n))]


def compacted(messages: list[dict]) -> None:
    conversation = Conversation.from_messages(messages, budget=20_000)
    conversation.request()
    conversation.compact()


def late(messages: list[dict]) -> None:
    conversation = Conversation.from_messages(messages[:2], budget=1_000_000)
    conversation.request()
    conversation.extend(messages[2:])
    conversation.request()


@pytest.mark.parametrize(
    ("messages", "run", "n"), [(patches, compacted, 150), (calls, compacted, 200), (calls, late, 150)]
)
def test_twice_the_size_takes_twice_the_work(messages, run, n):
    run(messages(n))  # what is loaded at first use
    once, twice = (function_calls(partial(run, messages(size))) for size in (n, 2 * n))
    assert twice <= MOST * once, (once, twice)
