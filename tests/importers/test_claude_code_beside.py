"""What Claude Code writes beside the messages: its own replies, attachments, the queue of what the user typed."""

from __future__ import annotations

import json

import pytest
from sessions import assistant, call, jsonl, result, text, user

from transom.core.message import Fact
from transom.importers import import_file, read
from transom.stores import MemoryStore

ASKED = user("u1", None, "Move the parser.", version="2.0.70")
CALLING = assistant("a1", "u1", "m1", call("t1"))
ANSWERED = user("r1", "a1", [result("t1", "done")])
SAID = assistant("a2", "r1", "m2", text("Moved."))


def attachment(uuid, parent, **fields):
    return {"type": "attachment", "uuid": uuid, "parentUuid": parent, "sessionId": "s", "attachment": fields}


def queue(operation, content=None):
    line = {"type": "queue-operation", "operation": operation, "sessionId": "s"}
    return line if content is None else {**line, "content": content}


@pytest.fixture
def contents(tmp_path):
    """`contents(line, …)`: the contents of the messages, which of them are injected, and what was left out; an import
    stores the same facts."""

    def contents(*lines):
        path = tmp_path / "s.jsonl"
        path.write_text(jsonl(*lines))
        skipped = []
        [found] = read(path, on_skip=skipped.append)
        store, told = MemoryStore(), []
        [done] = import_file(path, store, on_skip=told.append)
        facts = [fact for _, fact in found.facts()[1]]
        entries = [entry for entry in store.open(done.conversation).read() if isinstance(entry.body, Fact)]
        stored = [entry.body for entry in entries if entry.meta is None or entry.meta.include_in_context]
        assert [fact.parts for fact in stored] == [fact.parts for fact in facts]
        assert told == list(done.skipped)
        assert [line for line in told if "typed" in line] == [
            line.replace(str(path), f"{path} line {len(lines)}") for line in skipped if "typed" in line
        ]
        return (
            [each["content"] for each in found.messages],
            found.injected,
            [line.split(": ", 1)[1] for line in skipped],
        )

    return contents


@pytest.mark.parametrize("words", ["No response requested.", "Prompt is too long", "Credit balance is too low"])
def test_a_reply_of_claude_code_itself_is_no_reply_of_the_model(contents, words):
    own = assistant("s1", "a2", "m3", text(words))
    own["message"]["model"] = "<synthetic>"
    more = user("u2", "s1", "Add a test.")
    said, injected, skipped = contents(ASKED, CALLING, ANSWERED, SAID, own, more)
    assert said == ["Move the parser.", [call("t1")], [result("t1", "done")], [text("Moved.")], "Add a test."]
    assert (injected, skipped) == (frozenset(), [])


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
ATTACHED = {
    "file": (
        {
            "filename": "/w/a.toml",
            "content": {"type": "text", "file": {"filePath": "/w/a.toml", "content": "n = 17\n"}},
        },
        [text("Attached file /w/a.toml:"), text("n = 17\n")],
    ),
    "edited_text_file": (
        {"filename": "/w/b.py", "snippet": "1\tx = 2"},
        [text("Attached edited text file /w/b.py:"), text("1\tx = 2")],
    ),
    "nested_memory": (
        {"path": "/w/CLAUDE.md", "content": {"path": "/w/CLAUDE.md", "type": "Project", "content": "Use tabs."}},
        [text("Attached nested memory /w/CLAUDE.md:"), text("Use tabs.")],
    ),
    "directory": ({"path": "/w", "content": "a\nb"}, [text("Attached directory /w:"), text("a\nb")]),
    "diagnostics": (
        {"files": [{"uri": "file:///w/a.ts", "diagnostics": [{"message": "no such name", "severity": "Error"}]}]},
        [text("Attached diagnostics:"), text("no such name")],
    ),
    "hook_additional_context": (
        {"content": ["Today is Friday.", "Tests run."], "hookName": "Start"},
        [text("Attached hook additional context:"), text("Today is Friday."), text("Tests run.")],
    ),
    "a_type_of_tomorrow": ({"content": "Words."}, [text("Attached a type of tomorrow:"), text("Words.")]),
}


@pytest.mark.parametrize("kind", ATTACHED)
def test_the_texts_of_an_attachment_are_kept_and_marked(contents, kind):
    fields, blocks = ATTACHED[kind]
    said, injected, skipped = contents(ASKED, attachment("t", "u1", type=kind, **fields), CALLING, ANSWERED, SAID)
    assert said == ["Move the parser.", blocks, [call("t1")], [result("t1", "done")], [text("Moved.")]]
    assert (injected, skipped) == (frozenset({1}), [])


def test_an_attached_image_is_an_image(contents):
    shown = {"type": "image", "file": {"base64": "aGk=", "type": "image/png", "originalSize": 2}}
    said, _, _ = contents(ASKED, attachment("t", "u1", type="file", filename="/w/a.png", content=shown), SAID)
    assert said[1] == [text("Attached file /w/a.png:"), IMAGE]


def test_an_attached_pdf_file_is_a_document(contents):
    shown = {"type": "pdf", "file": {"filePath": "/w/a.pdf", "base64": "JVBERi0xLjQK", "originalSize": 9}}
    said, _, _ = contents(ASKED, attachment("t", "u1", type="file", filename="/w/a.pdf", content=shown), SAID)
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}
    assert said[1] == [text("Attached file /w/a.pdf:"), {"type": "document", "source": source}]


def test_an_attached_notebook_has_its_cells(contents):
    drawn = {
        "output_type": "display_data",
        "text": "a plot",
        "image": {"image_data": "aGk=", "media_type": "image/png"},
    }
    cells = [{"cellType": "code", "cell_id": "c", "source": "x = 17", "outputs": [drawn]}]
    shown = {"type": "notebook", "file": {"filePath": "/w/a.ipynb", "cells": cells}}
    said, _, _ = contents(ASKED, attachment("t", "u1", type="file", filename="/w/a.ipynb", content=shown), SAID)
    assert said[1] == [text("Attached file /w/a.ipynb:"), text("x = 17"), text("a plot"), IMAGE]


@pytest.mark.parametrize("kind", ["hook_success", "command_permissions", "async_hook_response"])
def test_what_the_model_is_not_shown_is_no_message(contents, kind):
    said, _, _ = contents(ASKED, attachment("t", "u1", type=kind, content="ok", stdout="ok"), SAID)
    assert said == ["Move the parser.", [text("Moved.")]]


def test_a_prompt_with_a_file_is_taken_back_as_any_other(contents):
    held = {"filename": "/w/a", "content": "1"}
    asked = user("u0", None, "Hi."), assistant("a0", "u0", "m0", text("Hi.")), user("u1", "a0", "Move the parser.")
    again = user("u2", "a0", "Move the lexer.")
    said, _, skipped = contents(*asked, attachment("t", "u1", type="file", **held), CALLING, ANSWERED, again)
    assert said == ["Hi.", [text("Hi.")], "Move the lexer."]
    assert skipped == ["left out 4 messages of branches that were taken back"]


TYPED = "Keep the C API."


def test_what_the_queue_says_was_removed_is_said(contents):
    said, injected, skipped = contents(ASKED, CALLING, queue("enqueue", TYPED), ANSWERED, queue("remove", TYPED), SAID)
    assert said == ["Move the parser.", [call("t1")], [result("t1", "done")], TYPED, [text("Moved.")]]
    assert (injected, skipped) == (frozenset(), [])


def test_a_queued_message_with_an_image_is_said(contents):
    typed = [text(TYPED), IMAGE]
    said, _, _ = contents(ASKED, CALLING, queue("enqueue", typed), ANSWERED, queue("remove", typed), SAID)
    assert said[3] == typed


COPIES = {
    "attached before": [attachment("q", "r1", type="queued_command", prompt=TYPED), queue("remove", TYPED)],
    "attached behind": [queue("remove", TYPED), attachment("q", "r1", type="queued_command", prompt=TYPED)],
    "sent as a prompt": [queue("dequeue"), user("q", "r1", TYPED)],
    "sent with more": [queue("popAll", TYPED), user("q", "r1", TYPED)],
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("version", ["2.0.70", "2.1.119"])
def test_what_another_line_has_too_is_said_once(contents, how, version):
    lines = [queue("enqueue", TYPED), ANSWERED, *COPIES[how]]
    said, _, skipped = contents({**ASKED, "version": version}, CALLING, *lines, SAID)
    assert said == ["Move the parser.", [call("t1")], [result("t1", "done")], TYPED, [text("Moved.")]]
    assert skipped == []


LOST = (
    "left out 1 message that the user typed while the model worked (15 characters): "
    "taken back, dropped or not yet read at the end"
)


@pytest.mark.parametrize(
    ("version", "operations"),
    [
        ("2.1.119", [queue("remove", TYPED)]),
        ("2.1.97", [queue("remove", TYPED)]),
        ("2.0.70", [queue("popAll", TYPED)]),
        ("2.0.70", []),
    ],
)
def test_what_no_line_has_is_reported(contents, version, operations):
    lines = [queue("enqueue", TYPED), ANSWERED, *operations]
    said, _, [skipped] = contents({**ASKED, "version": version}, CALLING, *lines, SAID)
    assert said == ["Move the parser.", [call("t1")], [result("t1", "done")], [text("Moved.")]]
    assert skipped == LOST


@pytest.mark.parametrize("key", ["loglines", "data", "events"])
def test_a_session_of_claude_code_on_the_web(tmp_path, key):
    lines = [ASKED, CALLING, ANSWERED, SAID]
    if key == "loglines":  # without the keys of a local session
        lines = [{"type": one["type"], "timestamp": "2026-01-02T03:04:05Z", "message": one["message"]} for one in lines]
    (tmp_path / "web.json").write_text(json.dumps({key: lines, "has_more": False}))
    [found] = read(tmp_path / "web.json")
    assert (found.format, len(found.messages)) == ("claude_code", 4)
    [done] = import_file(tmp_path / "web.json", MemoryStore())
    assert (done.format, done.messages) == ("claude_code", 4)


def test_an_import_says_which_lines_hold_no_message(tmp_path):
    own = assistant("s1", "a2", "m3", text("No response requested."))
    own["message"]["model"] = "<synthetic>"
    beside = [{"type": "summary", "summary": "A parser", "leafUuid": "a2"}] * 2
    (tmp_path / "s.jsonl").write_text(jsonl(ASKED, CALLING, ANSWERED, SAID, own, *beside))
    [done] = import_file(tmp_path / "s.jsonl", MemoryStore())
    assert done.remarks == ("3 of 7 lines hold no message, and are not stored (summary 2, assistant 1)",)
