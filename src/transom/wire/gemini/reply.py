"""What Gemini answered: a response object, a response as a dict, or just the content of the model."""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from transom.core.message import Assistant, Raw, Usage
from transom.errors import InvalidMessage
from transom.wire.gemini.parse import turn

_OPEN = frozenset({"args", "response"})
"""Somebody's own JSON: a null in there says something."""


def parse_reply(reply: object) -> Assistant:
    """The turn a reply holds, with its usage if it came. Raises InvalidMessage if there is no content of the model."""
    response = _plain(plain(reply))
    found: object = response.get("candidates")
    if not found and "parts" in response:
        return turn(response, "reply")
    if not isinstance(found, list) or not found:
        raise InvalidMessage("reply", _why_none(response))
    candidate = _plain(cast("list[object]", found)[0])
    content = candidate.get("content")
    if content is None:
        reason = candidate.get("finishReason") or candidate.get("finish_reason") or "it gives no reason"
        raise InvalidMessage("reply", f"the model said nothing: {reason!s:.100}")
    fact = turn(_plain(content), "reply")
    usage = response.get("usageMetadata") or response.get("usage_metadata")
    return replace(fact, usage=_usage(cast("Raw", usage))) if isinstance(usage, dict) else fact


def plain(value: object) -> object:
    """An object of a client library as the JSON it stands for, what is null left out; anything else as it is."""
    dump: Any = None if isinstance(value, dict) else getattr(value, "model_dump", None)
    if not callable(dump):
        return cast("object", value)
    try:
        return _without_nulls(dump(mode="json", by_alias=True, exclude_none=True))
    except TypeError:  # it dumps in one way only
        return _without_nulls(dump())


def _without_nulls(value: Any) -> Any:
    """Client libraries fill in null for whatever was not sent."""
    if isinstance(value, list):
        return [_without_nulls(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    held = ((key, item) for key, item in cast("Raw", value).items() if item is not None)
    return {key: item if key in _OPEN else _without_nulls(item) for key, item in held}


def _why_none(response: Raw) -> str:
    """What came instead of candidates, if it is known."""
    if error := response.get("error"):
        said: Any = cast("Raw", error).get("message") if isinstance(error, dict) else None
        return f"the reply is an error: {said or error!s:.400}"
    feedback: Any = response.get("promptFeedback") or response.get("prompt_feedback")
    if isinstance(feedback, dict):
        why: Any = cast("Raw", feedback).get("blockReason") or cast("Raw", feedback).get("block_reason")
        return f"the request was blocked: {why!s:.100}"
    return "a response with candidates or a content with parts is needed"


def _plain(value: object) -> Raw:
    if isinstance(value, dict):
        return cast("Raw", value)
    raise InvalidMessage("reply", f"a response or a content is needed, not {type(value).__name__}")


def _usage(usage: Raw) -> Usage:
    prompt, cached, said, thought = (
        _number(usage, *keys)
        for keys in (
            ("promptTokenCount", "prompt_token_count"),
            ("cachedContentTokenCount", "cached_content_token_count"),
            ("candidatesTokenCount", "candidates_token_count"),
            ("thoughtsTokenCount", "thoughts_token_count"),
        )
    )
    return Usage(prompt=prompt, cached=cached, output=said + thought)


def _number(usage: Raw, *keys: str) -> int:
    found = next((usage[key] for key in keys if usage.get(key)), 0)
    return found if isinstance(found, int) and found > 0 else 0
