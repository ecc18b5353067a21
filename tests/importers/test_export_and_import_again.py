"""What was imported, went on here, and was exported is imported again: the store has it already."""

from __future__ import annotations

import json

import pytest
from sessions import assistant, call, item, jsonl, result, said, text, user

import transom
from transom.core.message import Fact
from transom.exporters import export
from transom.exporters.log_messages import NO_OBJECT
from transom.importers import import_file
from transom.providers.scripted import Scripted
from transom.providers.scripted import call as scripted_call
from transom.stores import MemoryStore

ID = "0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"
AT = "2026-01-02T03:04:05.000Z"
PI = {"type": "message", "timestamp": AT}
SESSIONS = {
    "claude_code": (
        "anthropic",
        [
            user("u1", None, "Look.", sessionId=ID),
            assistant("a1", "u1", "m1", call("c", "look"), sessionId=ID),
            user("u2", "a1", [result("c", "Fine.")], sessionId=ID),
            assistant("a2", "u2", "m2", text("Done."), sessionId=ID),
        ],
    ),
    "codex": (
        "responses",
        [
            {"timestamp": AT, "type": "session_meta", "payload": {"id": ID}},
            item(**said("user", "Look.")),
            item(type="message", role="assistant", content=[{"type": "output_text", "text": "Done."}]),
        ],
    ),
    "pi": (
        "openai",
        [
            {"type": "session", "version": 3, "id": ID, "timestamp": AT, "cwd": ""},
            PI | {"id": "1", "parentId": None, "message": {"role": "user", "content": "Look."}},
            PI
            | {
                "id": "2",
                "parentId": "1",
                "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
            },
        ],
    ),
}


def look() -> str:
    """Look around."""
    return "Fine."


@pytest.mark.parametrize("kind", SESSIONS)
def test_nothing_is_doubled(tmp_path, kind):
    dialect, lines = SESSIONS[kind]
    path, store = tmp_path / f"{ID}.jsonl", MemoryStore()
    path.write_text(jsonl(*lines))
    (first,) = import_file(path, store)
    provider = Scripted(scripted_call("look"), "All is well.", "Still well.", dialect=dialect)
    with transom.Conversation.open(store, first.conversation, dialect=dialect, budget=20_000) as conv:
        conv.run("And now?", provider=provider, tools=[look])
        conv.run("And now?", provider=provider)
    facts = [entry.body for entry in store.open(ID).read() if isinstance(entry.body, Fact)]
    path.write_bytes(b"".join(export(store.open(ID))))
    (again,) = import_file(path, store)
    assert (again.conversation, again.messages, again.earlier) == (ID, 0, len(facts))
    assert [entry.body for entry in store.open(ID).read() if isinstance(entry.body, Fact)] == facts


@pytest.mark.parametrize("args", ['{"a":NaN}', '{"a":-Infinity}', '{"a":1e999}', "{", "text"])
@pytest.mark.parametrize("written", ["openai", "responses", "pi", "langchain", "pydantic_ai"])
def test_odd_arguments_leave_the_file_json_and_those_of_pi_an_object(args, written):
    conv = transom.Conversation.open("memory:", "c", dialect="openai", budget=20_000)
    conv.user("Go.")
    body = {"id": "a", "type": "function", "function": {"name": "f", "arguments": args}}
    conv.observe({"role": "assistant", "content": None, "tool_calls": [body]})
    made = export(conv.log, written)
    lines = b"".join(made).splitlines() if written == "pi" else [b"".join(made)]

    def refuse(constant):
        raise AssertionError(constant)

    values = [json.loads(line, parse_constant=refuse) for line in lines]
    if written == "pi":
        assert values[-1]["message"]["content"][-1]["arguments"] == {"arguments": args}
        assert NO_OBJECT in str(made.report.notes)


def test_a_call_that_is_neither_this_nor_that_does_not_stop_an_export():
    conv = transom.Conversation.open("memory:", "c", dialect="openai", budget=20_000)
    conv.user("Go.")
    both = {"custom": {"name": "n", "input": "x"}, "function": {"name": "n", "arguments": "x"}}
    broken = {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{"}}
    conv.observe({"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "custom", **both}, broken]})
    assert b'"n"' in b"".join(export(conv.log, "pi"))


def test_a_session_is_imported_though_a_file_of_its_subagent_says_something_else(tmp_path):
    side = {"isSidechain": True, "agentId": "e1", "sessionId": ID}
    lines = [user("u1", None, "Ask.", sessionId=ID), user("s1", None, "Of the session's file.", **side)]
    (tmp_path / f"{ID}.jsonl").write_text(jsonl(*lines, assistant("a1", "u1", "m1", text("Done."), sessionId=ID)))
    folder = tmp_path / ID / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-e1.jsonl").write_text(jsonl(user("s1", None, "Of its own file.", **side)))
    store = MemoryStore()
    for _ in import_file(tmp_path, store):
        pass
    assert sorted(store.names()) == [ID, f"{ID}#e1", f"{ID}#e1 (2)"]
