"""Reads replies of the chat API: a response as an object or a dict, or the assistant message alone."""

from __future__ import annotations

from transom.core.message import Assistant
from transom.errors import InvalidMessage
from transom.wire.openai.input_fields import taken
from transom.wire.openai.parse import parse
from transom.wire.sdk_objects import UsageFields, as_assistant, dumped, require_reply, with_usage
from transom.wire.violations import as_dict, as_list

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
    """The turn in a reply, with its usage if that came.

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
    return with_chat_usage(turn, dumped(response.get("usage")) if choices else None)


def with_chat_usage(turn: Assistant, usage: object) -> Assistant:
    """A copy of the turn with its usage. `usage`: the `usage` of a chat API response, as a dict; for anything
    else the turn is returned as it is."""
    return with_usage(turn, usage, USAGE)


def as_message(value: object) -> object:
    """An assistant message of a client library as a dict, without nulls and fields that only responses have; any other
    value as it is."""
    message = dumped(value, _KEPT)
    if message is value or as_dict(message).get("role") != "assistant":
        return message
    return taken(message)
