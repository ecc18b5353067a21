"""What Gemini answered: a response object, a response as a dict, or just the content of the model."""

from __future__ import annotations

from transom.core.message import Assistant, Raw
from transom.errors import InvalidMessage
from transom.wire.gemini.parse import turn
from transom.wire.judging import as_dict, as_list
from transom.wire.replying import an_answer, dumped, with_usage

_NEEDED = "a response or a content"
_OPEN = frozenset({"args", "response"})
_USAGE = (
    "promptTokenCount prompt_token_count",
    "cachedContentTokenCount cached_content_token_count",
    "candidatesTokenCount candidates_token_count thoughtsTokenCount thoughts_token_count",
)


def parse_reply(reply: object) -> Assistant:
    """The turn a reply holds, with its usage if it came. Raises InvalidMessage if there is no content of the model."""
    response = an_answer(plain(reply), _NEEDED)
    found = as_list(response.get("candidates"))
    if not found and "parts" in response:
        return turn(response, "reply")
    if not found:
        raise InvalidMessage("reply", _why_none(response))
    candidate = an_answer(found[0], _NEEDED)
    if (content := candidate.get("content")) is None:
        reason = candidate.get("finishReason") or candidate.get("finish_reason") or "it gives no reason"
        raise InvalidMessage("reply", f"the model said nothing: {reason!s:.100}")
    usage = response.get("usageMetadata") or response.get("usage_metadata")
    return with_usage(turn(an_answer(content, _NEEDED), "reply"), usage, *_USAGE)


def plain(value: object) -> object:
    """An object of a client library as the JSON it stands for, what is null left out; anything else as it is."""
    return dumped(value, _OPEN, mode="json", by_alias=True, exclude_none=True)


def _why_none(response: Raw) -> str:
    """What came instead of candidates, if it is known."""
    feedback = as_dict(response.get("promptFeedback") or response.get("prompt_feedback"))
    if why := feedback.get("blockReason") or feedback.get("block_reason"):
        return f"the request was blocked: {why!s:.100}"
    return "a response with candidates or a content with parts is needed"
