"""What a provider answered: a response object, a response as a dict, or just the assistant message."""

from __future__ import annotations

from transom.core.message import Assistant
from transom.errors import InvalidMessage
from transom.wire.openai.input_fields import taken
from transom.wire.openai.parse import parse
from transom.wire.sdk_objects import UsageFields, as_assistant, dumped, require_reply, with_usage
from transom.wire.violations import as_dict, as_list

_NEEDED = "a response or an assistant message"
_KEPT = frozenset({"choices", "content", "reasoning_details"})
"""Where a null was sent, or says something."""
_USAGE = UsageFields(
    prompt="prompt_tokens",
    cached="prompt_tokens_details.cached_tokens|prompt_cache_hit_tokens",
    output="completion_tokens",
    cache_write="prompt_tokens_details.cache_write_tokens|prompt_tokens_details.cache_creation_tokens",
    reasoning="completion_tokens_details.reasoning_tokens",
)
"""DeepSeek names its cached tokens twice; OpenRouter and Anthropic's endpoint say what was written."""


def parse_reply(reply: object) -> Assistant:
    """The turn a reply holds, with its usage if it came. Raises InvalidMessage if there is no assistant message."""
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
    return with_usage(turn, usage, _USAGE)


def as_message(value: object) -> object:
    """A message object of a client library as a dict, without nulls and what only responses have; else as it is."""
    message = dumped(value, _KEPT)
    if message is value or as_dict(message).get("role") != "assistant":
        return message
    return taken(message)
