"""Why the model stopped, in the same few words for every provider."""

from __future__ import annotations

from typing import Any, Literal, cast

StopReason = Literal["stop", "tool_calls", "length", "filter", "malformed", "pause", "unknown"]
"""Why a reply ended.

"stop": the model was done. "tool_calls": it waits for results. "length": it reached the limit of the answer or of the
context. "filter": the provider refused. "malformed": the model wrote a call that the provider could not read. "pause":
the provider paused a long turn, and goes on if the turn is sent back. "unknown": no reason, or one that we do not know.
"""

_REASONS: dict[str, StopReason] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "completed", "eos"), "stop"),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), "tool_calls"),
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "model_context_window_exceeded", "model_length"), "length"
    ),
    **dict.fromkeys(
        ("content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content", "spii"), "filter"
    ),
    **dict.fromkeys(("image_safety", "image_prohibited_content", "image_recitation", "model_armor"), "filter"),
    **dict.fromkeys(("language", "jailbreak", "other_block"), "filter"),
    **dict.fromkeys(("malformed_function_call", "unexpected_tool_call", "malformed_response"), "malformed"),
    **dict.fromkeys(("pause_turn", "compaction"), "pause"),  # Anthropic's `pause_after_compaction`
}


def stop_reason(reason: object) -> StopReason:
    """Translate a provider's word for why a reply ended: a text, or an enum of its SDK. Anything else is "unknown"."""
    word = getattr(reason, "value", reason)
    return _REASONS.get(word.lower(), "unknown") if isinstance(word, str) else "unknown"


def stop_reason_of(reply: object) -> StopReason:
    """Why a whole reply ended: a response object or dict of any provider."""
    for items, name in (("choices", "finish_reason"), ("candidates", "finish_reason"), ("candidates", "finishReason")):
        if found := _field(_first(_field(reply, items)), name):
            return stop_reason(found)
    if found := _field(reply, "stop_reason"):
        return stop_reason(found)
    for feedback, name in (("prompt_feedback", "block_reason"), ("promptFeedback", "blockReason")):
        if _field(_field(reply, feedback), name):
            return "filter"
    if found := _field(_field(reply, "incomplete_details"), "reason"):
        return stop_reason(found)
    return stop_reason(_field(reply, "status"))


def _field(value: object, name: str) -> Any:
    """A field of a dict or an attribute of an object; None if it has none."""
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else getattr(value, name, None)


def _first(items: object) -> object:
    """The first item of a list; None if there is none."""
    return cast("list[object]", items)[0] if isinstance(items, (list, tuple)) and items else None
