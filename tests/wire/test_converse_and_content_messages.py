"""The messages of Strands, the Agent Development Kit and agent-framework come back from a window as they went in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from google.genai import types

from transom import InvalidMessage
from transom.conversation.conversation import Conversation
from transom.core.message import Assistant, Text, ToolResult, Usage, User
from transom.texts import left_out_marker
from transom.wire.frameworks import FORMATS
from transom.wire.frameworks.framework_format import sources_of

CONVERSE: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [
            {"text": "Count."},
            {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}},
            {"document": {"format": "pdf", "name": "list", "source": {"bytes": b"%PDF"}}},
            {"cachePoint": {"type": "default"}},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "two files", "signature": "s1g"}}},
            {"reasoningContent": {"redactedContent": b"hidden"}},
            {"text": "I look."},
            {"toolUse": {"toolUseId": "a", "name": "read", "input": {"n": 1}, "reasoningSignature": "z"}},
            {"toolUse": {"toolUseId": "b", "name": "read", "input": {}}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "a", "status": "success", "content": [{"text": "one"}, {"text": "two"}]}},
            {"toolResult": {"toolUseId": "b", "status": "error", "content": [{"text": "no such file"}]}},
        ],
    },
    {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "so"}}}, {"text": "Two."}]},
    {"role": "user", "content": [{"text": "Sure?"}]},
]


def written(name: str, messages: list[Any]) -> list[Any]:
    form = FORMATS[name]
    pieces = form.read(messages)
    conversation = Conversation.open("memory:", "trip", dialect=form.dialect, budget=100_000)
    conversation.extend([piece.fact for piece in pieces])
    view = conversation.plan_request().view
    return form.write(view, sources_of(view, pieces))


def test_messages_of_strands_come_back_as_they_were() -> None:
    assert written("strands", CONVERSE) == CONVERSE


def test_the_facts_of_strands() -> None:
    facts = [piece.fact for piece in FORMATS["strands"].read(CONVERSE)]
    assert [type(fact) for fact in facts] == [User, Assistant, ToolResult, ToolResult, Assistant, User]
    turn, good, bad = facts[1:4]
    assert isinstance(turn, Assistant)
    assert [(call.id, call.name, call.args) for call in turn.calls] == [("a", "read", '{"n":1}'), ("b", "read", "{}")]
    assert (turn.reasoning[0].text, turn.reasoning[0].bound) == ("two files", True)
    assert (good.failed, bad.failed) == (False, True)  # type: ignore[union-attr]


def test_a_json_result_of_strands_is_shown_as_its_text() -> None:
    made = [
        *CONVERSE[:2],
        {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"json": {"n": 1}}]}}]},
    ]
    shown = written("strands", made)[2]["content"][0]["toolResult"]
    assert shown == {"toolUseId": "a", "status": "success", "content": [{"text": '{"n": 1}'}]}


def test_a_window_of_another_provider_is_written_for_strands() -> None:
    pdf, picture = "data:application/pdf;base64,JVBERg==", "data:image/png;base64,iVBORw=="
    content = [
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "image_url", "image_url": {"url": picture}},
        {"type": "image_url", "image_url": {"url": f"{picture[:-3]}"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": pdf}},
    ]
    conversation = Conversation.from_messages([{"role": "user", "content": content}], budget=100_000)
    (message,) = FORMATS["strands"].write(conversation.view, {})
    assert message["content"] == [
        {"text": left_out_marker("image")},
        {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}},
        {"text": left_out_marker("image")},
        {"document": {"format": "pdf", "name": "document", "source": {"bytes": b"%PDF"}}},
    ]


def test_documents_of_another_provider_get_names_of_their_own_for_strands_and_a_text() -> None:
    pdf = {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERg=="}}
    native = {"document": {"format": "pdf", "name": "Document 2", "source": {"bytes": b"%PDF"}}}
    conversation = Conversation.from_messages(
        [
            {"role": "user", "content": [pdf, {"type": "text", "text": "Compare these."}, pdf]},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": [pdf]},
        ],
        budget=100_000,
    )
    (piece,) = FORMATS["strands"].read([{"role": "user", "content": [{"text": "And this."}, native]}])
    conversation.append(Assistant(parts=(Text("Done."),)))
    conversation.append(piece.fact)
    first, _, second, _, third = FORMATS["strands"].write(conversation.view, {})
    assert [block["document"]["name"] for block in first["content"][::2]] == ["document", "document 3"]
    assert second["content"][0] == {"text": left_out_marker("text")}
    assert second["content"][1]["document"]["name"] == "document 4"
    assert third["content"] == [{"text": "And this."}, native]


def test_a_call_of_strands_without_an_id_is_read() -> None:
    (piece,) = FORMATS["strands"].read([{"role": "assistant", "content": [{"toolUse": {"name": "read"}}]}])
    assert isinstance(piece.fact, Assistant)
    assert [(call.id, call.name, call.args) for call in piece.fact.calls] == [("", "read", "")]
    (piece,) = FORMATS["strands"].read([{"role": "user", "content": [{"toolResult": {"content": [{"text": "x"}]}}]}])
    assert isinstance(piece.fact, ToolResult)
    assert piece.fact.call == ""


def test_a_reply_of_strands_has_its_usage() -> None:
    usage = {"inputTokens": 10, "outputTokens": 3, "totalTokens": 13, "cacheReadInputTokens": 90}
    turn = FORMATS["strands"].read_reply(
        {"role": "assistant", "content": [{"text": "hi"}], "metadata": {"usage": usage}}
    )
    assert (turn.parts, turn.usage) == ((Text("hi"),), Usage(prompt=100, cached=90, output=3))


def test_contents_of_the_adk_come_back_as_they_were() -> None:
    part = types.Part
    contents = [
        types.Content(
            role="user", parts=[part(text="Count."), part.from_bytes(data=b"\x89PNG", mime_type="image/png")]
        ),
        types.Content(
            role="model",
            parts=[
                part(text="two files", thought=True, thought_signature=b"\xff\x01"),
                part(function_call=types.FunctionCall(name="read", args={"n": 1, "empty": None})),
                part(function_call=types.FunctionCall(name="read", args={"n": 2})),
            ],
        ),
        types.Content(
            role="user",
            parts=[
                part(function_response=types.FunctionResponse(name="read", response={"result": "one"})),
                part(function_response=types.FunctionResponse(name="read", response={"result": "two"})),
            ],
        ),
        types.Content(role="model", parts=[part(text="Two.")]),
        types.Content(role="user", parts=[part(text="Sure?")]),
    ]
    assert written("google_adk", contents) == contents


def test_messages_of_agent_framework_come_back_as_the_same_objects() -> None:
    package = pytest.importorskip("agent_framework", reason="`make frameworks` has it")
    content, message = package.Content, package.Message
    messages = [
        message("user", ["Count.", content.from_uri("https://a.example/b.png", media_type="image/png")]),
        message(
            "assistant",
            [
                content.from_text_reasoning(text="two files", protected_data="s1g"),
                content.from_function_call("a", "read", arguments={"n": 1}),
                content.from_function_call("b", "read", arguments='{"n": 2}'),
            ],
        ),
        message(
            "tool", [content.from_function_result("a", result="one"), content.from_function_result("b", result="two")]
        ),
        message("assistant", ["Two."]),
        message("user", ["Sure?"]),
    ]
    assert [id(each) for each in written("agent_framework", messages)] == [id(each) for each in messages]


@pytest.mark.parametrize("text", ["So.", ""], ids=["signed", "encrypted"])
def test_signed_reasoning_of_agent_framework_is_bound(text: str) -> None:
    package = pytest.importorskip("agent_framework", reason="`make frameworks` has it")
    thought = package.Content.from_text_reasoning(text=text, protected_data="s1g")
    (piece,) = FORMATS["agent_framework"].read(
        [package.Message("assistant", [thought, package.Content.from_text("Two.")])]
    )
    assert isinstance(piece.fact, Assistant)
    assert [(part.text, part.bound) for part in piece.fact.reasoning] == [(text or "s1g", True)]


def test_a_reply_has_no_ids_that_the_development_kit_has_made() -> None:
    made, given = (types.FunctionCall(id=each, name="read", args={}) for each in ("adk-1f", "call_7"))
    content = types.Content(role="model", parts=[types.Part(function_call=each) for each in (made, given)])
    turn = FORMATS["google_adk"].read_reply(SimpleNamespace(content=content, usage_metadata=None))
    assert [call.id for call in turn.calls] == ["", "call_7"]


@pytest.mark.parametrize("name", ["strands", "google_adk", "agent_framework"])
def test_anything_else_is_refused(name: str) -> None:
    with pytest.raises(InvalidMessage):
        FORMATS[name].read([7])
