"""Codex rollouts: which lines are the conversation."""

from __future__ import annotations

import json

import pytest
from sessions import event, item, jsonl, said

from transom.importers import Recorded, read
from transom.wire.responses import RESPONSES

ITEMS = [
    said("developer", "Be brief."),
    said("user", "Count the files."),
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "ls"}], "encrypted_content": "c2VhbGVk"},
    {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "ls"}', "call_id": "c1"},
    {"type": "function_call_output", "call_id": "c1", "output": "a b"},
    {
        "type": "custom_tool_call",
        "name": "apply_patch",
        "input": "*** Begin Patch",
        "call_id": "c2",
        "status": "completed",
    },
    {"type": "custom_tool_call_output", "call_id": "c2", "output": "Done!"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Two."}]},
]
META = {"type": "session_meta", "payload": {"id": "s1", "timestamp": "2026-01-02T03:04:05Z", "cwd": "/home/ada"}}


@pytest.fixture
def rollout(tmp_path):
    """`rollout(line, …)`: the one conversation of a rollout file."""

    def rollout(*lines, name="rollout-1.jsonl"):
        text = json.dumps(lines[0]) if name.endswith(".json") else jsonl(*lines)
        (tmp_path / name).write_text(text)
        [found] = read(tmp_path / name)
        return found

    return rollout


def test_a_session(rollout, tmp_path):
    meta = {**META, "payload": {**META["payload"], "base_instructions": {"text": "You are Codex."}}}
    lines = [
        meta,
        {"type": "turn_context", "payload": {"model": "gpt-x", "cwd": "/home/ada"}},
        event(type="user_message", message="Count the files."),
        *(item(**each) for each in ITEMS),
        event(type="agent_message", message="Two."),
        event(type="token_count", info=None),
        {"type": "of_the_future", "payload": {"safe": "ignored"}},
    ]
    found = rollout(*lines)
    assert found == Recorded(
        id="rollout-1",
        format="codex",
        dialect="responses",
        messages=ITEMS,
        system="You are Codex.",
        source=str(tmp_path / "rollout-1.jsonl"),
    )
    assert RESPONSES.violations({"input": found.messages}) == []


def test_items_without_an_envelope(rollout):
    header = {"id": "s1", "timestamp": "2025-08-01T00:00:00Z", "instructions": "You are Codex.", "git": {}}
    found = rollout(header, {"record_type": "state"}, *ITEMS[1:3], {"record_type": "state"}, *ITEMS[3:])
    assert (found.format, found.system, found.messages) == ("codex", "You are Codex.", ITEMS[1:])


def test_a_document_of_the_oldest_kind(rollout):
    session = {"id": "s1", "timestamp": "2025-05-01T00:00:00Z", "instructions": "You are Codex."}
    found = rollout({"session": session, "items": ITEMS}, name="rollout-1.json")
    assert (found.id, found.format, found.system) == ("rollout-1", "codex", "You are Codex.")
    assert found.messages == ITEMS


def test_only_the_first_of_several_headers_counts(rollout):
    parent = {**META, "payload": {"id": "s0", "instructions": "The parent's."}}
    found = rollout({**META, "payload": {"id": "s1", "instructions": None}}, parent, item(**ITEMS[1]))
    assert found.system is None


def test_nulls_and_what_is_never_sent_are_left_out(rollout):
    found = rollout(
        META,
        item(**ITEMS[1], id=None, end_turn=None),
        item(type="ghost_snapshot", ghost_commit={"id": "x"}),
        item(type="compaction", encrypted_content="c2VhbGVk"),
        item(type="function_call", name="f", arguments="{}", call_id="c1"),
        item(type="function_call_output", call_id="c1", output={"content": "a b", "success": True}),
        item(type="function_call_output", call_id="c2", output={"body": 1}),
    )
    assert found.messages == [
        ITEMS[1],
        {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": "a b"},
        {"type": "function_call_output", "call_id": "c2", "output": '{"body": 1}'},
    ]


def test_a_compaction_of_codex_keeps_what_was_before_it(rollout):
    compacted = {"type": "compacted", "payload": {"message": "So far: two files.", "replacement_history": [ITEMS[1]]}}
    silent = {"type": "compacted", "payload": {"message": "", "replacement_history": []}}
    found = rollout(META, item(**ITEMS[1]), compacted, silent, item(**said("user", "Go on.")))
    assert found.messages == [ITEMS[1], said("user", "So far: two files."), said("user", "Go on.")]


@pytest.mark.parametrize(
    ("turns", "left"),
    [
        (1, ["<environment_context>", "One.", "<turn_aborted>"]),
        (2, ["<environment_context>"]),
        (9, ["<environment_context>"]),
    ],
)
def test_turns_that_were_rolled_back_are_left_out(rollout, turns, left):
    """What Codex says in the user's name begins no turn."""
    words = ["<environment_context>", "One.", "<turn_aborted>", "Two."]
    lines = [item(**said("user", each)) for each in words]
    back = event(type="thread_rolled_back", num_turns=turns)
    found = rollout(META, *lines, item(**ITEMS[-1]), back, item(**said("user", "Three.")))
    assert [message["content"][0]["text"] for message in found.messages] == [*left, "Three."]


def compacted(message, *history):
    """A line of Codex that replaces the history by messages, given as (role, text)."""
    items = [said(role, words) for role, words in history]
    return {"type": "compacted", "payload": {"message": message, "replacement_history": items}}


COMPACTIONS = {
    "message": (compacted("Two files."), ["Two files."]),
    "history": (compacted("", ("user", "Count."), ("user", "Summary: two.")), ["Summary: two."]),
    "both": (compacted("Two files.", ("user", "Count."), ("user", "Summary:\nTwo files.")), ["Two files."]),
    "a role of its own": (compacted("", ("developer", "Rules of now."), ("user", "Two.")), ["Rules of now.", "Two."]),
    "nothing new": (compacted("", ("user", "Count."), ("assistant", "Two.")), []),
}


@pytest.mark.parametrize("compaction", COMPACTIONS)
def test_the_summary_of_a_compaction_is_kept_wherever_it_stands(tmp_path, compaction):
    line, summaries = COMPACTIONS[compaction]
    if compaction == "history":  # the items of 2026 may have no type
        line["payload"]["replacement_history"] = [
            {key: value for key, value in one.items() if key != "type"}
            for one in line["payload"]["replacement_history"]
        ]
    lines = [
        META,
        item(**said("user", "Count.")),
        item(**said("assistant", "Two." if not summaries else "Well.")),
        line,
    ]
    (tmp_path / "r.jsonl").write_text(jsonl(*lines, item(**said("user", "And now?"))))
    [found] = read(tmp_path / "r.jsonl")
    words = [one["content"][0]["text"] for one in found.messages]
    assert words[2:-1] == summaries
    assert found.injected == frozenset(range(2, 2 + len(summaries)))


def test_a_summary_that_nobody_can_read_is_reported(tmp_path):
    line = compacted("", ("user", "Count."))
    line["payload"]["replacement_history"].append({"type": "compaction", "encrypted_content": "gAAA"})
    (tmp_path / "r.jsonl").write_text(jsonl(META, item(**said("user", "Count.")), line))
    skipped = []
    [found] = read(tmp_path / "r.jsonl", on_skip=skipped.append)
    assert len(found.messages) == 1
    why = "left out the summaries of 1 compaction: they are encrypted, and everything before them is kept"
    assert skipped == [f"{tmp_path}/r.jsonl: {why}"]


UNTYPED = [
    ({"role": "user", "content": [{"type": "input_text", "text": "Hi."}]}, "message"),
    ({"role": "assistant", "content": [{"type": "output_text", "text": "Hi."}], "id": "msg_1"}, "message"),
    ({"name": "shell", "arguments": "{}", "call_id": "c1"}, "function_call"),
    ({"call_id": "c1", "output": "ok"}, "function_call_output"),
    ({"name": "apply_patch", "input": "*** Begin", "call_id": "c2"}, "custom_tool_call"),
    ({"summary": [], "encrypted_content": "gAAA", "id": "rs_1"}, "reasoning"),
]


@pytest.mark.parametrize("enveloped", [True, False])
def test_the_keys_of_an_item_without_a_type_say_what_it_is(tmp_path, enveloped):
    lines = [item(**payload) if enveloped else payload for payload, _ in UNTYPED]
    (tmp_path / "r.jsonl").write_text(
        jsonl(META if enveloped else {"id": "s1", "timestamp": "2026-01-02T03:04:05Z", "instructions": None}, *lines)
    )
    [found] = read(tmp_path / "r.jsonl", "codex")
    assert found.messages == [{"type": kind, **payload} for payload, kind in UNTYPED]
