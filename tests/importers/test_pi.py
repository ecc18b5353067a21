"""Sessions of pi: which entries are the conversation, and how they become messages."""

from __future__ import annotations

import json

import pytest
from sessions import jsonl

import transom
from transom.core.message import Text, ToolResult
from transom.exporters import export
from transom.importers import Recorded, import_file, read
from transom.stores import MemoryStore
from transom.wire.openai import violations

AT = "2026-01-02T03:04:05.000Z"
HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": AT, "cwd": "/home/ada"}


def entry(label, parent, role, content, **more):
    """A line with a message, in the tree of version 2."""
    message = {"role": role, "content": content, "timestamp": 1, **more}
    return {"type": "message", "id": label, "parentId": parent, "timestamp": AT, "message": message}


def text(words):
    return {"type": "text", "text": words}


def call(label, **arguments):
    return {"type": "toolCall", "id": label, "name": "bash", "arguments": arguments}


def result(label, parent, called, *parts):
    return entry(label, parent, "toolResult", [*parts], toolCallId=called, toolName="bash", isError=False)


@pytest.fixture
def session(tmp_path):
    """`session(line, …)`: the conversation of a session file, and what was left out."""

    def session(*lines):
        (tmp_path / "s.jsonl").write_text(jsonl(*lines))
        skipped = []
        [found] = read(tmp_path / "s.jsonl", on_skip=skipped.append)
        return found, [line.replace(f"{tmp_path}/", "") for line in skipped]

    return session


def test_a_session(session, tmp_path):
    found, skipped = session(
        HEADER,
        {"type": "model_change", "id": "m", "parentId": None, "timestamp": AT, "provider": "x", "modelId": "y"},
        entry("a", "m", "user", [text("Count."), {"type": "image", "data": "QUJD", "mimeType": "image/png"}]),
        entry("b", "a", "assistant", [{"type": "thinking", "thinking": "Hm."}, text("I look."), call("t1", cmd="ls")]),
        result("c", "b", "t1", text("a b")),
        entry("d", "c", "assistant", [], stopReason="error", errorMessage="overloaded"),
        entry("e", "d", "assistant", [text("Two.")]),
        entry("f", "e", "bashExecution", None, command="ls", output="a b", exitCode=1, cancelled=False),
        entry("g", "f", "bashExecution", None, command="pwd", output="", excludeFromContext=True),
        {"type": "custom", "id": "h", "parentId": "g", "timestamp": AT, "customType": "x", "data": {}},
        {"type": "custom_message", "id": "i", "parentId": "h", "timestamp": AT, "customType": "x", "content": "Note."},
        {"type": "compaction", "id": "j", "parentId": "i", "timestamp": AT, "summary": "So far.", "tokensBefore": 9},
    )
    function = {"name": "bash", "arguments": '{"cmd":"ls"}'}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
    messages = [
        {"role": "user", "content": [text("Count."), picture]},
        {
            "role": "assistant",
            "content": "I look.",
            "reasoning_content": "Hm.",
            "tool_calls": [{"id": "t1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "a b"},
        {"role": "assistant", "content": "Two."},
        {"role": "user", "content": "Ran `ls`\n```\na b\n```\n\nCommand exited with code 1"},
        {"role": "user", "content": "Note."},
        {"role": "user", "content": "So far."},
    ]
    source = str(tmp_path / "s.jsonl")
    summary = frozenset({6})
    assert found == Recorded(id="s", format="pi", dialect="openai", messages=messages, source=source, injected=summary)
    assert skipped == []
    assert violations(messages) == []


def test_entries_without_a_tree(session):
    lines = [{**entry("x", "y", "user", words), "id": None, "parentId": None} for words in ("Hi.", "Bye.")]
    found, _ = session({**HEADER, "version": 1}, *lines)
    assert [message["content"] for message in found.messages] == ["Hi.", "Bye."]


def test_what_is_beside_the_way_to_the_newest_entry_was_taken_back(session):
    """Also if the user goes on with what had been taken back before."""
    start = [HEADER, entry("a", None, "user", "Start."), entry("b", "a", "assistant", [text("Ready.")])]
    first = [entry("c", "b", "user", "First."), entry("d", "c", "assistant", [text("Tried.")])]
    second = [entry("e", "b", "user", "Second."), entry("f", "e", "assistant", [text("Better.")])]
    back = [entry("g", "d", "user", "Again.")]
    for lines, contents, dropped in (
        ((*start, *first), ["Start.", "Ready.", "First.", "Tried."], []),
        ((*start, *first, *second), ["Start.", "Ready.", "Second.", "Better."], ["2 messages"]),
        ((*start, *first, *second, *back), ["Start.", "Ready.", "First.", "Tried.", "Again."], ["2 messages"]),
        ((*start, *first, entry("h", None, "user", "Anew.")), ["Anew."], ["4 messages"]),
    ):
        found, skipped = session(*lines)
        assert [message["content"] for message in found.messages] == contents
        assert skipped == [f"s.jsonl: left out {many} of branches that were taken back" for many in dropped]


CALL = {**call("t1", cmd="ls"), "thoughtSignature": "of the call"}
FAILED = {"toolCallId": "t1", "toolName": "bash", "isError": True}


@pytest.mark.parametrize(
    "blocks",
    [
        [
            {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "s"},
            {**text("I look."), "textSignature": "t"},
            CALL,
        ],
        [{"type": "thinking", "thinking": "", "thinkingSignature": "s", "redacted": True}, CALL],
        [{"type": "thinking", "thinking": "One\ntwo"}, CALL, {"type": "thinking", "thinking": "Three"}, text("Then.")],
        [text("One."), text("Two."), {"type": "odd", "data": 1}, text(""), call("t1")],
        [text(""), call("t1")],
        [{"type": "thinking", "thinking": "Hm."}, text("I look."), call("t1", cmd="ls")],
    ],
    ids=["signatures", "redacted", "order", "texts", "empty text", "plain"],
)
@pytest.mark.parametrize(
    "parts", [[text("no file")], [text("")], [{"type": "image", "data": "QUJD", "mimeType": "image/png"}]]
)
def test_an_export_gives_back_what_openai_chat_has_no_place_for(tmp_path, blocks, parts):
    path, store = tmp_path / "s.jsonl", MemoryStore()
    lines = [HEADER, entry("a", None, "user", "Go."), entry("b", "a", "assistant", blocks)]
    path.write_text(jsonl(*lines, entry("c", "b", "toolResult", parts, **FAILED, details={"diff": "+1"})))
    (done,) = import_file(path, store)
    log = store.open(done.conversation)
    exported = [json.loads(line)["message"] for line in b"".join(export(log)).splitlines()[1:]]
    assert exported[1]["content"] == blocks
    assert exported[2] == {"role": "toolResult", "content": parts, **FAILED, "details": {"diff": "+1"}}
    failed = [entry.body.failed for entry in log.read() if isinstance(entry.body, ToolResult)]
    assert failed == [True]
    path.write_bytes(b"".join(export(log)))
    (again,) = import_file(path, store, id=done.conversation)
    assert (again.messages, again.earlier) == (0, 3)


@pytest.mark.parametrize("is_error", [True, False])
def test_only_failed_results_are_failed(tmp_path, is_error):
    path, store = tmp_path / "s.jsonl", MemoryStore()
    asked = [HEADER, entry("a", None, "user", "Go."), entry("b", "a", "assistant", [call("t1")])]
    path.write_text(jsonl(*asked, entry("c", "b", "toolResult", [text("x")], **{**FAILED, "isError": is_error})))
    (done,) = import_file(path, store)
    (result,) = [each.body for each in store.open(done.conversation).read() if isinstance(each.body, ToolResult)]
    assert (result.failed, result.parts) == (is_error, (Text("x"),))


def test_what_pi_alone_takes_is_never_sent_and_counted_in_other_formats(tmp_path):
    path, store = tmp_path / "s.jsonl", MemoryStore()
    blocks = [{"type": "thinking", "thinking": "Hm.", "thinkingSignature": "secret"}, CALL]
    asked = [HEADER, entry("a", None, "user", "Go."), entry("b", "a", "assistant", blocks)]
    path.write_text(jsonl(*asked, entry("c", "b", "toolResult", [text("x")], **FAILED, details={"d": "secret"})))
    (done,) = import_file(path, store)
    with transom.Conversation.open(store, done.conversation, budget=20_000) as conv:
        conv.user("Go on.")
        assert "secret" not in json.dumps(conv.request())
    for name in ("openai", "anthropic", "responses", "langchain"):
        made = export(store.open(done.conversation), name)
        data = b"".join(made)
        assert b"secret" not in data
        assert any("only their own p" in note and ": 2" in note for note in made.report.notes), made.report.notes


def test_one_message_that_was_taken_back_is_told_of_in_the_singular(tmp_path):
    path = tmp_path / "s.jsonl"
    first, second = entry("a", None, "user", "One."), entry("b", None, "user", "Two.")
    for imported_before, said in (
        ([], "1 message was taken back by the user: stored, and never sent"),
        ([first], "1 message was taken back after it had been imported: it is still sent"),
    ):
        store, remarks = MemoryStore(), ()
        for lines in filter(None, (imported_before, [first, second])):
            path.write_text(jsonl(HEADER, *lines))
            remarks = next(iter(import_file(path, store))).remarks
        assert said in remarks
