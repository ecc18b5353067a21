"""The counting formula, from nothing: over messages as they go out, with no help from the core."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator

IMAGE = 1_000
PDF_PAGE = 1_500
FILES = ("image_url", "file", "input_file", "input_audio", "audio_url", "video_url", "document_url")


def request_tokens(messages, counter, tools=()) -> int:
    """Tokens of a request: 3, its tool schemas as compact JSON, and its messages."""
    schemas = (json.dumps(tool, separators=(",", ":"), ensure_ascii=False) for tool in tools)
    return 3 + sum(map(counter.count, schemas)) + sum(message_tokens(message, counter) for message in messages)


def message_tokens(message, counter) -> int:
    """4, the pages of a PDF, another file or an image 1,000 flat, and each text by itself."""
    files = sum(_file_tokens(part) for part in _parts(message) if part["type"] in FILES)
    return 4 + files + sum(map(counter.count, _texts(message)))


def _file_tokens(part) -> int:
    """OpenAI's rule for a PDF that is in the request: its text and an image for each page."""
    data = part.get("file", {}).get("file_data")
    if not isinstance(data, str) or not data.startswith("data:application/pdf;base64,"):
        return IMAGE
    return PDF_PAGE * len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(data.partition(",")[2] + "=="))) or IMAGE


def _parts(message) -> list:
    return message["content"] if isinstance(message.get("content"), list) else []


def _texts(message) -> Iterator[str]:
    for key in ("content", "name", "tool_call_id", "reasoning_content", "reasoning"):
        if isinstance(message.get(key), str):
            yield message[key]
    for part in _parts(message):
        if part["type"] == "text":
            yield part["text"]
        elif part["type"] not in FILES:
            yield from strings({key: value for key, value in part.items() if key != "type"})
    for call in message.get("tool_calls") or ():
        body = call.get("function") or call["custom"]
        yield from (call["id"], body["name"], body["arguments"] if "arguments" in body else body["input"])
    if message.get("function_call"):
        yield from (message["function_call"]["name"], message["function_call"]["arguments"])


def strings(value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key != "type":
                yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
