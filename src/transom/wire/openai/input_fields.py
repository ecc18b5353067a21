"""Decides which fields of a message are sent back to the chat API. See docs/why/response-fields.md.

There are two rules. Of a reply of the model, only the fields in `TAKEN` are kept. Of a message that the caller wrote,
every field is kept except those in `RESPONSE_ONLY`, which exist only in responses, even if somebody copied them into a
message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from transom.core.message import Raw

Fields = Mapping[str, "Fields | None"]
"""The fields of an object by name; None for a field that is kept with everything in it."""

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
"""Fields of a message in responses: OpenAI's citations, the SDK's `.parse()`, LiteLLM's notes, images that a model
made."""
_OF_CALLS = ("index", "parsed_arguments", "provider_specific_fields")
"""Fields of a call in responses: its place in a stream, the SDK's `.parse()`, LiteLLM's notes."""


def taken(value: Any, fields: Fields | None = TAKEN) -> Any:
    """A copy of a part of a response with only these fields, at every level that `fields` describes."""
    if fields is None:
        return value
    if isinstance(value, list):
        return [taken(item, fields) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    return {key: taken(item, fields[key]) for key, item in cast("Raw", value).items() if key in fields}


def drop_response_only(message: Raw) -> None:
    """Remove fields from a message, in place, that only responses have."""
    for key in RESPONSE_ONLY:
        message.pop(key, None)
    audio = message.get("audio")
    if isinstance(audio, dict) and "id" in audio:  # a spoken answer is named by its id
        message["audio"] = {"id": audio["id"]}
    for call in cast("list[Raw]", message.get("tool_calls") or []):
        for body in (call, call.get("function") or {}, call.get("custom") or {}):
            for key in _OF_CALLS:
                body.pop(key, None)
