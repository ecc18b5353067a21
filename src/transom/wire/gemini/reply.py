"""Reads Gemini's replies: a response as an object or a dict, or the content of the model alone."""

from __future__ import annotations

from typing import cast

from transom.core.message import Assistant, Raw
from transom.errors import InvalidMessage
from transom.wire.arguments import storable
from transom.wire.gemini import parse
from transom.wire.gemini.keys import CALL, key_of_part
from transom.wire.sdk_objects import UsageFields, dumped, require_reply, with_usage
from transom.wire.violations import as_dict, as_list

_NEEDED = "a response or a content"
_THOUGHTS = "thoughtsTokenCount|thoughts_token_count"
USAGE = UsageFields(
    prompt="promptTokenCount|prompt_token_count",
    cached="cachedContentTokenCount|cached_content_token_count",
    output=f"candidatesTokenCount|candidates_token_count {_THOUGHTS}",
    reasoning=_THOUGHTS,
    of_reply=("usageMetadata", "usage_metadata"),
)


def parse_response(reply: object) -> Assistant:
    """The turn in a reply, with its usage if that came.

    Raises InvalidMessage for an error, a blocked request, a reply without content, and a content that is not the
    model's.
    """
    response = require_reply(plain(reply), _NEEDED)
    found = as_list(response.get("candidates"))
    if not found and "parts" in response:
        return parse.turn(_with_storable_args(response), "reply")
    if not found:
        raise InvalidMessage("reply", _why_none(response))
    candidate = require_reply(found[0], _NEEDED)
    if (content := candidate.get("content")) is None:
        reason = candidate.get("finishReason") or candidate.get("finish_reason") or "it gives no reason"
        raise InvalidMessage("reply", f"the model said nothing: {reason!s:.100}")
    usage = response.get("usageMetadata") or response.get("usage_metadata")
    return with_usage(parse.turn(_with_storable_args(require_reply(content, _NEEDED)), "reply"), usage, USAGE)


def plain(value: object) -> object:
    """An object of a client library as a dict without nulls; any other value as it is."""
    return dumped(value, {"args", "response"}, mode="json", by_alias=True, exclude_none=True)


def _with_storable_args(content: Raw) -> Raw:
    """The content with the arguments of each call as a log can store them: what a model wrote there does not make the
    reply unreadable."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return content
    return {**content, "parts": [_storable_part(each) for each in cast("list[object]", parts)]}


def _storable_part(part: object) -> object:
    fields = as_dict(part)
    key = key_of_part(fields, CALL)
    if key is None or "args" not in as_dict(fields[key]):
        return part
    return {**fields, key: {**as_dict(fields[key]), "args": storable(fields[key]["args"])}}


def _why_none(response: Raw) -> str:
    """Why there are no candidates, as far as the response says."""
    feedback = as_dict(response.get("promptFeedback") or response.get("prompt_feedback"))
    if why := feedback.get("blockReason") or feedback.get("block_reason"):
        return f"the request was blocked: {why!s:.100}"
    return "a response with candidates or a content with parts is needed"
