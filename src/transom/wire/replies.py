"""Reads what all providers' replies have in common: objects of a client library, errors in place of a reply, usage,
and why the model stopped."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from functools import reduce
from inspect import iscoroutine
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from transom.core.message import Assistant, Fact, Raw, Usage
from transom.errors import InvalidMessage
from transom.wire.fields import as_dict, dicts


def dumped(value: object, keep: Collection[str] = (), **how: object) -> object:
    """An object of a client library as the JSON that it stands for. Any value without `model_dump` is returned as it
    is.

    `how`: further arguments for `model_dump`. Without any, and for an object that does not take them, all nulls are
    dropped, except below the keys `keep`: the library fills them in for what was not sent.
    """
    dump: Any = None if isinstance(value, dict) else getattr(value, "model_dump", None)
    if not callable(dump):
        return cast("object", value)
    # the SDKs' own parsed objects do not fit their declared types: pydantic would warn the user of it
    for words in ({**how, "warnings": False}, how):
        with suppress(TypeError):
            out = dump(**words)
            return out if how else without_nulls(out, keep)
    return without_nulls(dump(), keep)


def without_nulls(value: Any, keep: Collection[str]) -> Any:
    """A JSON value without its nulls. Values under the keys `keep` stay whole: there a null means something."""
    if isinstance(value, list):
        return [without_nulls(item, keep) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("Raw", value).items()
    return {key: x if key in keep else without_nulls(x, keep) for key, x in fields if x is not None or key in keep}


def require_reply(value: object, needed: str) -> Raw:
    """The reply, which must be a dict: an object of a client library must have gone through `dumped`. Raises ErrorReply
    if it holds an error, and InvalidMessage if it is no dict; for a stream, that error says what to do. `needed`: what
    the message of the InvalidMessage asks for."""
    if not isinstance(value, dict):
        must_be_read(value)
        raise InvalidMessage("reply", f"{needed} is needed, not {type(value).__name__}")
    fields = cast("Raw", value)
    if (error := error_in(fields)) is not None:
        raise ErrorReply(error)
    return fields


_OPEN = (
    "the reply is a stream: read it to its end, then observe the list of its chunks, or what the helper's "
    "get_final_completion(), get_final_message() or get_final_response() returns"
)
_OPEN_ASYNC = (
    "the reply is an async stream: read it to its end with `async for`, then observe the list of its chunks, or what "
    "awaiting the helper's get_final_completion(), get_final_message() or get_final_response() returns"
)
_NOT_AWAITED = "the reply is {}, which was not awaited: observe what `await` returns"
_NOT_ENTERED = "the reply is a stream that was not begun: use it in a `with` block, and observe it after its end"


def must_be_read(reply: object) -> None:
    """Raises InvalidMessage, which says what to do, if the value is a stream, or must be awaited or entered to give
    one."""
    if hasattr(reply, "__await__"):
        kind = "a coroutine" if iscoroutine(reply) else type(reply).__name__
        raise InvalidMessage("reply", _NOT_AWAITED.format(kind))
    if any(hasattr(reply, name) for name in ("__anext__", "__aiter__")):
        raise InvalidMessage("reply", _OPEN_ASYNC)
    if hasattr(reply, "__next__"):
        raise InvalidMessage("reply", _OPEN)
    if any(hasattr(reply, name) for name in ("__enter__", "__aenter__")):
        raise InvalidMessage("reply", _NOT_ENTERED)


class ErrorReply(InvalidMessage):
    """A reply that is an error, although its HTTP status says that it is a reply. `details`: the error as the provider
    sent it."""

    def __init__(self, details: Raw) -> None:
        self.details = details
        super().__init__("reply", f"the reply is an error: {error_message(details):.400}")


def error_in(fields: Raw) -> Raw | None:
    """The error in a reply, in the first choice of a reply, or in an event of a stream; None if there is none. An error
    that is a text becomes an object with this text as its `message`."""
    choice = next((each for each in dicts(fields.get("choices")) if not each.get("index")), Raw())
    error = fields.get("error") or choice.get("error")  # OpenRouter has it in the choice, too
    if not error and "error" in (fields.get("type"), fields.get("object")):
        error = fields  # of the Responses API; SGLang and old versions of vLLM
    if not error and fields.get("type") == "response.failed":
        error = as_dict(fields.get("response")).get("error") or "the response failed"
    if not error:
        return None
    return as_dict(error) or {"message": str(error)}


def error_message(error: Raw) -> str:
    """The message of a provider's error. Without one, the whole error, as Python writes a dict."""
    return str(error.get("message") or error)


def as_assistant(fact: Fact, message: Raw) -> Assistant:
    """The fact, which must be a turn of the model; otherwise InvalidMessage is raised. `message`: what the fact was
    read from; the error names its role."""
    if isinstance(fact, Assistant):
        return fact
    raise InvalidMessage("reply", f"role must be assistant, not {message['role']!r}")


class UsageFields(Struct, frozen=True, kw_only=True):
    """Where a dialect's usage has each number of `Usage`.

    Each field is a text with one path or several, with blanks between them; their values are added up. A path is keys
    with dots between them (`details.cached`), or a choice of such (`a|b`): the first that is above 0 counts. An empty
    text: the API does not report this number. `of_reply`: the keys under which a reply may have its usage.
    """

    prompt: str
    cached: str
    output: str
    cache_write: str = ""
    reasoning: str = ""
    of_reply: tuple[str, ...] = ("usage",)


def with_usage(turn: Assistant, usage: object, where: UsageFields) -> Assistant:
    """A copy of the turn with its usage. `usage`: a provider's numbers as a dict (`dumped`); for any other value the
    same turn is returned."""
    found = read_usage(usage, where)
    return turn if found is None else replace(turn, usage=found)


def read_usage(usage: object, where: UsageFields) -> Usage | None:
    """The usage in a dict of a provider; None for any other value. A number that is not a whole number from 1 to
    `MOST_TOKENS` counts as 0."""
    if not isinstance(usage, dict):
        return None
    fields = cast("Raw", usage)
    return Usage(
        **{name: sum(_number(fields, path) for path in getattr(where, name).split()) for name in _USAGE_FIELDS}
    )


def usage_of_reply(reply: object, where: UsageFields) -> Usage | None:
    """The usage that a reply reports, also if nothing else in the reply can be read; None if it reports none."""
    fields = as_dict(dumped(reply))
    return next((found for key in where.of_reply if (found := read_usage(dumped(fields.get(key)), where))), None)


MOST_TOKENS = 2**53
"""The most tokens that a usage may claim. A larger number is no count, and a float could not hold it exactly."""

_USAGE_FIELDS = Usage.__struct_fields__


def _number(fields: Raw, alternatives: str) -> int:
    """The first whole number from 1 to `MOST_TOKENS` at these paths (`a|b`); 0 if there is none."""
    for path in alternatives.split("|"):
        value = reduce(lambda held, key: as_dict(held).get(key), path.split("."), cast("Any", fields))
        if isinstance(value, int) and 0 < value <= MOST_TOKENS:
            return value
    return 0


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
    """Why a whole reply ended; "unknown" if it does not say, or says something that we do not know.

    `reply`: a response object or dict of any provider; of several choices the first counts. The Responses API and
    Gemini say "stop" for a reply with tool calls too: look at the calls of the turn.
    """
    for items, name in (("choices", "finish_reason"), ("candidates", "finish_reason"), ("candidates", "finishReason")):
        listed = _field(reply, items)
        if isinstance(listed, (list, tuple)) and listed and (found := _field(cast("list[object]", listed)[0], name)):
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
