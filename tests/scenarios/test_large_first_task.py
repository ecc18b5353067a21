"""A first message larger than the window: what is newer stays whole, as long as it has room in the other half."""

from __future__ import annotations

import json
from typing import Any

import pytest

import transom

BUDGET = 8_000


def words(count: int, word: str) -> str:
    return " ".join([word] * count)


def call(label: str, **arguments: str) -> dict[str, Any]:
    function = {"name": "write", "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": label, "type": "function", "function": function}]}


LARGE = {"role": "user", "content": "Here is my log. " + words(20_000, "lorem")}
PARTS = {"role": "user", "content": [{"type": "text", "text": words(9_000, word)} for word in ("lorem", "dolor")]}
RESULT = {"role": "tool", "tool_call_id": "a"}
ANSWER = {"role": "assistant", "content": "I see."}
NEWER: dict[str, list[dict[str, Any]]] = {
    "a short question": [ANSWER, {"role": "user", "content": "Which customer had the error?"}],
    "a long question": [ANSWER, {"role": "user", "content": "Which? " + words(3_000, "context")}],
    "a call with its arguments": [call("a", text=words(500, "code")), {**RESULT, "content": "OK"}],
    "a result": [call("a", path="x"), {**RESULT, "content": words(500, "found")}],
    "a talk": [ANSWER, {"role": "user", "content": "And then?"}, ANSWER, {"role": "user", "content": "And the end?"}],
}


@pytest.mark.parametrize("policy", ["default", "sliding", "codex", "letta"])
@pytest.mark.parametrize("newer", NEWER)
@pytest.mark.parametrize("first", [LARGE, PARTS], ids=["one text", "two parts"])
def test_what_is_newer_stays_whole(first: dict[str, Any], newer: str, policy: str) -> None:
    shown = transom.fit([first, *NEWER[newer]], budget=BUDGET, policy=policy)
    assert shown[-len(NEWER[newer]) :] == NEWER[newer]
    assert len(str(shown[0]["content"])) > 15_000


def test_the_longer_one_of_two_large_messages_gives_way_first() -> None:
    both = [LARGE, ANSWER, {"role": "user", "content": words(30_000, "dolor")}]
    first, *_, newest = (len(message["content"]) for message in transom.fit(both, budget=BUDGET))
    assert min(first, newest) > 15_000


def test_the_next_questions_need_no_new_clip() -> None:
    with transom.Conversation.open("memory:", "c", budget=BUDGET) as conversation:
        conversation.user(LARGE["content"])
        shown = list[str]()
        for turn in range(8):
            shown.append(str(conversation.request()["messages"][0]))
            conversation.observe({"role": "assistant", "content": f"Answer {turn}."})
            conversation.user(f"Question {turn}: " + words(40, "why"))
        assert len(set(shown)) <= 2
        assert conversation.request()["messages"][-1]["content"].startswith("Question 7")
