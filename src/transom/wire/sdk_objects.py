"""What the replies of all providers share: a client library's objects, errors that came instead, and usage."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from functools import reduce
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from transom.core.message import Assistant, Fact, Raw, Usage
from transom.errors import InvalidMessage
from transom.wire.violations import as_dict


def dumped(value: object, keep: Collection[str] = (), **how: object) -> object:
    """A client library's object as the JSON it stands for; anything else as it is.

    `how`: what its `model_dump` is asked for. One that takes no such words fills in null for whatever was not sent:
    see `without_nulls`.
    """
    dump: Any = None if isinstance(value, dict) else getattr(value, "model_dump", None)
    if not callable(dump):
        return cast("object", value)
    # the SDKs' own parsed objects do not fit their declared types: pydantic would warn the user of it
    for words in ({**how, "warnings": False}, how):
        with suppress(TypeError):
            out = dump(**words)
            return out if how else without_nulls(out, keep)
    return without_nulls(dump(), keep)


def without_nulls(value: Any, keep: Collection[str]) -> Any:
    """JSON without its nulls; what stands under the keys `keep` is somebody's own, and a null says something there."""
    if isinstance(value, list):
        return [without_nulls(item, keep) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("Raw", value).items()
    return {key: x if key in keep else without_nulls(x, keep) for key, x in fields if x is not None or key in keep}


def require_reply(value: object, needed: str) -> Raw:
    """It as an object. Raises InvalidMessage if it is none, or an error."""
    if not isinstance(value, dict):
        raise InvalidMessage("reply", f"{needed} is needed, not {type(value).__name__}")
    fields = cast("Raw", value)
    if error := fields.get("error"):
        raise InvalidMessage("reply", f"the reply is an error: {as_dict(error).get('message') or error!s:.400}")
    return fields


def as_assistant(fact: Fact, message: Raw) -> Assistant:
    """The fact that a message is. Raises InvalidMessage if somebody else said it."""
    if isinstance(fact, Assistant):
        return fact
    raise InvalidMessage("reply", f"role must be assistant, not {message['role']!r}")


class UsageFields(Struct, frozen=True, kw_only=True):
    """Where a dialect's usage has each number of `Usage`.

    Paths, words apart, are added up. Of alternatives (`a|b`) the first that is above 0 counts.
    """

    prompt: str
    cached: str
    output: str
    cache_write: str = ""
    reasoning: str = ""


def with_usage(turn: Assistant, usage: object, where: UsageFields) -> Assistant:
    """The turn with its usage, if that came. What is no number above 0 counts nothing."""
    if not isinstance(usage, dict):
        return turn
    fields = cast("Raw", usage)
    found = {name: sum(_number(fields, path) for path in getattr(where, name).split()) for name in _USAGE_FIELDS}
    return replace(turn, usage=Usage(**found))


_USAGE_FIELDS = Usage.__struct_fields__


def _number(fields: Raw, alternatives: str) -> int:
    for path in alternatives.split("|"):
        value = reduce(lambda held, key: as_dict(held).get(key), path.split("."), cast("Any", fields))
        if isinstance(value, int) and value > 0:
            return value
    return 0
