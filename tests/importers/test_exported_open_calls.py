"""An export of a conversation with a call that has no result: a body can be sent, a session stays as it was."""

from __future__ import annotations

import json

import pytest
from sessions import assistant, call, jsonl, result, user

from transom.exporters import export
from transom.importers import FORMATS, import_file
from transom.stores import MemoryStore, StoredLog
from transom.texts import ABORTED
from transom.wire.dialects import dialect_named

WRITTEN = [name for name, each in FORMATS.items() if each.written]
SESSIONS = {"claude_code", "codex", "pi"}


@pytest.fixture(params=["one open", "one of two open", "open and more"])
def log(request, tmp_path) -> StoredLog:
    calls = [call("c1", "look")] if request.param == "one open" else [call("c1", "look"), call("c2", "look")]
    lines = [user("u1", None, "Go."), *(assistant(f"a{n}", "u1", "m1", each) for n, each in enumerate(calls))]
    if request.param == "one of two open":
        lines.append(user("u2", "a1", [result("c2", "Fine.")]))
    if request.param == "open and more":
        lines.append(user("u2", "a1", "And now?"))
    (tmp_path / "s.jsonl").write_text(jsonl(*lines))
    store = MemoryStore()
    (done,) = import_file(tmp_path / "s.jsonl", store)
    return store.open(done.conversation)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_call_without_a_result_gets_one_where_an_api_reads_it(log, name):
    made = export(log, name)
    text = b"".join(made).decode()
    many = sum(ABORTED in str(entry.body) for entry in log.read())
    assert many == 0
    if name in SESSIONS:
        assert ABORTED not in text
        assert any(note.startswith("turns with calls that have no result: 1") for note in made.report.notes)
        return
    written = text.count(ABORTED)
    assert written
    said = f"calls without a result that got one which says so: {written} (no API takes a call without one)"
    assert said in made.report.notes
    if name in {"openai", "anthropic", "responses", "gemini"}:
        assert dialect_named(name).violations(json.loads(text)) == []


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_the_format_that_it_came_from_keeps_the_call_open(tmp_path, name):
    bodies = {"openai": {"role": "assistant", "tool_calls": [{"id": "c", "type": "function"}]}}
    bodies["openai"]["tool_calls"][0]["function"] = {"name": "look", "arguments": "{}"}
    used = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    bodies["anthropic"] = {"role": "assistant", "content": [used]}
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Go."}, bodies[name]]}
    (tmp_path / "s.json").write_text(json.dumps(body))
    store = MemoryStore()
    (done,) = import_file(tmp_path / "s.json", store, format=name)
    assert ABORTED not in b"".join(export(store.open(done.conversation))).decode()
