"""What the provider answered: a response object, a response as a dict, or the bare items of a turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from msgspec.structs import replace

from transom.core.message import Assistant, Raw, Usage
from transom.errors import InvalidMessage
from transom.wire.openai_responses.items import NAME
from transom.wire.openai_responses.read import read
from transom.wire.reading import kind_of


def parse_reply(reply: object) -> Assistant:
    """The turn a reply holds, with its usage if it came. Raises InvalidMessage if it holds anything but one turn."""
    plain = as_item(reply)
    if isinstance(plain, (list, tuple)):
        return _turn(cast("list[object]", plain))
    if not isinstance(plain, dict):
        raise InvalidMessage("reply", f"a response, an item or a list of items is needed, not {kind_of(plain)}")
    response = cast("Raw", plain)
    if ("type" in response or "role" in response) and response.get("type") != "error":
        return _turn([response])
    _refuse(response)
    fact, usage = _turn(response["output"]), as_item(response.get("usage"))
    return replace(fact, usage=_usage(cast("Raw", usage))) if isinstance(usage, dict) else fact


def as_item(value: object) -> object:
    """A client library's object as the dict that it would send: what was not sent to it is left out."""
    if isinstance(value, dict):
        return cast("Raw", value)
    dump: Callable[..., object] | None = getattr(value, "model_dump", None)
    if not callable(dump):
        return value
    try:
        return dump(mode="json", exclude_unset=True)
    except TypeError:
        plain = dump()
    if not isinstance(plain, dict):
        return plain
    return {key: item for key, item in cast("Raw", plain).items() if item is not None}


def _turn(items: list[object]) -> Assistant:
    if not items:
        return Assistant(shape="absent", dialect=NAME)
    facts = [fact for _, fact in read([as_item(item) for item in items], "reply, ")]
    if len(facts) == 1 and isinstance(facts[0], Assistant):
        return facts[0]
    raise InvalidMessage("reply", "must be one turn of the model: neither anybody else's messages nor outputs of calls")


def _refuse(response: Raw) -> None:
    """Say what came instead of a turn, if it is known."""
    if error := response.get("error"):
        said: Any = cast("Raw", error).get("message") if isinstance(error, dict) else None
        raise InvalidMessage("reply", f"the reply is an error: {said or error!s:.400}")
    if not isinstance(response.get("output"), list):
        raise InvalidMessage("reply", f"the reply's output must be a list, not {kind_of(response.get('output'))}")


def _usage(usage: Raw) -> Usage:
    details: Any = as_item(usage.get("input_tokens_details"))
    cached = cast("Raw", details).get("cached_tokens") if isinstance(details, dict) else 0
    numbers: tuple[Any, ...] = (usage.get("input_tokens"), cached, usage.get("output_tokens"))
    prompt, cached, output = (n if isinstance(n, int) and n > 0 else 0 for n in numbers)
    return Usage(prompt=prompt, cached=cached, output=output)
