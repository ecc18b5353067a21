"""Exported calls: their kind, and arguments that are no JSON object, come back as the model wrote them."""

from __future__ import annotations

import io
import json

import pytest
from sessions import item, jsonl, said

from transom.core.message import Assistant, Fact
from transom.exporters import export
from transom.importers import import_file
from transom.stores import MemoryStore

AT = "2026-01-02T03:04:05.000Z"
PATCH = "*** Begin Patch\n*** End Patch"
CALLS = {
    "c1": item(type="custom_tool_call", call_id="c1", name="apply_patch", input=PATCH, status="completed"),
    "c2": item(type="local_shell_call", call_id="c2", id="l2", status="completed", action={"command": ["ls"]}),
    "c3": item(type="function_call", call_id="c3", name="shell", arguments='{"command":["ls"'),
    "c4": item(type="custom_tool_call", call_id="c4", name="json", input='{"a": 1}'),
    "c5": item(type="function_call", call_id="c5", name="list", arguments="[1]"),
    "c6": item(type="function_call", call_id="c6", name="time", arguments=""),
    "c7": item(type="function_call", call_id="c7", name="text", arguments='{"arguments":"plain"}'),
}
OUTPUTS = [
    item(
        type="custom_tool_call_output" if call["payload"]["type"] == "custom_tool_call" else "function_call_output",
        call_id=label,
        output="Fine.",
    )
    for label, call in CALLS.items()
]
META = {"timestamp": AT, "type": "session_meta", "payload": {"id": "s", "timestamp": AT}}
PARALLEL = jsonl(META, item(**said("user", "Go.")), *CALLS.values(), *OUTPUTS)
ONE_BY_ONE = jsonl(
    META, item(**said("user", "Go.")), *(line for pair in zip(CALLS.values(), OUTPUTS, strict=True) for line in pair)
)
RAW = {"c3": '{"command":["ls"', "c5": "[1]"}


def log_of(data, format_name):
    file = io.BytesIO(data if isinstance(data, bytes) else data.encode())
    file.name = "s.jsonl"
    store = MemoryStore()
    [done] = import_file(file, store, format=format_name)
    return store.open(done.conversation)


def exported(log, format_name):
    found = export(log, format_name)
    return b"".join(found), found.report.notes


def calls_in(log):
    facts = [entry.body for entry in log.read() if isinstance(entry.body, Fact)]
    return [call for fact in facts if isinstance(fact, Assistant) for call in fact.calls]


def arguments_in(log):
    return {call.id: call.args for call in calls_in(log)}


@pytest.fixture(params=[PARALLEL, ONE_BY_ONE], ids=["parallel", "one by one"])
def rollout(request):
    return log_of(request.param, "codex")


@pytest.mark.parametrize("written", ["codex", "responses", "openai_agents"])
def test_calls_come_back_as_they_were(rollout, written):
    data, notes = exported(rollout, written)
    assert (calls_in(log_of(data, written)), notes) == (calls_in(rollout), ())


@pytest.mark.parametrize("written", ["openai", "langchain", "pydantic_ai"])
def test_arguments_come_back_from_every_format_that_has_them_as_text(rollout, written):
    data, _ = exported(rollout, written)
    found = arguments_in(log_of(data, written))
    assert {label: found[label] for label in RAW} == RAW
    custom = found["c1"] if written == "openai" else json.loads(found["c1"])["input"]  # the others know functions only
    assert custom == PATCH
    assert (found["c6"], json.loads(found["c7"])) == ("{}", {"arguments": "plain"})


def test_custom_tools_stay_custom_in_openai_chat_and_back(rollout):
    chat, notes = exported(rollout, "openai")
    lost = "calls of a kind that only their own provider has, which became calls of functions: 1"  # the local shell
    assert lost in notes
    again = log_of(exported(log_of(chat, "openai"), "codex")[0], "codex")
    kinds = {call.id: (call.extra or {}).get("type") for call in calls_in(again)}
    assert kinds == {**dict.fromkeys(CALLS), "c1": "custom_tool_call", "c4": "custom_tool_call"}
    assert arguments_in(again) == {**arguments_in(rollout), "c6": "{}"}


@pytest.mark.parametrize("written", ["anthropic", "claude_code", "gemini"])
def test_what_a_format_has_only_as_an_object_is_counted(rollout, written):
    _, notes = exported(rollout, written)
    assert 'arguments that are no JSON object, put under the key "arguments": 2' in notes
    assert "calls of a kind that only their own provider has, which became calls of functions: 3" in notes


@pytest.mark.parametrize("written", ["openai", "pi", "langchain", "pydantic_ai"])
def test_a_call_in_the_old_form_of_openai_comes_back(written):
    call = {"name": "look", "arguments": '{"at": 1}'}
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "function_call": call},
        {"role": "function", "name": "look", "content": "Fine."},
    ]
    data, _ = exported(log_of(json.dumps({"messages": messages}), "openai"), written)
    [found] = calls_in(log_of(data, written))
    assert (found.name, json.loads(found.args)) == ("look", {"at": 1})


def test_pi_has_a_custom_tools_text_as_its_one_argument(rollout):
    data, notes = exported(rollout, "pi")
    found = arguments_in(log_of(data, "pi"))
    assert json.loads(found["c1"]) == {"input": PATCH}
    assert json.loads(found["c4"]) == {"input": '{"a": 1}'}
    assert 'arguments that are no JSON object, put under the key "arguments": 2' in notes


def test_pi_has_a_call_once_that_openai_says_in_both_forms():
    call = {"name": "look", "arguments": "{}"}
    turn = {"role": "assistant", "content": None, "function_call": call}
    turn["tool_calls"] = [{"id": "a", "type": "function", "function": call}]
    messages = [{"role": "user", "content": "Go."}, turn, {"role": "tool", "tool_call_id": "a", "content": "Fine."}]
    data, _ = exported(log_of(json.dumps({"messages": messages}), "openai"), "pi")
    assert [found.id for found in calls_in(log_of(data, "pi"))] == ["a"]


def test_pi_says_what_it_has_no_place_for():
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    file = {"type": "file", "file": {"file_data": "data:application/pdf;base64,aGk=", "filename": "a.pdf"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "Look."}, image, file]}]
    data, notes = exported(log_of(json.dumps({"messages": messages}), "openai"), "pi")
    [said] = [json.loads(line)["message"]["content"] for line in data.splitlines() if b'"message"' in line]
    assert [part["text"] for part in said] == ["Look.", "https://example.com/a.png", "[file left out]"]
    assert "images at URLs that became the text of the URL: 1" in notes
    assert "files left out: 1 (the format has no place for them)" in notes
