"""Arguments that nest too deep fail their call, and nothing else; the text of a reply that cannot be read is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from transom import AsyncConversation, Conversation, FunctionTool, ProviderError, Retry, RunStopped
from transom.cli.chat.session import ChatSession
from transom.cli.chat.tools import ChatTools
from transom.conversation.runs.own_tools import CONTEXT_MANAGER
from transom.core.message import Failure, ToolResult
from transom.providers.scripted import Reply, Scripted, ScriptedCall
from transom.readback import TOOLS

DIALECTS = ["openai", "responses", "anthropic", "gemini", "mistral"]
DEPTHS = [101, 1_000, 5_000]


def deep(depth: int) -> str:
    return f'{{"path": {"[" * depth}{"]" * depth}}}'


def read(path: Any) -> str:
    return "read"


def result_of(conv: Conversation) -> ToolResult:
    (found,) = (entry.body for entry in conv.log.read() if isinstance(entry.body, ToolResult))
    return found


@pytest.mark.parametrize("how", ["run", "stream", "async"])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("arguments", [*map(deep, DEPTHS), '{"path": NaN}', f'{{"path": {"9" * 5_000}}}'])
def test_the_call_fails_and_the_run_goes_on(arguments: str, dialect: str, how: str) -> None:
    conv = Conversation.open("memory:", "x", budget=100_000, dialect=dialect)
    provider = Scripted(Reply(calls=(ScriptedCall("read", arguments),)), "done", dialect=dialect)
    if how == "run":
        assert conv.run("go", provider=provider, tools=[read]).text == "done"
    elif how == "stream":
        assert list(conv.stream("go", provider=provider, tools=[read]))
    else:
        anyio.run(lambda: AsyncConversation(conv).run("go", provider=provider, tools=[read]))
    assert result_of(conv).failed
    assert provider.violations == []
    conv.user("And now?")
    conv.request()
    conv.compact()


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("dialect", ["anthropic", "gemini"])
@pytest.mark.parametrize(
    "given", [*map(nested, DEPTHS), float("nan"), 10**5_000, {1}], ids=["101", "1000", "5000", "nan", "number", "set"]
)
def test_a_tool_that_takes_any_arguments_is_not_called_with_a_text_of_ours(given: object, dialect: str) -> None:
    called: list[dict] = []

    def anything(**arguments: object) -> str:
        called.append(arguments)
        return "called"

    use = {"type": "tool_use", "id": "t", "name": "anything", "input": {"path": given}}
    call = {"functionCall": {"name": "anything", "args": {"path": given}}}
    replies = {
        "anthropic": {"type": "message", "role": "assistant", "content": [use], "stop_reason": "tool_use"},
        "gemini": {"candidates": [{"content": {"role": "model", "parts": [call]}, "finishReason": "STOP"}]},
    }
    tool = FunctionTool(anything, name="anything", description="Takes anything.", parameters={"type": "object"})
    conv = Conversation.open("memory:", "x", budget=100_000, dialect=dialect)
    with pytest.raises(RunStopped):  # it says the same again
        conv.run("go", provider=Malformed(dialect, replies[dialect], []), tools=[tool], max_steps=2)
    assert called == []
    assert {entry.body.failed for entry in conv.log.read() if isinstance(entry.body, ToolResult)} == {True}


@pytest.mark.parametrize("value", [["a"], 7, float("nan"), {"path": float("inf")}])
def test_a_reply_of_gemini_whose_arguments_are_no_object(value: object) -> None:
    conv = Conversation.open("memory:", "x", budget=100_000, dialect="gemini")
    conv.user("go")
    conv.request()
    parts = [{"text": SAID}, {"functionCall": {"name": "read", "args": value}}]
    conv.observe({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]})
    conv.tool_result("", "No.", failed=True)
    model = conv.request()["contents"][1]
    assert model["parts"][0]["text"] == SAID
    assert isinstance(model["parts"][1]["functionCall"]["args"]["arguments"], str)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_tools_of_the_run_itself(dialect: str) -> None:
    for name in ("transom_read", "transom_grep", CONTEXT_MANAGER.name):
        conv = Conversation.open("memory:", "x", budget=100_000, dialect=dialect)
        calls = (ScriptedCall(name, f'{{"ref": {"[" * 5_000}{"]" * 5_000}}}'),)
        provider = Scripted(Reply(calls=calls), "done", dialect=dialect)
        assert conv.run("go", provider=provider, tools=[*TOOLS, CONTEXT_MANAGER]).text == "done"


def test_a_chat(tmp_path: Path) -> None:
    conv = Conversation.open("memory:", "x", budget=100_000)
    tools = ChatTools(tmp_path)
    calls = tuple(ScriptedCall(name, deep(5_000)) for name in ("read", "write", "shell"))
    session = ChatSession(conv, Scripted(Reply(calls=calls), "done"), tools, tools.named("read,write,shell"), {})
    session.answer("go")
    assert not session.has_failed
    failed = [entry.body.failed for entry in conv.log.read() if isinstance(entry.body, ToolResult)]
    assert failed == [True, True, True]


class Malformed:
    """Sends the same replies again and again, which no dialect can read."""

    name = model = "m"

    def __init__(self, dialect: str, whole: dict, chunks: list[dict]) -> None:
        self.dialect, self._whole, self._chunks = dialect, whole, chunks

    def complete(self, *_: object, **__: object) -> dict:
        return self._whole

    def stream(self, *_: object, **__: object) -> Iterator[dict]:
        yield from self._chunks


SAID = "THE ANSWER IS 42."
TOOL_USE = {"type": "tool_use", "id": "t", "name": 5, "input": {}}
ANTHROPIC = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": SAID}, TOOL_USE]}
CALL = {"index": 0, "id": 7, "type": "function", "function": {"name": ["f"], "arguments": "{}"}}
CHAT = {"role": "assistant", "content": SAID, "tool_calls": [CALL]}
GEMINI = {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": SAID}, {"functionCall": {"name": 5}}]}
MALFORMED = {
    "anthropic": Malformed(
        "anthropic",
        {**ANTHROPIC, "stop_reason": "tool_use"},
        [
            {"type": "message_start", "message": {**ANTHROPIC, "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": SAID}},
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_start", "index": 1, "content_block": TOOL_USE},
            {"type": "content_block_stop", "index": 1},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        ],
    ),
    "openai": Malformed(
        "openai",
        {"choices": [{"index": 0, "message": CHAT, "finish_reason": "tool_calls"}]},
        [
            {"choices": [{"index": 0, "delta": {"role": "assistant", "content": SAID}}]},
            {"choices": [{"index": 0, "delta": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}]},
        ],
    ),
    "gemini": Malformed(
        "gemini",
        {"candidates": [{"content": GEMINI, "finishReason": "STOP"}]},
        [{"candidates": [{"content": GEMINI, "finishReason": "STOP"}]}],
    ),
    "responses": Malformed(
        "responses",
        {
            "status": "completed",
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SAID}]},
                {"type": "function_call", "call_id": 5, "name": "f", "arguments": "{}"},
            ],
        },
        [],
    ),
}


@pytest.mark.parametrize("how", ["run", "stream"])
@pytest.mark.parametrize("dialect", MALFORMED)
def test_the_text_of_a_reply_that_cannot_be_read_is_kept(dialect: str, how: str) -> None:
    if how == "stream" and dialect == "responses":
        pytest.skip("a stream ends with the whole response")
    conv = Conversation.open("memory:", "x", budget=100_000, dialect=dialect)
    settings: dict[str, Any] = {"provider": MALFORMED[dialect], "tools": [read], "retry": Retry(attempts=1)}
    with pytest.raises(ProviderError) as raised:
        conv.run("go", **settings) if how == "run" else list(conv.stream("go", **settings))
    assert raised.value.kind == "malformed"
    (failure,) = (entry.body for entry in conv.log.read() if isinstance(entry.body, Failure))
    assert failure.text == SAID
    assert SAID in json.dumps(conv.request())
