"""Turns of the model out of recorded requests, as the answers that they came in: whole, and as a stream."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from replay_server import Answer

from chunks import chat_chunks, gemini_chunks, message_events, response_events

Json = dict[str, Any]

CHAT_USAGE = {
    "prompt_tokens": 40,
    "completion_tokens": 5,
    "total_tokens": 45,
    "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
RESPONSES_USAGE = {
    "input_tokens": 40,
    "input_tokens_details": {"cached_tokens": 8},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 45,
}
ANTHROPIC_USAGE = {
    "input_tokens": 30,
    "cache_read_input_tokens": 8,
    "cache_creation_input_tokens": 2,
    "output_tokens": 5,
}
GEMINI_USAGE = {"promptTokenCount": 40, "candidatesTokenCount": 5, "totalTokenCount": 45, "cachedContentTokenCount": 8}


def chat_answer(message: Json) -> Answer:
    message = {"content": None, **message}
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    base = {"id": "chat_1", "object": "chat.completion", "created": 1, "model": "m"}
    return Answer({**base, "choices": [choice], "usage": CHAT_USAGE}, list(chat_chunks(message, CHAT_USAGE)))


def anthropic_answer(content: list[Json]) -> Answer:
    calls = any(block["type"] == "tool_use" for block in content)
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
    whole |= {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None, "usage": ANTHROPIC_USAGE}
    return Answer(whole, list(message_events(content, ANTHROPIC_USAGE)))


def responses_answer(output: list[Json]) -> Answer:
    base = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    whole = {**base, **rest, "output": output, "usage": RESPONSES_USAGE}
    return Answer(whole, list(response_events(output, RESPONSES_USAGE)))


def gemini_answer(parts: list[Json]) -> Answer:
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return Answer({"candidates": [candidate], "usageMetadata": GEMINI_USAGE}, list(gemini_chunks(parts, GEMINI_USAGE)))


# ---- out of recorded requests


def _chat_turns(request: Json) -> Iterator[Answer]:
    for message in request["messages"]:
        if message["role"] == "assistant" and not isinstance(message.get("content"), list):
            yield chat_answer({key: value for key, value in message.items() if value is not None})


def _anthropic_turns(request: Json) -> Iterator[Answer]:
    for message in request["messages"]:
        content = message["content"]
        if message["role"] == "assistant":
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            yield anthropic_answer([{k: v for k, v in block.items() if k != "cache_control"} for block in blocks])


_OF_THE_MODEL = ("function_call", "reasoning")


def _by_the_model(item: Json) -> bool:
    return item.get("role") == "assistant" or item.get("type") in _OF_THE_MODEL


def _responses_turns(request: Json) -> Iterator[Answer]:
    items = request["input"] if isinstance(request["input"], list) else []
    for spoken, group in groupby(items, _by_the_model):
        if spoken:
            yield responses_answer([_as_output(number, item) for number, item in enumerate(group)])


def _as_output(number: int, item: Json) -> Json:
    """An item of an input as it stands in an output, which is stricter."""
    if item.get("role") != "assistant":
        return {"id": f"item_{number}", "summary": [], **item} if item["type"] == "reasoning" else item
    content = item["content"]
    texts = [{"type": "output_text", "text": content}] if isinstance(content, str) else content
    parts = [{"annotations": [], **part} if part["type"] == "output_text" else part for part in texts]
    return {"id": f"msg_{number}", **item, "type": "message", "status": "completed", "content": parts}


def _gemini_turns(request: Json) -> Iterator[Answer]:
    for content in request["contents"]:
        if content.get("role") == "model":
            yield gemini_answer(_joined([_camel(part) for part in content["parts"]]))


def _joined(parts: list[Json]) -> list[Json]:
    """The parts with their neighbouring texts as one: some had been streamed before they were recorded."""
    joined: list[Json] = []
    for part in parts:
        if joined and part.keys() == joined[-1].keys() <= {"text", "thought"}:
            joined[-1] = {**part, "text": joined[-1]["text"] + part["text"]}
        else:
            joined.append(part)
    return joined


def _camel(value: Any) -> Any:
    """A part with the API's own keys: these requests were recorded from an SDK that writes others."""
    if not isinstance(value, dict):
        return value
    own = ("args", "response")
    return {re.sub("_([a-z])", _upper, key): x if key in own else _camel(x) for key, x in value.items()}


def _upper(found: re.Match[str]) -> str:
    return found[1].upper()


_SHORTENED = re.compile(r"\.\.\.<\d+ chars>")
"""The recorder left out the middle of long texts, and so of signatures, which are none then."""

APIS = {
    "openai": ("/chat/completions", _chat_turns),
    "responses": ("/responses", _responses_turns),
    "anthropic": ("/v1/messages", _anthropic_turns),
    "gemini": (":generateContent", _gemini_turns),
}


def recorded_answers(data: Path, dialect: str) -> list[Answer]:
    """Every turn of the model in the recorded requests of an API, each once."""
    path, turns = APIS[dialect]
    found: dict[str, Answer] = {}
    with gzip.open(data / "provider_exchanges.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["status"] == 200 and row["path"].endswith(path) and isinstance(row["request"], dict):
                for answer in turns(row["request"]):
                    text = json.dumps(answer.whole)
                    if not _SHORTENED.search(text):
                        found.setdefault(text, answer)
    return list(found.values())
