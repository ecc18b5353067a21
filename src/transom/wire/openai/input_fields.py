"""Which fields of a message the chat API takes back. See docs/why/response-fields.md.

Two rules. A response that the model gave keeps what stands in `TAKEN`, and nothing else. A message that the caller
wrote keeps every field, except `RESPONSE_ONLY`: those exist in responses alone, whoever copied them into a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from transom.core.message import Raw

Fields = Mapping[str, "Fields | None"]
"""The fields of an object by name; None: with everything that it holds."""

_FUNCTION: Fields = {"name": None, "arguments": None}
_CALL: Fields = {
    "id": None,
    "type": None,
    "function": _FUNCTION,
    "custom": {"name": None, "input": None},
    "extra_content": None,
}
TAKEN: Fields = {
    "role": None,
    "content": None,
    "refusal": None,
    "name": None,
    "audio": None,
    "tool_calls": _CALL,
    "function_call": _FUNCTION,
    # of compatible servers, which want it back: DeepSeek; Groq and vLLM; OpenRouter; Gemini; Mistral; LiteLLM
    "reasoning_content": None,
    "reasoning": None,
    "reasoning_details": None,
    "extra_content": None,
    "prefix": None,
    "thinking_blocks": None,
    "reasoning_items": None,
}
"""The fields of the model's message that some API takes as input."""

RESPONSE_ONLY = ("annotations", "parsed", "provider_specific_fields", "images")
"""Of a message: OpenAI's citations, the SDK's `.parse()`, LiteLLM's notes, pictures that a model has drawn."""
_OF_CALLS = ("index", "parsed_arguments", "provider_specific_fields")
"""Of a call and its function: its place in a stream, the SDK's `.parse()`, LiteLLM's notes."""


def taken(value: Any, fields: Fields | None = TAKEN) -> Any:
    """A part of a response with only these fields, as deep as they say."""
    if fields is None:
        return value
    if isinstance(value, list):
        return [taken(item, fields) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    return {key: taken(item, fields[key]) for key, item in cast("Raw", value).items() if key in fields}


def drop_response_only(message: Raw) -> None:
    """Take out of a message what only responses have."""
    for key in RESPONSE_ONLY:
        message.pop(key, None)
    audio = message.get("audio")
    if isinstance(audio, dict) and "id" in audio:  # a spoken answer is named by its id
        message["audio"] = {"id": audio["id"]}
    for call in cast("list[Raw]", message.get("tool_calls") or []):
        for body in (call, call.get("function") or {}, call.get("custom") or {}):
            for key in _OF_CALLS:
                body.pop(key, None)
