"""What a provider answered: a response object, a response as a dict, or just the assistant message."""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from transom.core.message import Assistant, Raw, Usage
from transom.errors import InvalidMessage
from transom.wire.openai_chat.parse import parse


def parse_reply(reply: object) -> Assistant:
    """The turn a reply holds, with its usage if it came. Raises InvalidMessage if there is no assistant message."""
    response = _plain(_dumped(reply))
    listed = response.get("choices")
    choices = cast("list[object]", listed) if isinstance(listed, list) else []
    message = _first(choices) if choices else _plain(as_message(reply))
    if not choices and "role" not in response:
        _refuse(response)
    fact = parse(message, "reply")
    if not isinstance(fact, Assistant):
        raise InvalidMessage("reply", f"role must be assistant, not {message.get('role')!r}")
    usage = response.get("usage") if choices else None
    return fact if usage is None else replace(fact, usage=_usage(_plain(_dumped(usage))))


def as_message(value: object) -> object:
    """A message object of a client library as the dict it dumps, what is null left out; anything else as it is."""
    plain = _dumped(value)
    return value if plain is value else _without_nulls(_plain(plain))


def _dumped(value: object) -> object:
    dump = None if isinstance(value, dict) else getattr(value, "model_dump", None)
    return dump() if callable(dump) else cast("object", value)


def _without_nulls(message: Raw) -> Raw:
    """Client libraries fill in null for whatever was not sent; a null content is what was sent."""
    return {key: value for key, value in message.items() if value is not None or key == "content"}


def _first(choices: list[object]) -> Raw:
    choice = _plain(_dumped(choices[0]))
    return _without_nulls(_plain(_dumped(choice.get("message"))))


def _refuse(response: Raw) -> None:
    """Say what came instead of a message, if it is known."""
    if error := response.get("error"):
        said: Any = cast("Raw", error).get("message") if isinstance(error, dict) else None
        raise InvalidMessage("reply", f"the reply is an error: {said or error!s:.400}")
    if "choices" in response:
        raise InvalidMessage("reply", "the reply has no choices")


def _plain(value: object) -> Raw:
    if isinstance(value, dict):
        return cast("Raw", value)
    raise InvalidMessage("reply", f"a response or an assistant message is needed, not {type(value).__name__}")


def _usage(usage: Raw) -> Usage:
    details: Any = usage.get("prompt_tokens_details")
    cached = cast("Raw", details).get("cached_tokens") if isinstance(details, dict) else 0
    numbers: tuple[Any, ...] = (usage.get("prompt_tokens"), cached, usage.get("completion_tokens"))
    prompt, cached, output = (n if isinstance(n, int) and n > 0 else 0 for n in numbers)
    return Usage(prompt=prompt, cached=cached, output=output)
