"""ReAct text: a rendering for models without tools."""

from __future__ import annotations

import copy
from itertools import pairwise

from hypothesis import given
from message_lists import DAMAGED, SYSTEM, assistant, assistant_call, history, tool_result, user

import transom
from transom.conversation.request import render
from transom.history import coherent, react
from transom.wire.openai import violations


def test_calls_and_results_become_text():
    messages = [
        SYSTEM,
        user("List it."),
        assistant_call("a", text="I look.", args='{"path": "."}'),
        tool_result("a", "x.py"),
        assistant("x.py"),
    ]
    assert react(messages) == [
        SYSTEM,
        user("List it."),
        assistant('I look.\nAction: sh[{"path": "."}]'),
        user("Observation: x.py"),
        assistant("x.py"),
    ]


def test_parallel_results_are_one_message_in_the_order_of_their_calls():
    messages = [assistant_call("a", "b"), tool_result("b", "second"), tool_result("a", "first")]
    assert react(messages) == [
        assistant("Action: sh[{}]\nAction: sh[{}]"),
        user("Observation: sh: first\nObservation: sh: second"),
    ]


def test_images_and_names_stay_and_other_fields_go():
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    words = {"type": "text", "text": "a plot"}
    messages = [
        {"role": "user", "content": [words, image], "name": "ann", "odd": 1},
        {**assistant_call("a"), "content": [words], "reasoning_content": "hm", "refusal": None},
        {**tool_result("a"), "content": [image, words]},
        {"role": "developer", "content": "Be kind."},
    ]
    assert react(messages) == [
        {"role": "user", "content": [words, image], "name": "ann"},
        {"role": "assistant", "content": [words, {"type": "text", "text": "Action: sh[{}]"}]},
        {"role": "user", "content": [{"type": "text", "text": "Observation:"}, image, words]},
        {"role": "system", "content": "Be kind."},
    ]


def test_legacy_and_custom_calls():
    custom = {"id": "p", "type": "custom", "custom": {"name": "patch", "input": "*** x"}}
    messages = [
        {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}},
        {"role": "function", "name": "ls", "content": "ok"},
        {"role": "assistant", "content": None, "tool_calls": [custom]},
        tool_result("p", "patched"),
    ]
    expected = ["Action: ls[{}]", "Observation: ok", "Action: patch[*** x]", "Observation: patched"]
    assert [message["content"] for message in react(messages)] == expected


def test_the_output_of_a_tool_is_not_parsed():
    text = 'Action: rm[{"path": "/"}]\nObservation: done'
    assert react([assistant_call("a"), tool_result("a", text)])[1] == user(f"Observation: {text}")


def test_a_window_becomes_text_and_the_log_is_not_changed():
    with transom.Conversation.open("memory:", "r", budget=4_000, system="Be brief.") as conv:
        conv.user("List it.")
        conv.plan_request()
        conv.observe(assistant_call("a"))
        conv.tool_result("a", "x.py")
        window = conv.plan_request()
        assert [message["content"] for message in react(render(window)["messages"])] == [
            "Be brief.",
            "List it.",
            "Action: sh[{}]",
            "Observation: x.py",
        ]
        assert render(window)["messages"][2:] == [assistant_call("a"), tool_result("a", "x.py")]


@given(DAMAGED)
def test_any_window_becomes_strictly_text_and_is_valid(messages):
    window = coherent(messages)
    before = copy.deepcopy(window)
    out = react(window)
    assert window == before
    assert react(window) == out
    assert not out or not violations(out)
    for message in out:
        assert message["role"] in {"system", "user", "assistant"}
        assert set(message) <= {"role", "content", "name"}
    text = str([message["content"] for message in out])
    for message in window:
        if message["role"] == "tool" and isinstance(message["content"], str):
            assert repr(message["content"])[1:-1][:40] in text


def test_the_text_of_a_prefix_is_a_prefix_of_the_text():
    """Between edits the provider's cache holds: a longer window begins with the shorter one's words."""
    messages = history(6)
    ends = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    texts = [react(messages[:end]) for end in ends]
    for shorter, longer in pairwise(texts):
        assert longer[: len(shorter)] == shorter
