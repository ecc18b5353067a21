"""What the file of a library says of a call that failed is in the log, and in what a model reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from transom.core.message import ToolResult
from transom.importers import read
from transom.wire.frameworks import langchain_json, pydantic_ai_json

ASKS = {"role": "user", "content": "Go"}
USE = {"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}
INSPECT_CALL = {"id": "c", "function": "f", "arguments": {}, "type": "function"}


def ai_sdk(output: dict[str, Any]) -> list[dict[str, Any]]:
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {}}
    result = {"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": output}
    return [ASKS, {"role": "assistant", "content": [call]}, {"role": "tool", "content": [result]}]


def converse(status: str) -> list[dict[str, Any]]:
    result = {"toolResult": {"toolUseId": "c", "content": [{"text": "no page"}], "status": status}}
    return [
        {"role": "user", "content": [{"text": "Go"}]},
        {"role": "assistant", "content": [USE]},
        {"role": "user", "content": [result]},
    ]


def inspect(error: dict[str, str] | None) -> list[dict[str, Any]]:
    answer = {"role": "tool", "function": "f", "tool_call_id": "c", "content": "no page", "error": error}
    return [ASKS, {"role": "assistant", "content": "", "tool_calls": [INSPECT_CALL]}, answer]


def inspect_part(error: str | None) -> list[dict[str, Any]]:
    used = {"type": "tool_use", "id": "c", "name": "f", "arguments": "{}", "result": "" if error else "no page"}
    content = [{"type": "reasoning", "reasoning": "hm"}, {**used, **({"error": error} if error else {})}]
    return [ASKS, {"role": "assistant", "content": content}]


def haystack(*, error: bool) -> list[dict[str, Any]]:
    asked = {"tool_call": {"id": "c", "tool_name": "f", "arguments": {}}}
    answer = {"result": "no page", "origin": asked["tool_call"], "error": error}
    listed = [("user", {"text": "Go"}), ("assistant", asked), ("tool", {"tool_call_result": answer})]
    return [{"role": role, "meta": {}, "content": [part]} for role, part in listed]


def claude_ai(*, is_error: bool) -> list[dict[str, Any]]:
    used = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "c", "name": "f", "content": "no page", "is_error": is_error}
    said = {"uuid": "2", "sender": "assistant", "text": "", "content": [used, answer]}
    go = {"uuid": "1", "sender": "human", "text": "Go", "content": [{"type": "text", "text": "Go"}]}
    return [go, said]


def gemini_cli(status: str) -> list[dict[str, Any]]:
    part = {"functionResponse": {"id": "c", "name": "f", "response": {"output": "no page"}}}
    call = {"id": "c", "name": "f", "args": {}, "result": [part], "status": status}
    when = "2026-11-01T10:00:00Z"
    return [
        {"id": "1", "type": "user", "content": "Go", "timestamp": when},
        {"id": "2", "type": "gemini", "content": "", "toolCalls": [call], "timestamp": when},
    ]


def openhands(seen: str) -> list[dict[str, Any]]:
    called = {"tool_call_id": "c", "function_name": "f"}
    return [
        {"id": 0, "source": "user", "action": "message", "args": {"content": "Go"}, "message": "Go"},
        {"id": 1, "source": "agent", "observation": seen, "content": "no page", "tool_call_metadata": called},
    ]


def results(path: Path, messages: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    file = path / "x.json"
    file.write_text(json.dumps(messages))
    facts = [fact for recorded in read(file) for _, fact in recorded.facts()[1]]
    return [(each.parts[0].text, each.failed) for each in facts if isinstance(each, ToolResult)]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("failed", "fine"),
    [
        (ai_sdk({"type": "error-text", "value": "no page"}), ai_sdk({"type": "text", "value": "no page"})),
        (ai_sdk({"type": "execution-denied", "reason": "no page"}), ai_sdk({"type": "json", "value": "no page"})),
        (converse("error"), converse("success")),
        (inspect({"type": "unknown", "message": "no page"}), inspect(None)),
        (inspect_part("no page"), inspect_part(None)),
        (haystack(error=True), haystack(error=False)),
        (claude_ai(is_error=True), claude_ai(is_error=False)),
        (gemini_cli("error"), gemini_cli("success")),
        (openhands("error"), openhands("run")),
    ],
    ids=[
        "ai_sdk",
        "ai_sdk denied",
        "converse",
        "inspect",
        "inspect tool_use",
        "haystack",
        "claude_ai",
        "gemini_cli",
        "openhands",
    ],
)
def test_a_failed_call_of_a_library(tmp_path: Path, failed: Any, fine: Any) -> None:
    ((text, is_failed),) = results(tmp_path, failed)
    assert is_failed
    assert not text.startswith("[failed]")
    assert "no page" in text
    ((text, is_failed),) = results(tmp_path, fine)
    assert not is_failed
    assert not text.startswith("[failed]")


def test_langchain_says_it_in_a_status() -> None:
    one = {"type": "tool", "data": {"content": "no page", "tool_call_id": "c", "status": "error"}}
    chat = langchain_json.message(one)
    assert chat == {"role": "tool", "content": "[failed] no page", "tool_call_id": "c"}
    assert langchain_json.from_chat(chat)["data"]["status"] == "error"
    parts = {
        "type": "tool",
        "data": {"content": [{"type": "text", "text": "x"}], "tool_call_id": "c", "status": "error"},
    }
    assert langchain_json.message(parts)["content"][0] == {"type": "text", "text": "[failed] x"}  # type: ignore[index]


@pytest.mark.parametrize(
    "part", [{"part_kind": "retry-prompt"}, {"part_kind": "tool-return", "outcome": "denied"}], ids=["retry", "denied"]
)
def test_pydantic_ai_says_it_in_a_retry_prompt_or_an_outcome(part: dict[str, str]) -> None:
    fields = {**part, "content": "no page", "tool_name": "f", "tool_call_id": "c"}
    chat = pydantic_ai_json.request_message(fields)
    assert chat == {"role": "tool", "tool_call_id": "c", "content": "[failed] no page"}
