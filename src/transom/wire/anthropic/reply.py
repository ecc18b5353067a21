"""Reads replies of the Messages API: a response as an object or a dict, or the assistant message alone."""

from __future__ import annotations

from typing import cast

from transom.core.message import Assistant, Raw
from transom.wire.anthropic.parse import as_message, parse
from transom.wire.arguments import storable
from transom.wire.bound_reasoning import bind
from transom.wire.sdk_objects import UsageFields, as_assistant, dumped, require_reply, with_usage

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
    """The turn in a reply, with its usage if that came. `bound`: see `AnthropicDialect`.

    Raises InvalidMessage for an error, and for a message that is not the assistant's.
    """
    turn = fields = _with_storable_input(require_reply(as_message(reply), "a response or an assistant message"))
    if any(key in fields for key in _RESPONSE):  # its id, model and the like are not part of the turn
        turn: Raw = {key: fields[key] for key in ("role", "content") if key in fields}
    fact = as_assistant(parse(turn, "reply")[0], turn)
    if bound:
        fact = as_assistant(bind(fact, fields.get("model")), turn)
    return with_usage(fact, dumped(fields.get("usage")), USAGE)


def _with_storable_input(message: Raw) -> Raw:
    """The message with the input of each call as a log can store it: what a model wrote there does not make the reply
    unreadable."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    blocks = cast("list[object]", content)
    return {**message, "content": [_storable_block(cast("Raw", x)) if isinstance(x, dict) else x for x in blocks]}


def _storable_block(block: Raw) -> Raw:
    return {**block, "input": storable(block["input"])} if "input" in block else block
