"""Files of libraries and programs: each sample tells one conversation, in the format that its folder is named for."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from transom.core.message import Assistant, Fact, Text, ToolResult
from transom.errors import InvalidMessage, InvalidSetting
from transom.exporters import export
from transom.importers import FORMATS, import_file, read
from transom.stores import MemoryStore

FOLDER = Path(__file__).parent / "samples" / "formats"
SAMPLES = sorted(path.relative_to(FOLDER) for path in FOLDER.rglob("*.*"))
SAID = [
    ("User", "List the files of the parser.", []),
    ("Assistant", "", [("list_files", {"path": "src"})]),
    ("ToolResult", "lexer.py\nparser.py", []),
    ("Assistant", "Two files: lexer.py and parser.py.", []),
]
BACK = "of branches that were taken back"
TAKEN_BACK = {
    "chatgpt/edited.json": f"left out 2 messages {BACK}",
    "claude_ai/answered_again.json": f"left out 1 message {BACK}",
    "gemini_cli/rewound.jsonl": "left out 1 text with 16 characters, under content",
}


def said(facts: list[Fact]) -> list[tuple[str, str, list[tuple[str, object]]]]:
    """What facts say, without ids."""
    out = []
    for fact in facts:
        calls = [(call.name, json.loads(call.args)) for call in fact.calls] if isinstance(fact, Assistant) else []
        text = "\n".join(part.text for part in fact.parts if isinstance(part, Text))
        out.append((type(fact).__name__, text, calls))
    return out


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_every_sample_tells_the_conversation(sample):
    skipped: list[str] = []
    [found] = read(FOLDER / sample, on_skip=skipped.append)
    facts = [fact for _, fact in found.facts()[1]]
    assert said(facts) == SAID
    [turn, answer] = [fact for fact in facts if isinstance(fact, Assistant | ToolResult)][:2]
    assert isinstance(turn, Assistant)
    assert isinstance(answer, ToolResult)
    assert (answer.call, found.format) == (turn.calls[0].id, sample.parts[0])
    back = TAKEN_BACK.get(str(sample))
    assert [line.split(": ")[-1] for line in skipped] == ([back] if back else [])


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_the_content_decides_not_the_name(sample, tmp_path):
    path = tmp_path / "any"
    path.write_bytes((FOLDER / sample).read_bytes())
    [found] = read(path, on_skip=lambda _: None)
    assert (said([fact for _, fact in found.facts()[1]]), found.format) == (SAID, sample.parts[0])


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_sample_is_imported_once_and_exported_with_the_same_messages(sample):
    store = MemoryStore()
    [done] = import_file(FOLDER / sample, store)
    assert (done.messages, done.format) == (4, sample.parts[0])
    [again] = import_file(FOLDER / sample, store)
    assert (again.messages, again.earlier, again.conversation) == (0, 4, done.conversation)
    log = store.open(done.conversation)
    assert said([entry.body for entry in log.read() if isinstance(entry.body, Fact)]) == SAID
    if FORMATS[done.format].written:
        [own] = read(io.BytesIO(b"".join(export(log))), done.format)
        assert own.facts() == next(read(FOLDER / sample)).facts()
    else:
        with pytest.raises(InvalidSetting, match="this format is read and not written; name another --format"):
            export(log)
    chat = b"".join(export(log, "openai"))
    [found] = read(io.BytesIO(chat))
    assert said([fact for _, fact in found.facts()[1]]) == SAID


@pytest.mark.parametrize("sample", [each for each in SAMPLES if each.suffix != ".eval"], ids=str)
def test_the_name_of_the_format_reads_it_and_another_name_does_not(sample):
    name = sample.parts[0]
    [found] = read(FOLDER / sample, name, on_skip=lambda _: None)
    assert said([fact for _, fact in found.facts()[1]]) == SAID
    if FORMATS[name].written:
        return
    with pytest.raises(InvalidMessage, match=r"this is no LangChain messages|messages must be|no conversation is"):
        list(read(FOLDER / sample, "langchain"))


def test_every_format_has_samples_or_is_written():
    named = {sample.parts[0] for sample in SAMPLES}
    assert [name for name, each in FORMATS.items() if not each.written and name not in named] == []


def test_a_format_that_is_read_only_is_not_written():
    store = MemoryStore()
    [done] = import_file(FOLDER / "sharegpt" / "bare.json", store)
    with pytest.raises(InvalidSetting, match="Haystack messages: this format is read and not written; name another"):
        export(store.open(done.conversation), "haystack")


def test_events_and_sessions_beside_a_conversation_make_it_no_session(tmp_path):
    sample = json.loads((FOLDER / "inspect" / "sample.json").read_text())
    sample["events"] = [{"event": "step", "action": "begin", "type": "solver", "name": "plan", "uuid": "e1"}]
    (tmp_path / "a.json").write_text(json.dumps(sample))
    [generation] = (FOLDER / "langfuse" / "export.jsonl").read_text().splitlines()
    (tmp_path / "b.jsonl").write_text(json.dumps({**json.loads(generation), "sessionId": "s1"}) + "\n")
    assert [one.format for one in read(tmp_path)] == ["inspect", "langfuse"]


REPLIES = {
    "responses": {
        "id": "resp_1",
        "object": "response",
        "instructions": "Be brief.",
        "input": "Go.",
        "output": [
            {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}
        ],
    },
    "openai": {
        "id": "c",
        "object": "chat.completion",
        "choices": [{"message": {"role": "assistant", "content": "Yes."}}],
    },
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [{"type": "text", "text": "Yes."}, {"type": "tool_use", "id": "t", "name": "ls", "input": {}}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]}}], "modelVersion": "gemini-x"},
}


@pytest.mark.parametrize("api", REPLIES)
@pytest.mark.parametrize("layout", ["document", "lines"])
def test_a_reply_alone_is_read_with_what_it_repeats_of_the_request(tmp_path, api, layout):
    path = tmp_path / ("a.json" if layout == "document" else "a.jsonl")
    path.write_text(json.dumps(REPLIES[api]) + "\n")
    skipped: list[str] = []
    [found] = read(path, on_skip=skipped.append)
    facts = [fact for _, fact in found.facts()[1]]
    turns = ["User", "Assistant"] if api == "responses" else ["Assistant"]
    assert (found.format, [type(fact).__name__ for fact in facts], skipped) == (api, turns, [])
    assert said(facts)[-1][1] == "Yes."
    assert found.system == ("Be brief." if api == "responses" else None)


def test_a_further_choice_of_a_reply_is_reported(tmp_path):
    choices = [
        {"index": n, "message": {"role": "assistant", "content": words}} for n, words in enumerate(["Yes.", "No!"])
    ]
    (tmp_path / "a.json").write_text(json.dumps({"object": "chat.completion", "choices": choices}))
    skipped: list[str] = []
    assert [one.messages for one in read(tmp_path / "a.json", on_skip=skipped.append)] == [[choices[0]["message"]]]
    assert skipped == [f"{tmp_path}/a.json: left out 1 text with 3 characters, under content"]


@pytest.mark.parametrize("api", REPLIES)
def test_a_response_beside_the_messages_of_its_request_is_read(tmp_path, api):
    asked = {"contents": [{"role": "user", "parts": [{"text": "Hi."}]}]} if api == "gemini" else {}
    asked = asked or {"messages": [{"role": "user", "content": "Hi."}], "tools": []}
    (tmp_path / "a.json").write_text(json.dumps({"id": "c1", **asked, "response": REPLIES[api]}))
    [found] = read(tmp_path / "a.json")
    assert found.id == "c1"
    assert [line[1] for line in said([fact for _, fact in found.facts()[1]])] == ["Hi.", "Yes."]


def test_messages_with_a_response_that_says_nothing_are_read_alone(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"messages": [{"role": "user", "content": "Hi."}], "response": None}))
    [found] = read(tmp_path / "a.json")
    assert found.messages == [{"role": "user", "content": "Hi."}]


ASKED = {"role": "user", "content": "Hi."}
ANSWERED = {"role": "assistant", "content": "Yes."}


def attribute(key: str, role: str, said: str) -> dict:
    listed = [{"role": role, "parts": [{"type": "text", "content": said}]}]
    return {"key": f"gen_ai.{key}.messages", "value": {"stringValue": json.dumps(listed)}}


SPAN = {"spanId": "s1", "attributes": [attribute("input", "user", "Hi."), attribute("output", "assistant", "Yes.")]}
HELD = {
    "a row of a data set": {"input": [ASKED], "output": "Yes.", "expected": None},
    "a batch of Anthropic": {
        "custom_id": "a",
        "params": {"model": "m", "max_tokens": 9, "messages": [ASKED, ANSWERED]},
    },
    "what an exporter of OpenTelemetry writes": {
        "resourceSpans": [{"scopeSpans": [{"spans": [{"name": "http", "attributes": []}, SPAN]}]}]
    },
    "a session of Google ADK": {
        "id": "s",
        "appName": "a",
        "events": [
            {"author": "user", "content": {"role": "user", "parts": [{"text": "Hi."}]}},
            {"author": "system", "actions": {"stateDelta": {"step": 1}}},
            {"author": "agent", "content": {"role": "model", "parts": [{"text": "Yes."}]}},
        ],
    },
}


@pytest.mark.parametrize("title", HELD)
def test_a_conversation_within_other_things_is_read(tmp_path, title):
    (tmp_path / "a.json").write_text(json.dumps(HELD[title]))
    skipped: list[str] = []
    [found] = read(tmp_path / "a.json", on_skip=skipped.append)
    assert [line[1] for line in said([fact for _, fact in found.facts()[1]])] == ["Hi.", "Yes."]
    assert skipped == []
