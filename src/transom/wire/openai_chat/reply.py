"""What a provider answered: a response object, a response as a dict, or just the assistant message."""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from transom.core.message import Assistant, Raw, Usage
from transom.errors import InvalidMessage
from transom.wire.openai_chat.parse import parse


def parse_reply(reply: object) -> Assistant:
    """The turn a reply holds, with its usage if it came. Raises InvalidMessage if there is no assistant message."""
    response = _plain(reply)
    choices = response.get("choices")
    message = response
    if isinstance(choices, list):
        first: Any = next(iter(cast("list[object]", choices)), None)
        message = _plain(_plain(first).get("message") if first is not None else None)
        message = {key: value for key, value in message.items() if value is not None or key == "content"}
    fact = parse(message, "reply")
    if not isinstance(fact, Assistant):
        raise InvalidMessage("reply", f"role must be assistant, not {message.get('role')!r}")
    usage = response.get("usage")
    return fact if usage is None or not isinstance(choices, list) else replace(fact, usage=_usage(_plain(usage)))


def _plain(value: object) -> Raw:
    """A dict as it is; a response object of a client library through its own `model_dump`."""
    if isinstance(value, dict):
        return cast("Raw", value)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return cast("Raw", dump())
    raise InvalidMessage("reply", f"a response or an assistant message is needed, not {type(value).__name__}")


def _usage(usage: Raw) -> Usage:
    details: Any = usage.get("prompt_tokens_details")
    cached = cast("Raw", details).get("cached_tokens") if isinstance(details, dict) else 0
    numbers: tuple[Any, ...] = (usage.get("prompt_tokens"), cached, usage.get("completion_tokens"))
    prompt, cached, output = (n if isinstance(n, int) and n > 0 else 0 for n in numbers)
    return Usage(prompt=prompt, cached=cached, output=output)
