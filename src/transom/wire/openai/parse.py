"""Reads OpenAI chat messages and replies as facts. Of a message that the caller wrote nothing is lost: fields without a
place stay in `extra`. Of a reply, only the fields that an API takes as input are kept (`TAKEN`).

A field that is null, empty or missing where a text belongs reads as an empty text. It stays in `extra` as it was, so
that it comes out the same. Input is copied, so that later changes by the caller do not reach the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from transom.core import message as m
from transom.core.message import Assistant, Call, Fact, Raw, turn_of
from transom.errors import InvalidMessage
from transom.wire.fields import (
    MediaTypes,
    as_dict,
    as_list,
    compact_json,
    is_text,
    json_copy,
    kind_of,
    other_part,
    require_object,
    take_content,
    take_role,
    take_text,
    text_part,
)
from transom.wire.replies import UsageFields, as_assistant, dumped, require_reply, with_usage
from transom.wire.translate import without_failed_mark

DIALECT_NAME = "openai"
"""The name of this dialect in facts."""

MEDIA_TYPES: MediaTypes = {
    "image_url": "image",
    "file": "file",
    "input_file": "file",
    "input_audio": "file",
    "audio_url": "file",
    "video_url": "file",
    "document_url": "file",
}
"""Content parts that hold an image or a file: OpenAI's own, Mistral's, vLLM's."""

REASONING = ("reasoning_content", "reasoning")
"""The keys of the model's reasoning: DeepSeek's, then that of Groq, OpenRouter and vLLM."""

THINKING = "thinking"
"""The type of the content parts in which Mistral's models think; also `Reasoning.field` of such a part."""

_REGULAR_CALL: Raw = {"type": "function", "function": {}}
"""A regular call without its id, name and arguments. A call with other fields keeps them in `extra`."""

_KINDS: dict[str, type[Fact]] = {
    "system": m.Instruction,
    "developer": m.Instruction,
    "user": m.User,
    "assistant": m.Assistant,
    "tool": m.ToolResult,
    "function": m.ToolResult,
}


def parse(message: object, where: str = "message", *, reads_failed_mark: bool = True) -> Fact:
    """Read one message as a fact. `message`: a dict; an object of a client library must have gone through `as_message`.
    `where`: what errors say first. `reads_failed_mark`: whether a tool result whose text begins with "[failed]" is read
    as a failed one, without that mark.

    Raises InvalidMessage if the message is not a dict with a known role, is another dialect's, or a field has the wrong
    type.
    """
    fields = json_copy(require_object(message, where, "a message"), where)
    role = take_role(fields, where, DIALECT_NAME, _KINDS)
    if not isinstance(fields.get("name"), (str, type(None))):
        raise InvalidMessage(where, f"name must be a string, not {kind_of(fields['name'])}")
    read = _assistant_part if role == "assistant" else _part
    parts, shape = take_content(fields, "content", where, "a string, a list of parts or null", read)
    if role == "assistant":
        beside = [m.Reasoning(fields.pop(key), key) for key in REASONING if is_text(fields.get(key))]
        calls = _calls(fields, where)
        return turn_of([*beside, *parts, *calls], shape=shape, extra=fields or None)
    own = _beside(role, fields, where)
    fact = _KINDS[role](parts=cast("tuple[m.Part, ...]", parts), shape=shape, extra=fields or None, **own)
    return without_failed_mark(fact) if reads_failed_mark else fact


def body_keys(call: Raw) -> tuple[str, str]:
    """The keys of a call's body and of the arguments in it: "function" and "arguments", or "custom" and "input" for a
    call of a custom tool, which takes free text."""
    return ("custom", "input") if call.get("type") == "custom" else ("function", "arguments")


def _beside(role: str, fields: Raw, where: str) -> Raw:
    """The fields of the fact beside its content, taken out of the message's fields."""
    if role == "tool":
        return {"call": take_text(fields, "tool_call_id", where, "")}
    # a default that is written out would change what is stored: no role for "system"
    return {"legacy": True} if role == "function" else {"role": role} if role == "developer" else {}


def _part(raw: Raw, where: str, path: str) -> m.Part:
    """A content part."""
    if raw.get("type") == "text":
        return text_part(raw, "text", where, path, drop={"type", "text"})
    return other_part(raw, MEDIA_TYPES)


def _assistant_part(raw: Raw, where: str, path: str) -> m.Part | m.Reasoning:
    """A content part of the model's, or its reasoning: a part of the type `thinking` with exactly one text."""
    held = raw.get(THINKING) if raw.get("type") == THINKING else None
    pieces = cast("list[object]", held) if isinstance(held, list) else []
    text = cast("Raw", pieces[0]) if len(pieces) == 1 and isinstance(pieces[0], dict) else {}
    if text.keys() != {"type", "text"} or text["type"] != "text" or not isinstance(text["text"], str):
        return _part(raw, where, path)
    rest = {key: value for key, value in raw.items() if key not in {"type", THINKING}}
    return m.Reasoning(text["text"], THINKING, extra=rest or None)


# ---- calls


def _calls(fields: Raw, where: str) -> tuple[Call, ...]:
    """The calls of a turn. If there are none, `tool_calls` and `function_call` stay in `extra` as they are."""
    listed, legacy = fields.get("tool_calls"), fields.get("function_call")
    if listed is not None and not isinstance(listed, list):
        raise InvalidMessage(where, f"tool_calls must be a list, not {kind_of(listed)}")
    if listed:
        items = cast("list[object]", fields.pop("tool_calls"))
        return tuple(_call(item, where, f"tool_calls[{i}]") for i, item in enumerate(items))
    if legacy is None:
        return ()
    rest = require_object(legacy, where, "function_call")
    name = take_text(rest, "name", where, "function_call.")
    if not name:  # responses of some compatibles carry an empty one: no call was made
        return ()
    del fields["function_call"]
    return (Call("", name, _arguments(rest, "arguments"), rest or None, legacy=True),)


def _call(item: object, where: str, path: str) -> Call:
    """The call in an item of `tool_calls`. What a regular call does not have stays in `extra`."""
    rest = require_object(item, where, path)
    kind, field = body_keys(rest)
    if kind not in rest:
        raise InvalidMessage(where, f"{path} has no {kind}")
    body = require_object(rest[kind], where, f"{path}.{kind}")
    label = take_text(rest, "id", where, f"{path}.")
    name = take_text(body, "name", where, f"{path}.{kind}.")
    args = _arguments(body, field)
    regular = rest == _REGULAR_CALL and label and name and args
    return Call(label, name, args, None if regular else rest)


def _arguments(body: Raw, field: str) -> str:
    """The arguments of a call as text, taken out of its body; one that is no text stays there too."""
    value = body.get(field)
    if value is None or value == "":
        return ""
    return body.pop(field) if isinstance(value, str) else compact_json(value)


# ---- which fields are sent back (docs/why/response-fields.md)
#
# Of a reply of the model, only the fields in `TAKEN` are kept. Of a message that the caller wrote, every field is kept;
# those that exist only in responses are not sent (`render.RESPONSE_ONLY`).

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


def taken(value: Any, fields: Fields | None = TAKEN) -> Any:
    """A copy of a JSON value of a response that has only these fields, at every level that `fields` describes; of a
    list each item is treated so. None as `fields` keeps everything; what is kept whole is not copied."""
    if fields is None:
        return value
    if isinstance(value, list):
        return [taken(item, fields) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    return {key: taken(item, fields[key]) for key, item in cast("Raw", value).items() if key in fields}


# ---- replies

_NEEDED = "a response or an assistant message"
_KEPT = frozenset({"choices", "content", "reasoning_details"})
"""Keys below which nulls stay, because they were sent or mean something."""
USAGE = UsageFields(
    prompt="prompt_tokens",
    cached="prompt_tokens_details.cached_tokens|prompt_cache_hit_tokens",
    output="completion_tokens",
    cache_write="prompt_tokens_details.cache_write_tokens|prompt_tokens_details.cache_creation_tokens",
    reasoning="completion_tokens_details.reasoning_tokens",
)
"""DeepSeek has two names for cached tokens; OpenRouter and Anthropic's endpoint report the tokens that were written."""


def parse_reply(reply: object) -> Assistant:
    """The turn in a reply. `reply`: a response, of which the first choice counts, or an assistant message, as an object
    or a dict. The turn has its usage if a response reports it.

    Raises InvalidMessage for an error, and for a reply without an assistant message.
    """
    message = response = require_reply(as_message(reply), _NEEDED)
    if choices := as_list(response.get("choices")):
        choice = require_reply(dumped(choices[0], _KEPT), _NEEDED)
        message = require_reply(dumped(choice.get("message"), _KEPT), _NEEDED)
        message = {key: value for key, value in taken(message).items() if value is not None or key == "content"}
    elif "choices" in response and "role" not in response:
        raise InvalidMessage("reply", "the reply has no choices")
    turn = as_assistant(parse(message, "reply"), message)
    return with_usage(turn, dumped(response.get("usage")) if choices else None, USAGE)


def as_message(value: object) -> object:
    """An object of a client library as a dict; any other value as it is. If the object is an assistant message, the
    dict has only the fields that an API takes as input (`TAKEN`)."""
    message = dumped(value, _KEPT)
    if message is value or as_dict(message).get("role") != "assistant":
        return message
    return taken(message)
