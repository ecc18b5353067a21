"""`transom log`: a line for each entry."""

from __future__ import annotations

import json

from conversation_files import chat, write_jsonl

from transom.cli.demo import SESSION
from transom.importers import read


def test_log_has_a_line_for_each_entry(run, demo):
    found = json.loads(run("log", "demo", "--json")[1])
    out = run("log", "demo")[1].splitlines()
    assert found["conversation"] == "demo"
    assert [entry["seq"] for entry in found["entries"]] == list(range(len(found["entries"])))
    assert out[0].startswith(f"demo: {len(found['entries'])} entries, ")
    assert len(out) == len(found["entries"]) + 2
    assert all(len(line) <= 80 for line in out)
    (record,) = read(SESSION)
    facts = {entry["source"]: entry["kind"] for entry in found["entries"] if "source" in entry}
    assert facts == {at: message["role"] for at, message in enumerate(record.messages) if at}
    assert {entry["state"] for entry in found["entries"] if entry["kind"] == "fold"} <= {"live", "not live"}
    assert "live" in {entry.get("state") for entry in found["entries"]}


def test_log_prints_entries_of_every_kind(run):
    unseen = [{"role": "assistant", "content": ""}, {"role": "tool", "tool_call_id": "no", "content": "x"}]
    messages = [*chat(30)[:-1], *unseen]
    write_jsonl("chats.jsonl", {"id": "one", "messages": messages})
    assert run("replay", "chats.jsonl", "--budget", 2_000)[0] == 0
    entries = json.loads(run("log", "one", "--json")[1])["entries"]
    assert {entry["kind"] for entry in entries} == {"head", "user", "assistant", "tool", "sent", "fold", "trim"}
    assert [(entry["kind"], entry["state"]) for entry in entries[-2:]] == [
        ("assistant", "dropped"),
        ("tool", "dropped"),
    ]
