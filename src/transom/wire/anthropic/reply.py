"""What a provider answered: a response object, a response as a dict, or just the assistant message."""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from transom.core.message import Assistant, Raw, Usage
from transom.errors import InvalidMessage
from transom.wire.anthropic.parse import parse
from transom.wire.anthropic.read import as_message, dumped

_RESPONSE = ("usage", "stop_reason", "type")
"""What a response has and a message of a request has not."""


def parse_reply(reply: object, *, bound: bool) -> Assistant:
    """The turn a reply holds, with its usage if it came. Raises InvalidMessage if there is no turn."""
    message = as_message(reply)
    if not isinstance(message, dict):
        raise InvalidMessage("reply", f"a response or an assistant message is needed, not {type(reply).__name__}")
    fields = cast("Raw", message)
    if error := fields.get("error"):
        said: Any = cast("Raw", error).get("message") if isinstance(error, dict) else None
        raise InvalidMessage("reply", f"the reply is an error: {said or error!s:.400}")
    if any(key in fields for key in _RESPONSE):  # its id, model and the like are not part of the turn
        turn: Raw = {key: fields[key] for key in ("role", "content") if key in fields}
    else:
        turn = fields
    fact = parse(turn, "reply", bound=bound)[0]
    if not isinstance(fact, Assistant):
        raise InvalidMessage("reply", f"role must be assistant, not {turn['role']!r}")
    usage = dumped(fields.get("usage"))
    return replace(fact, usage=_usage(cast("Raw", usage))) if isinstance(usage, dict) else fact


def _usage(usage: Raw) -> Usage:
    """This API tells apart what was read from its cache, written to it, and neither: the prompt is all of it."""
    keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    values: tuple[Any, ...] = tuple(usage.get(key) for key in keys)
    fresh, written, cached, output = (n if isinstance(n, int) and n > 0 else 0 for n in values)
    return Usage(prompt=fresh + written + cached, cached=cached, output=output)
