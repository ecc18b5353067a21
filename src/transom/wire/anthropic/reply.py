"""Reads replies of the Messages API: a response as an object or a dict, or the assistant message alone."""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from transom.core.message import Assistant, Raw
from transom.wire.anthropic.parse import as_message, parse
from transom.wire.anthropic.server_tools import call_of, result_of
from transom.wire.arguments import storable
from transom.wire.bound_reasoning import bind
from transom.wire.sdk_objects import UsageFields, as_assistant, dumped, require_reply, with_usage
from transom.wire.stop_reason import stop_reason
from transom.wire.violations import as_dict, dicts, text

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
    """The turn in a reply, with its usage and container if they came. `bound`: see `AnthropicDialect`.

    A reply that reached a limit or was refused has no calls of the provider's own tools without a result: such a call
    never ran, and the API refuses it. Raises InvalidMessage for an error, and for a message that is not the
    assistant's.
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
    """The message with the input of each call as a log can store it: what a model wrote there does not make the reply
    unreadable."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    blocks = cast("list[object]", content)
    return {**message, "content": [_storable_block(cast("Raw", x)) if isinstance(x, dict) else x for x in blocks]}


def _storable_block(block: Raw) -> Raw:
    return {**block, "input": storable(block["input"])} if "input" in block else block


def without_refused_blocks(content: list[Any]) -> list[Any]:
    """The blocks of a message that ended too early, without what the API refuses: calls of the provider's own tools
    without a result, and thinking at the end."""
    answered = {result_of(block) for block in dicts(content)} - {""}
    out = [block for block in content if not (label := call_of(as_dict(block))) or label in answered]
    while out and as_dict(out[-1]).get("type") in ("thinking", "redacted_thinking"):
        out.pop()
    return out
