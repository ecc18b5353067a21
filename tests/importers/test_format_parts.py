"""Parts that not every conversation has, in the formats of libraries: thoughts, images, failures, parallel calls."""

from __future__ import annotations

import json

import pytest

from transom.core.message import Assistant, Media, Text, ToolResult, User
from transom.importers import read

PNG = "data:image/png;base64,aGk="
ASK = {"role": "user", "content": "Go."}


@pytest.fixture
def facts(tmp_path):
    """`facts(value)`: the facts of the one conversation in a JSON value, and what was left out."""

    def facts(value):
        (tmp_path / "a.json").write_text(json.dumps(value))
        skipped: list[str] = []
        [found] = read(tmp_path / "a.json", on_skip=skipped.append)
        head, placed = found.facts()
        return [*head, *(fact for _, fact in placed)], [line.split(": ", 1)[1] for line in skipped]

    return facts


def t(words):
    return {"type": "text", "text": words}


def ui(*parts):
    """Two messages of the Vercel AI SDK."""
    return [{"id": "m0", "role": "user", "parts": [t("Go.")]}, {"id": "m1", "role": "assistant", "parts": list(parts)}]


def chat(*messages):
    """A chat of Gemini CLI."""
    own = [{"id": str(number), "timestamp": "t", **each} for number, each in enumerate(messages)]
    return {"sessionId": "s", "projectHash": "p", "messages": own}


def blocks(role, *listed):
    """A message of LlamaIndex."""
    return {"role": role, "additional_kwargs": {}, "blocks": [{"block_type": kind, **more} for kind, more in listed]}


def node(parent, role, **content):
    """A node of an export of ChatGPT."""
    return {"parent": parent, "message": {"author": {"role": role}, "content": content}}


def said(source, words, **more):
    """A message of OpenHands."""
    return {"kind": "MessageEvent", "source": source, "llm_message": {"content": [t(words)], **more}}


def action(label="c", **more):
    """A call of OpenHands."""
    own = {"thought": [], "tool_name": "t", "tool_call_id": label, "action": {}}
    return {"kind": "ActionEvent", "source": "agent", **own, **more}


def seen(kind, label="c", **more):
    """A result of OpenHands."""
    return {"kind": kind, "source": "environment", "tool_name": "t", "tool_call_id": label, **more}


REASONS = {"type": "reasoning", "text": "Hm."}
THOUGHTS = {
    "ai_sdk ui": ui(REASONS, t("Yes.")),
    "ai_sdk model": [
        ASK,
        {"role": "assistant", "content": [REASONS, t("Yes.")]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "t", "result": "x"}]},
    ],
    "llama_index": [
        blocks("user", ("text", {"text": "Go."})),
        blocks("assistant", ("thinking", {"content": "Hm."}), ("text", {"text": "Yes."})),
    ],
    "bedrock": [
        {"role": "user", "content": [{"text": "Go."}]},
        {
            "role": "assistant",
            "content": [{"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}}, {"text": "Yes."}],
        },
    ],
    "gemini_cli": chat(
        {"type": "user", "content": "Go."},
        {"type": "gemini", "content": "Yes.", "thoughts": [{"subject": "Hm.", "description": ""}]},
    ),
    "inspect": [ASK, {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "Hm."}, t("Yes.")]}],
    "claude_ai": {
        "chat_messages": [
            {"uuid": "1", "sender": "human", "text": "Go."},
            {"uuid": "2", "sender": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, t("Yes.")]},
        ]
    },
    "atif": {
        "schema_version": "ATIF-v1.5",
        "steps": [
            {"step_id": 1, "source": "user", "message": "Go."},
            {"step_id": 2, "source": "agent", "message": "Yes.", "reasoning_content": "Hm."},
        ],
    },
    "openhands": [said("user", "Go."), said("agent", "Yes.", role="assistant", reasoning_content="Hm.")],
    "chatgpt": {
        "mapping": {
            "u": node(None, "user", content_type="text", parts=["Go."]),
            "t": node("u", "assistant", content_type="thoughts", thoughts=[{"summary": "Hm.", "content": ""}]),
            "a": node("t", "assistant", content_type="text", parts=["Yes."]),
        },
        "current_node": "a",
    },
}


@pytest.mark.parametrize("name", THOUGHTS)
def test_thoughts_of_the_model_are_its_reasoning(facts, name):
    found, skipped = facts(THOUGHTS[name])
    turns = [fact for fact in found if isinstance(fact, Assistant)]
    assert [thought.text for turn in turns for thought in turn.reasoning] == ["Hm."]
    assert [part.text for turn in turns for part in turn.parts if isinstance(part, Text)] == ["Yes."]
    assert skipped == []


KERNEL = {"content_type": "image", "data_uri": PNG, "mime_type": "image/png"}
SEE = {"content": "See.", "image_urls": [PNG]}
SAMPLE = {"id": "1", "messages": [{"role": "user", "content": [{"type": "image", "image": PNG}]}]}
IMAGES = {
    "ai_sdk": [{"id": "m", "role": "user", "parts": [{"type": "file", "mediaType": "image/png", "url": PNG}]}],
    "llama_index": [blocks("user", ("image", {"image": "aGk=", "image_mimetype": "image/png"}))],
    "semantic_kernel": [{"content_type": "message", "role": "user", "items": [KERNEL]}],
    "bedrock": [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": "aGk="}}}]}],
    "inspect": {"eval": {}, "samples": [SAMPLE]},
    "gemini_cli": chat({"type": "user", "content": [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}]}),
    "openhands": [{"id": 0, "source": "user", "timestamp": "t", "action": "message", "args": SEE}],
}


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_is_an_image(facts, name):
    found, skipped = facts(IMAGES[name])
    [media] = [part for fact in found for part in fact.parts if isinstance(part, Media)]
    assert media.raw == {"type": "image_url", "image_url": {"url": PNG}}
    assert skipped == []


ERROR = {"toolCallId": "c", "state": "output-error", "input": {}, "errorText": "no disk"}
DENIED = {"toolCallId": "c", "state": "output-denied", "input": {}, "approval": {"id": "a", "reason": "no disk"}}
RESULT = {"type": "tool-result", "toolCallId": "c", "toolName": "t"}
FAILED = {
    "ai_sdk error": ui({"type": "tool-t", **ERROR}),
    "ai_sdk dynamic": ui({"type": "dynamic-tool", "toolName": "t", **ERROR}),
    "ai_sdk denied": ui({"type": "tool-t", **DENIED}),
    "ai_sdk model": [
        ASK,
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c", "toolName": "t", "input": {}}]},
        {"role": "tool", "content": [{**RESULT, "output": {"type": "error-text", "value": "no disk"}}]},
    ],
    "inspect": [
        ASK,
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": "t", "arguments": {}}]},
        {"role": "tool", "content": "", "tool_call_id": "c", "error": {"type": "timeout", "message": "no disk"}},
    ],
    "openhands": [action(), seen("AgentErrorEvent", error="no disk")],
    "openhands rejected": [action(), seen("UserRejectObservation", rejection_reason="no disk")],
}


@pytest.mark.parametrize("name", FAILED)
def test_what_a_failed_call_said_is_its_result(facts, name):
    found, skipped = facts(FAILED[name])
    [turn] = [fact for fact in found if isinstance(fact, Assistant)]
    [result] = [fact for fact in found if isinstance(fact, ToolResult)]
    assert ([(call.id, call.name, call.args) for call in turn.calls], result.call) == ([("c", "t", "{}")], "c")
    assert (result.parts, result.failed, skipped) == ((Text("no disk"),), True, [])


def test_calls_of_one_reply_of_openhands_are_one_turn(facts):
    results = [seen("ObservationEvent", label, observation={"content": [t(f"of {label}")]}) for label in "ba"]
    found, _ = facts([action("a", llm_response_id="r"), action("b", llm_response_id="r"), *results])
    assert [type(fact) for fact in found] == [Assistant, ToolResult, ToolResult]
    assert [call.id for call in found[0].calls] == ["a", "b"]


def test_results_without_ids_answer_the_oldest_call_and_then_nobody(facts):
    turns = [
        {"from": "human", "value": "Go."},
        {"from": "function_call", "value": json.dumps([{"name": name, "arguments": {}} for name in "ab"])},
        {"from": "observation", "value": "first"},
        {"from": "observation", "value": "second"},
        {"from": "observation", "value": "nobody asked"},
    ]
    found, skipped = facts(turns)
    [turn] = [fact for fact in found if isinstance(fact, Assistant)]
    results = [(fact.call, fact.parts) for fact in found if isinstance(fact, ToolResult)]
    assert results == [(turn.calls[0].id, (Text("first"),)), (turn.calls[1].id, (Text("second"),))]
    assert (type(found[-1]), found[-1].parts, skipped) == (User, (Text("nobody asked"),), [])


def test_the_words_of_attached_files_are_the_users(facts):
    held = {"file_name": "a.txt", "file_type": "txt", "extracted_content": "one two"}
    beside = {"attachments": [held], "files": [{"file_name": "b.png"}]}
    found, skipped = facts({"chat_messages": [{"uuid": "1", "sender": "human", "text": "Read it.", **beside}]})
    assert [part.text for part in found[0].parts if isinstance(part, Text)] == ["a.txt", "one two", "b.png", "Read it."]
    assert skipped == []


def test_thoughts_without_an_answer_of_chatgpt_are_kept(facts):
    nodes = {
        "u": node(None, "user", content_type="text", parts=["Go."]),
        "t": node("u", "assistant", content_type="thoughts", thoughts=[{"summary": "Hm.", "content": ""}]),
        "v": node("t", "user", content_type="text", parts=["Well?"]),
        "w": node("v", "assistant", content_type="thoughts", thoughts=[{"summary": "So.", "content": ""}]),
    }
    found, skipped = facts({"mapping": nodes, "current_node": "w"})
    assert [thought.text for fact in found if isinstance(fact, Assistant) for thought in fact.reasoning] == [
        "Hm.",
        "So.",
    ]
    assert ([type(fact) for fact in found], skipped) == ([User, Assistant, User, Assistant], [])
