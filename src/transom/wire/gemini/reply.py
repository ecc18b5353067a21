"""Reads Gemini's replies: a response as an object or a dict, or the content of the model alone."""

from __future__ import annotations

from typing import Any, cast

from transom.core.message import Assistant, Raw
from transom.errors import InvalidMessage
from transom.wire.arguments import storable
from transom.wire.gemini import parse
from transom.wire.gemini.keys import CALL, CODE, CODE_RESULT, TOOL_CALL, TOOL_RESULT, key_of_part
from transom.wire.sdk_objects import UsageFields, dumped, require_reply, with_usage
from transom.wire.stop_reason import stop_reason_of
from transom.wire.violations import as_dict, as_list, text

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

    A reply that reached a limit or was refused has no calls of the provider's own tools without a result: such a call
    never ran.

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
    turn = _with_storable_args(require_reply(content, _NEEDED))
    if stop_reason_of(response) in ("length", "filter"):
        turn = {**turn, "parts": without_unanswered_calls(as_list(turn.get("parts")))}
    return with_usage(parse.turn(turn, "reply"), usage, USAGE)


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


def without_unanswered_calls(parts: list[Any]) -> list[Any]:
    """The parts of a content that ended too early, without calls of the provider's own tools that have no result."""
    results = [each for each in map(as_dict, parts) if key_of_part(each, TOOL_RESULT)]
    answered = {_id_under(each, TOOL_RESULT) for each in results}
    out = list[Any]()
    for at, part in enumerate(parts):
        fields = as_dict(part)
        if key_of_part(fields, CODE):
            is_unanswered = not _begins_with_result(parts[at + 1 :])
        else:
            is_unanswered = bool(key_of_part(fields, TOOL_CALL)) and _id_under(fields, TOOL_CALL) not in answered
        if not is_unanswered:
            out.append(part)
    return out


def _begins_with_result(parts: list[Any]) -> bool:
    """Whether a result of code comes before the next code. Neither has an id, and a text may stand between the two."""
    for fields in map(as_dict, parts):
        if key_of_part(fields, CODE_RESULT):
            return True
        if key_of_part(fields, CODE):
            return False
    return False


def _id_under(part: Raw, keys: tuple[str, ...]) -> str:
    """The id in the data of a part."""
    return text(as_dict(part.get(key_of_part(part, keys) or "")), "id")


def _why_none(response: Raw) -> str:
    """Why there are no candidates, as far as the response says."""
    feedback = as_dict(response.get("promptFeedback") or response.get("prompt_feedback"))
    if why := feedback.get("blockReason") or feedback.get("block_reason"):
        return f"the request was blocked: {why!s:.100}"
    return "a response with candidates or a content with parts is needed"
