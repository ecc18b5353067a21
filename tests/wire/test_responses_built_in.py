"""Built-in tools that the client answers: their calls and outputs are paired, come out as they came, and keep their
shape where something of them is replaced."""

from __future__ import annotations

import pytest
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter
from responses_kit import planned, read, request_of, tokens_of

from transom.core.edit import Trim
from transom.core.message import ToolResult
from transom.testing import WordCounter
from transom.wire.openai import OPENAI_CHAT
from transom.wire.rendering import render_messages
from transom.wire.responses import RESPONSES, violations
from transom.wire.responses.built_in_tools import SCREENSHOT

USER = {"role": "user", "content": "hi"}
SHOT = {"type": "computer_screenshot", "image_url": "data:image/png;base64," + "A" * 200}
EXIT = {"type": "exit", "exit_code": 0}
TOOL = {
    "type": "function",
    "name": "more",
    "description": "tells the weather",
    "parameters": {"type": "object"},
    "strict": False,
}
CALLS = {
    "computer": {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "c",
        "action": {"type": "click", "button": "left", "x": 1, "y": 2},
        "pending_safety_checks": [],
        "status": "completed",
    },
    "local_shell": {
        "type": "local_shell_call",
        "id": "lsh_1",
        "call_id": "c",
        "action": {"type": "exec", "command": ["ls", "-l"], "env": {}},
        "status": "completed",
    },
    "shell": {
        "type": "shell_call",
        "id": "sh_1",
        "call_id": "c",
        "action": {"commands": ["ls -l"], "timeout_ms": 1000},
        "status": "completed",
    },
    "apply_patch": {
        "type": "apply_patch_call",
        "id": "apc_1",
        "call_id": "c",
        "operation": {"type": "update_file", "path": "a.py", "diff": "-old line\n+new line"},
        "status": "completed",
    },
    "tool_search": {
        "type": "tool_search_call",
        "id": "tsc_1",
        "call_id": "c",
        "arguments": {"query": "weather"},
        "execution": "client",
        "status": "completed",
    },
}
OUTPUTS = {
    "computer": {"type": "computer_call_output", "call_id": "c", "output": SHOT, "acknowledged_safety_checks": []},
    "local_shell": {"type": "local_shell_call_output", "id": "c", "output": "a.py b.py", "status": "completed"},
    "shell": {
        "type": "shell_call_output",
        "call_id": "c",
        "output": [
            {"stdout": "a.py b.py", "stderr": "", "outcome": EXIT},
            {"stdout": "", "stderr": "no such file", "outcome": {"type": "timeout"}},
        ],
        "max_output_length": 9000,
    },
    "apply_patch": {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "no such line"},
    "tool_search": {"type": "tool_search_output", "call_id": "c", "tools": [TOOL], "execution": "client"},
}
KINDS = sorted(CALLS)
TAKEN = TypeAdapter(ResponseInputItemParam)


def checked(request, window):
    for item in request["input"]:
        TAKEN.validate_python(item)
    assert violations(request) == []
    assert tokens_of(request, WordCounter().count) <= window.size.tokens
    return request["input"]


# ---- read and rendered


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_and_its_output_are_paired_and_come_out_as_they_came(kind):
    items = [USER, CALLS[kind], OUTPUTS[kind], USER]
    conversation = read({"input": items})
    assert [unit.answered_calls for unit in conversation.view.slots] == [(), (0,), ()]
    sent, window = planned(conversation)
    assert checked(sent, window) == items
    assert str(sent["input"]) == str(items)  # the order of fields too


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_without_its_output_gets_one(kind):
    sent, window = planned(read({"input": [USER, CALLS[kind], USER]}))
    items = checked(sent, window)
    assert items[:2] == [USER, CALLS[kind]]
    assert items[2]["type"] in (OUTPUTS[kind]["type"], "function_call_output")
    assert "[aborted" in str(items[2:-1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_tool_result_comes_out_as_the_output_of_its_tool(kind):
    conversation = read({"input": [USER, CALLS[kind]]})
    conversation.append(RESPONSES.parse_tool_result("c", "done as told"))
    sent, window = planned(conversation)
    items = checked(sent, window)
    assert items[2]["type"] in (OUTPUTS[kind]["type"], "function_call_output")
    assert "done as told" in str(items[2:])
    assert "[aborted" not in str(items)


def test_an_image_is_the_screenshot():
    conversation = read({"input": [USER, CALLS["computer"]]})
    image = {"type": "input_image", "image_url": SHOT["image_url"], "detail": "auto"}
    conversation.append(RESPONSES.parse_tool_result("c", [image]))
    output = {"type": "computer_call_output", "call_id": "c", "output": SHOT}
    assert checked(*planned(conversation)) == [USER, CALLS["computer"], output]


def test_a_local_shells_output_names_its_call_by_either_id():
    for fields in ({"id": "lsh_1"}, {"id": "c"}, {"id": "x", "call_id": "c"}, {"call_id": "c"}):
        output = {"type": "local_shell_call_output", **fields, "output": "a.py"}
        request = {"input": [USER, CALLS["local_shell"], output]}
        assert violations(request) == []
        assert planned(read(request))[0] == request


def test_what_the_provider_ran_stays_in_its_turn():
    container = {"type": "container_reference", "container_id": "x"}
    found = {"tools": [], "execution": "server", "call_id": None}
    items = [
        USER,
        {**CALLS["shell"], "environment": container},
        OUTPUTS["shell"],
        {**CALLS["tool_search"], "execution": "server", "call_id": None},
        {"type": "tool_search_output", **found},
        {"role": "assistant", "content": "hello"},
    ]
    conversation = read({"input": items})
    assert conversation.view.length == 2
    assert planned(conversation)[0] == {"input": items}
    assert violations({"input": items}) == []


@pytest.mark.parametrize("kind", KINDS)
def test_another_dialect_gets_a_function_call(kind):
    conversation = read({"input": [USER, CALLS[kind], OUTPUTS[kind]]})
    messages = render_messages(conversation.plan_request().view, OPENAI_CHAT)
    assert messages[1]["tool_calls"][0]["function"]["name"] == kind
    assert OPENAI_CHAT.violations({"messages": messages}) == []


# ---- trimmed


def trimmed(kind, entry, part):
    conversation = read({"input": [USER, CALLS[kind], OUTPUTS[kind], USER]})
    conversation.edit(Trim(entry=entry, part=part, note="{}" if part[0] == "args" else "[cut]"))
    return checked(*planned(conversation))


def test_a_trimmed_output_keeps_its_shape():
    shell = [{**OUTPUTS["shell"]["output"][0], "stdout": "[cut]"}, OUTPUTS["shell"]["output"][1]]
    note = {"role": "user", "content": "[cut]"}
    text, image, other = ("text", 0), ("image", 0), ("other", 0)
    assert trimmed("shell", 2, text)[2:-1] == [{**OUTPUTS["shell"], "output": shell}]
    assert trimmed("local_shell", 2, text)[2:-1] == [{**OUTPUTS["local_shell"], "output": "[cut]"}]
    assert trimmed("apply_patch", 2, text)[2:-1] == [{**OUTPUTS["apply_patch"], "output": "[cut]"}]
    assert trimmed("computer", 2, image)[2:-1] == [{**OUTPUTS["computer"], "output": SCREENSHOT}, note]
    assert trimmed("tool_search", 2, other)[2:-1] == [{**OUTPUTS["tool_search"], "tools": []}, note]


def test_a_trimmed_call_keeps_its_shape():
    calls = {kind: trimmed(kind, 1, ("args", 0))[1] for kind in KINDS}
    patch = {**CALLS["apply_patch"]["operation"], "diff": "{}"}
    assert calls == {
        "computer": CALLS["computer"],
        "local_shell": {**CALLS["local_shell"], "action": {"type": "exec", "command": ["{}"], "env": {}}},
        "shell": {**CALLS["shell"], "action": {"commands": ["{}"], "timeout_ms": 1000}},
        "apply_patch": {**CALLS["apply_patch"], "operation": patch},
        "tool_search": {**CALLS["tool_search"], "arguments": {}},
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_whose_reasoning_is_gone_stays_with_its_output(kind):
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    done = {"role": "assistant", "content": "done"}  # the turn at work would keep its reasoning
    conversation = read({"input": [USER, thought, CALLS[kind], OUTPUTS[kind], done]})
    conversation.edit(Trim(entry=1, part=("reasoning", 0)))
    call, output = checked(*planned(conversation))[1:3]
    assert output == OUTPUTS[kind]
    assert {**call, "id": None} == {**CALLS[kind], "id": None}
    assert call.get("id") in (None, "cu_c", "lsh_c")


def test_the_output_of_another_tool_becomes_one_of_the_calls():
    conversation = read({"input": [USER, CALLS["shell"], OUTPUTS["apply_patch"]]})
    assert isinstance(conversation.view.fetch(2).body, ToolResult)
    sent = request_of(conversation)
    chunk = {"stdout": "no such line", "stderr": "", "outcome": {**EXIT, "exit_code": 1}}
    assert sent["input"][2] == {"type": "shell_call_output", "call_id": "c", "output": [chunk]}
    assert violations(sent) == []


# ---- the rules


@pytest.mark.parametrize("kind", KINDS)
def test_the_rules_pair_them(kind):
    call, output = CALLS[kind], OUTPUTS[kind]
    assert violations({"input": [call, output]}) == []
    assert [(each.rule, each.index) for each in violations({"input": [call]})] == [("R1", 0)]
    assert [(each.rule, each.index) for each in violations({"input": [USER, output]})] == [("R2", 1)]
    other = OUTPUTS["shell" if kind == "apply_patch" else "apply_patch"]
    assert [(each.rule, each.index) for each in violations({"input": [call, other]})] == [("R2", 1)]


def test_another_dialect_gets_the_screenshot_as_an_image():
    conversation = read({"input": [USER, CALLS["computer"], OUTPUTS["computer"]]})
    url = {"type": "image_url", "image_url": {"url": SHOT["image_url"]}}
    assert url in [
        part
        for message in render_messages(conversation.plan_request().view, OPENAI_CHAT)
        for part in message.get("content") or []
    ]
