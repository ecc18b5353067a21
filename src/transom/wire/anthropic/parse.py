"""Reads messages and replies as facts. Nothing that the API takes is lost: fields without a place stay in `extra`.

A user message gives one result for each of its `tool_result` blocks, and a user fact for the rest. Input is copied, so
that later changes by the caller do not reach the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from transom.core import message as m
from transom.core.message import Assistant, Call, Fact, Raw, Text, ToolResult, continued, turn_of
from transom.errors import InvalidMessage
from transom.wire.anthropic.server_tools import call_of, remove_last_thoughts, result_of, with_pending_calls
from transom.wire.arguments import WRAPPED, storable
from transom.wire.bound_reasoning import bind
from transom.wire.dialect import Placed
from transom.wire.fields import (
    MediaTypes,
    as_dict,
    as_text,
    dicts,
    is_text,
    json_copy,
    kind_of,
    message_list,
    other_part,
    require_object,
    take_content,
    take_role,
    take_text,
    text,
    text_part,
)
from transom.wire.replies import UsageFields, as_assistant, dumped, require_reply, stop_reason, with_usage

DIALECT_NAME = "anthropic"

SIGNED = {"thinking": "thinking", "redacted_thinking": "data"}
"""The kinds of reasoning blocks, and the key of the text in each."""

MEDIA_TYPES: MediaTypes = {"image": "image", "document": "file"}
"""Blocks that hold an image or a file."""

_CONTENT = "a string or a list of blocks"


def read(messages: Sequence[object], where: str) -> list[Placed]:
    """The facts of a list of messages, each with the index of its message. `where`: what errors say before that index.

    A turn that goes on in the next message (its calls have no results yet, or a tool of the provider is still at work)
    is one fact, because its pieces are invalid alone. The first fact of any other message of the same role as the one
    before it is marked `separate`: it is not joined to that one when it is sent. Reasoning is not marked as bound.
    Raises InvalidMessage for a message that is not in this dialect.
    """
    out: list[Placed] = []
    before: Raw = {}
    for at, item in enumerate(message_list(messages, where or "messages")):
        message = as_message(item)
        facts = parse(message, f"{where}, message {at}" if where else f"message {at}")
        fields = cast("Raw", message)
        if fields["role"] == before.get("role"):
            last = out[-1][1]
            if isinstance(last, Assistant) and isinstance(facts[0], Assistant) and _goes_on(last):
                out[-1] = (out[-1][0], with_pending_calls(continued(last, facts[0])))
                continue
            facts[0] = replace(facts[0], separate=True)
        out.extend((at, fact) for fact in facts)
        before = fields
    return out


def _goes_on(turn: Assistant) -> bool:
    """Whether the next message of the model belongs to the same turn: this one ends with open calls, or a call of the
    provider's own tool. Blank texts do not count: they are not sent."""
    last = next((part for part in reversed(turn.parts) if not isinstance(part, Text) or part.text.strip()), None)
    return bool(turn.calls) or (isinstance(last, m.Other) and bool(call_of(last.raw)))


def as_message(value: object) -> object:
    """A message as dicts, for `parse`: the message, and each block of its content, may be an object of a client
    library. Objects lose the nulls that the library filled in; a tool's input keeps its nulls. A value that is neither
    such an object nor a dict is returned as it is."""
    message = dumped(value, {"input"})
    if not isinstance(message, dict):
        return message
    fields = cast("Raw", message)
    if isinstance(fields.get("content"), list):
        return {**fields, "content": [dumped(block, {"input"}) for block in cast("list[object]", fields["content"])]}
    return fields


def parse(message: object, where: str = "message") -> list[Fact]:
    """The facts in one message, at least one. `message`: a dict; one of a client library must have gone through
    `as_message`. A user message gives a result for each of its `tool_result` blocks, and then a user fact for the rest,
    if there is any. Reasoning is not marked as bound. `where`: what errors say first.

    Raises InvalidMessage if the message is no dict, has no known role, is another dialect's, or a field has the wrong
    type.
    """
    fields = json_copy(require_object(message, where, "a message"), where)
    role = take_role(fields, where, DIALECT_NAME, ("assistant", "user", "system"))
    if role == "assistant":
        items, shape = take_content(fields, "content", where, _CONTENT, _item)
        return [with_pending_calls(turn_of(items, shape=shape, extra=fields or None, dialect=DIALECT_NAME))]
    if role == "system":
        parts, shape = take_content(fields, "content", where, _CONTENT, _part)
        return [m.Instruction(parts=parts, shape=shape, extra=fields or None, dialect=DIALECT_NAME)]
    blocks, shape = take_content(fields, "content", where, _CONTENT, _user_block)
    facts: list[Fact] = [each for each in blocks if isinstance(each, ToolResult)]
    parts = tuple(each for each in blocks if not isinstance(each, ToolResult))
    if parts or not facts:
        extra = None if facts else fields or None
        facts.append(m.User(parts=parts, shape=shape, extra=extra, dialect=DIALECT_NAME))
    return facts


def _user_block(block: Raw, where: str, path: str) -> m.Part | ToolResult:
    """A block of a user message: a result, or a content part."""
    return (_result if block.get("type") == "tool_result" else _part)(block, where, path)


def _part(block: Raw, where: str, path: str) -> m.Part:
    """A content part."""
    kind: object = block.get("type")
    if not isinstance(kind, str):
        raise InvalidMessage(where, f"{path}.type must be a string, not {kind_of(kind)}")
    if kind == "text":
        _drop_response_only(block)
        return text_part(block, "text", where, path, drop={"type", "text"})
    if kind == "compaction":  # without a content, the compaction failed: it stands for nothing
        return m.Other(block, compaction=any(is_text(block.get(key)) for key in ("content", "encrypted_content")))
    return other_part(block, MEDIA_TYPES)


def _drop_response_only(block: Raw) -> None:
    """Remove fields from a text block, in place, that responses or the SDK's `.parse()` add and the API refuses."""
    block.pop("parsed_output", None)
    citations = block.get("citations")
    for citation in cast("list[object]", citations) if isinstance(citations, list) else ():
        if isinstance(citation, dict):
            cast("Raw", citation).pop("file_id", None)


def _item(block: Raw, where: str, path: str) -> m.Addressed:
    """A block of a turn: a call, reasoning, or a content part."""
    kind: object = block.get("type")
    if kind == "tool_use":
        return _call(block, where, f"{path}.")
    if kind == "tool_result":
        raise InvalidMessage(where, f"{path} is a tool_result: it belongs into a user message")
    if not isinstance(kind, str) or kind not in SIGNED:
        return _part(block, where, path)
    key = SIGNED[kind]
    thought = text_part(block, key, where, path, drop={"type", key})
    return m.Reasoning(thought.text, kind, extra=thought.extra)


def _call(block: Raw, where: str, path: str) -> Call:
    """The call in a `tool_use` block."""
    del block["type"]
    label, name = take_text(block, "id", where, path), take_text(block, "name", where, path)
    args = as_text(block.pop("input", None))  # a client that gathered a stream may have left it as a text
    return Call(label, name, args, block or None)


def _result(block: Raw, where: str, path: str) -> ToolResult:
    """The result in a `tool_result` block."""
    del block["type"]
    call = take_text(block, "tool_use_id", where, f"{path}.")
    failed = block.get("is_error") is True
    if failed:
        del block["is_error"]
    parts, shape = take_content(block, "content", where, _CONTENT, _part, f"{path}.")
    return ToolResult(parts=parts, shape=shape, call=call, failed=failed, extra=block or None, dialect=DIALECT_NAME)


# ---- replies

_RESPONSE = ("usage", "stop_reason", "type")
"""Fields that a response has and a message of a request has not."""

USAGE = UsageFields(
    prompt="input_tokens cache_creation_input_tokens cache_read_input_tokens",
    cached="cache_read_input_tokens",
    output="output_tokens",
    cache_write="cache_creation_input_tokens",
    reasoning="output_tokens_details.thinking_tokens",
)
"""This API counts separately what it read from its cache, wrote to it, and neither: the prompt is the sum."""


def parse_reply(reply: object, *, bound: bool) -> Assistant:
    """The turn in a reply, with its usage and container if they came. `reply`: a response or the model's message, as an
    object or a dict; a stream's chunks are for `AnthropicAccumulator`. `bound`: see `AnthropicDialect`.

    A reply that reached a limit or was refused loses what the API would refuse: the calls of the provider's own tools
    that have no result, because they never ran, and thinking at its end. Raises InvalidMessage for an error, and for a
    message that is not the assistant's.
    """
    turn = fields = _with_storable_input(require_reply(as_message(reply), "a response or an assistant message"))
    if any(key in fields for key in _RESPONSE):  # its id, model and the like are not part of the turn
        turn: Raw = {key: fields[key] for key in ("role", "content") if key in fields}
    if stop_reason(fields.get("stop_reason")) in ("length", "filter") and isinstance(turn.get("content"), list):
        turn = {**turn, "content": without_refused_blocks(turn["content"])}
    fact = as_assistant(parse(turn, "reply")[0], turn)
    if bound:
        fact = as_assistant(bind(fact, fields.get("model")), turn)
    if container := text(as_dict(fields.get("container")), "id"):
        fact = replace(fact, container=container)
    return with_usage(fact, dumped(fields.get("usage")), USAGE)


def _with_storable_input(message: Raw) -> Raw:
    """The message with the input of each call as a log can store it, so that the reply stays readable."""
    if not isinstance(message.get("content"), list):
        return message
    given = [(block, as_dict(block)) for block in message["content"]]
    blocks = [{**fields, "input": _storable_input(fields)} if "input" in fields else x for x, fields in given]
    return {**message, "content": blocks}


def _storable_input(block: Raw) -> object:
    """The input of a call for the log. That of a provider's own tool is sent back as it is, so it stays an object."""
    found = storable(block["input"])
    is_sent_as_it_is = block.get("type") != "tool_use" and isinstance(block["input"], dict)
    return {WRAPPED: found} if is_sent_as_it_is and isinstance(found, str) else found


def without_refused_blocks(content: list[Any]) -> list[Any]:
    """A new list of the blocks of a message that ended too early, without what the API refuses: calls of the provider's
    own tools without a result, and thinking at the end."""
    answered = {result_of(block) for block in dicts(content)} - {""}
    out = [block for block in content if not (label := call_of(as_dict(block))) or label in answered]
    remove_last_thoughts(out)
    return out
