"""LangChain, pydantic-ai and the OpenAI Agents SDK read what we export, and we read what they dump."""

from __future__ import annotations

import asyncio
import io
import json

import pytest
from agents import SQLiteSession
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from transom.core.message import Assistant, ToolResult
from transom.errors import InvalidMessage
from transom.exporters import export
from transom.importers import import_file, read
from transom.stores import MemoryStore

PICTURE = "data:image/png;base64,QUJD"
CHAT = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "Count."}, {"type": "image_url", "image_url": {"url": PICTURE}}],
    },
    {
        "role": "assistant",
        "content": "I look.",
        "reasoning_content": "Hm.",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path":"."}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a b"},
    {"role": "assistant", "content": "Two."},
]


def stored(value, format_name=None):
    """The log that a JSON value was imported into."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    store = MemoryStore()
    [done] = import_file(io.BytesIO(data), store, format=format_name, clock=lambda: 1_764_000_000.0)
    return store.open(done.conversation)


def exported(value, format_name):
    log = stored(value)
    return json.loads(b"".join(export(log, format_name)))


def chat_of(data, format_name):
    """The chat messages that we read from a dump."""
    [found] = read(io.BytesIO(data))
    assert found.format == format_name
    return found.messages


def test_langchain_reads_our_export():
    human = [{"type": "text", "text": "Count."}, {"type": "image_url", "image_url": {"url": PICTURE}}]
    call = {"name": "ls", "args": {"path": "."}, "id": "c1", "type": "tool_call"}
    assert messages_from_dict(exported(CHAT, "langchain")) == [
        SystemMessage("Be brief."),
        HumanMessage(human),
        AIMessage("I look.", tool_calls=[call], additional_kwargs={"reasoning_content": "Hm."}),
        ToolMessage("a b", tool_call_id="c1"),
        AIMessage("Two."),
    ]


def test_we_read_what_langchain_dumps():
    dumped = messages_to_dict(messages_from_dict(exported(CHAT, "langchain")))
    assert chat_of(json.dumps(dumped).encode(), "langchain") == [
        {
            **message,
            "tool_calls": [{**message["tool_calls"][0], "function": {"name": "ls", "arguments": '{"path": "."}'}}],
        }
        if "tool_calls" in message
        else message
        for message in CHAT
    ]


def test_pydantic_ai_reads_our_export():
    found = ModelMessagesTypeAdapter.validate_python(exported(CHAT, "pydantic_ai"))
    assert [[type(part).__name__ for part in message.parts] for message in found] == [
        ["SystemPromptPart", "UserPromptPart"],
        ["ThinkingPart", "TextPart", "ToolCallPart"],
        ["ToolReturnPart"],
        ["TextPart"],
    ]
    assert (found[1].parts[2].args_as_dict(), found[2].parts[0].tool_name) == ({"path": "."}, "ls")
    words, picture = found[0].parts[1].content
    assert (words, picture.data, picture.media_type) == ("Count.", b"ABC", "image/png")


HISTORY = [
    ModelRequest(
        [SystemPromptPart("Be brief."), UserPromptPart(["Count.", ImageUrl("https://x.example/a.png")])],
        instructions="Count well.",
    ),
    ModelResponse([ThinkingPart("Hm."), TextPart("I look."), ToolCallPart("ls", {"path": "."}, "c1")]),
    ModelRequest(
        [ToolReturnPart("ls", {"files": 2}, "c1"), RetryFeedbackPart("Shorter.", retry=RetryInfo(cause="no_output"))]
    ),
    ModelResponse([TextPart("Two."), ToolCallPart("ls", '{"path":"b"}', "c2")]),
    ModelRequest([ToolReturnPart("ls", "No such folder.", "c2", outcome="retried")]),
    ModelRequest([UserPromptPart([BinaryContent(data=b"A\xffB", media_type="image/png")])]),
]


def test_we_read_what_pydantic_ai_dumps():
    def call(label, args):
        return [{"id": label, "type": "function", "function": {"name": "ls", "arguments": args}}]

    def picture(url):
        return {"type": "image_url", "image_url": {"url": url}}

    data = ModelMessagesTypeAdapter.dump_json(HISTORY)
    turn = {"role": "assistant", "content": "I look.", "reasoning_content": "Hm."}
    assert chat_of(data, "pydantic_ai") == [
        {"role": "system", "content": "Count well."},
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Count."}, picture("https://x.example/a.png")]},
        {**turn, "tool_calls": call("c1", '{"path":"."}')},
        {"role": "tool", "tool_call_id": "c1", "content": '{"files":2}'},
        {"role": "user", "content": "Shorter."},
        {"role": "assistant", "content": "Two.", "tool_calls": call("c2", '{"path":"b"}')},
        {"role": "tool", "tool_call_id": "c2", "content": "No such folder."},
        {"role": "user", "content": [picture("data:image/png;base64,Qf9C")]},
    ]
    again = b"".join(export(stored(data)))
    assert chat_of(again, "pydantic_ai") == chat_of(data, "pydantic_ai")
    assert ModelMessagesTypeAdapter.validate_json(again)


def test_pydantic_ai_gets_back_the_images_of_results():
    image = BinaryContent(data=b"A\xffB", media_type="image/png")
    call, result = ToolCallPart("ls", "{}", "c1"), ToolReturnPart("ls", ["A chart.", image], "c1")
    data = ModelMessagesTypeAdapter.dump_json(
        [ModelRequest([UserPromptPart("Count.")]), ModelResponse([call]), ModelRequest([result])]
    )
    again = ModelMessagesTypeAdapter.validate_json(b"".join(export(stored(data))))
    said, shown = again[-1].parts[0].content
    assert (said, shown.data, shown.media_type) == ("A chart.", image.data, image.media_type)


def test_sessions_of_the_agents_sdk():
    """Our items are those of its session, and what the session gives back is imported."""
    items = exported(CHAT, "openai_agents")
    TypeAdapter(list[ResponseInputItemParam]).validate_python(items)

    async def kept():
        session = SQLiteSession("s")
        await session.add_items(items)
        try:
            return await session.get_items()
        finally:
            session.close()

    found = asyncio.run(kept())
    assert found == items
    log = stored(found, "openai_agents")
    assert json.loads(b"".join(export(log))) == found
    chat = json.loads(b"".join(export(log, "openai")))["messages"]
    assert [message["role"] for message in chat] == ["system", "user", "assistant", "tool", "assistant"]
    assert chat[2]["tool_calls"] == CHAT[2]["tool_calls"]


BODIES = ["openai", "responses", "anthropic", "gemini", "claude_code", "codex", "pi"]


@pytest.mark.parametrize("format_name", BODIES)
def test_what_is_exported_is_read_again_and_comes_out_the_same(format_name):
    data = b"".join(export(stored(CHAT), format_name))
    [found] = read(io.BytesIO(data), format_name)
    [again] = read(io.BytesIO(b"".join(export(stored(data, format_name)))), format_name)
    assert again.facts() == found.facts()
    calls = [call.name for _, fact in found.facts()[1] if isinstance(fact, Assistant) for call in fact.calls]
    assert calls == [CHAT[2]["tool_calls"][0]["function"]["name"]]
    head, placed = found.facts()
    assert len([*head, *placed]) == len(CHAT) - (format_name in {"claude_code", "pi"})


@pytest.mark.parametrize(
    "part", [{"type": "image", "image": "https://x/y.png"}, {"type": "file", "data": "https://x/y"}]
)
def test_a_file_in_a_message_of_the_ai_sdk_is_no_sign_of_an_api(tmp_path, part):
    """It was taken for Anthropic's image, or OpenAI's file, and the list was refused for its calls."""
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "look", "input": {}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Look."}, {**part, "mediaType": "image/png"}]},
        {"role": "assistant", "content": [call]},
    ]
    for layout in (messages, messages[:1]):
        (tmp_path / "chat.json").write_text(json.dumps(layout))
        (record,) = read(tmp_path / "chat.json")
        kinds = [type(each).__name__ for each in record.facts()[1][0][1].parts]
        assert (record.format, kinds) == ("ai_sdk", ["Text", "Media"])


@pytest.mark.parametrize("is_repeated", [True, False])
def test_the_system_message_of_a_history_of_semantic_kernel(tmp_path, is_repeated):
    said = [{"content_type": "message", "role": "user", "items": [{"content_type": "text", "text": "Hi."}]}]
    ahead = [{"content_type": "message", "role": "system", "items": [{"content_type": "text", "text": "Be brief."}]}]
    history = {"messages": [*(ahead if is_repeated else ()), *said], "system_message": "Be brief."}
    (tmp_path / "chat.json").write_text(json.dumps(history))
    (record,) = read(tmp_path / "chat.json")
    head, facts = record.facts()
    assert ([each.parts[0].text for each in head], len(facts)) == (["Be brief."], 1)


def test_an_id_may_be_a_whole_number(tmp_path):
    (tmp_path / "chats.jsonl").write_text('{"id": 17, "messages": [{"role": "user", "content": "Hi."}]}\n')
    assert [record.id for record in read(tmp_path / "chats.jsonl")] == ["17"]


def test_the_approval_of_a_call_is_no_call_and_no_result(tmp_path):
    asked = {"type": "tool-call", "toolCallId": "c", "toolName": "pay", "input": {}}
    messages = [
        {"role": "user", "content": "Pay."},
        {
            "role": "assistant",
            "content": [asked, {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c"}],
        },
        {"role": "tool", "content": [{"type": "tool-approval-response", "approvalId": "a", "approved": True}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "pay", "output": "Paid."}]},
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(messages))
    [record] = read(path)
    facts = [fact for _, fact in record.facts()[1]]
    assert [call.name for fact in facts for call in getattr(fact, "calls", ())] == ["pay"]
    assert [fact.parts[0].text for fact in facts if isinstance(fact, ToolResult)] == ["Paid."]


def test_messages_of_microsoft_extensions_ai_are_not_taken_for_gemini(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"role": "user", "contents": [{"$type": "text", "text": "Hi."}]}]))
    with pytest.raises(InvalidMessage, match="texts under the key 'contents'"):
        list(read(path))
