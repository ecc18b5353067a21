"""Tool arguments for APIs that take a JSON object where others take its text."""

from __future__ import annotations

import json
from functools import lru_cache
from math import isfinite
from typing import Any, cast

from transom.core.message import Raw
from transom.wire.reading import DEPTH, compact

WRAPPED = "arguments"
"""Under this key stand arguments that are no JSON object: cut off, free text, a list."""


@lru_cache(maxsize=4)
def _parsed(text: str) -> Raw | None:
    try:
        value: object = json.loads(text, parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return cast("Raw", value) if isinstance(value, dict) and _depth(cast("Raw", value)) <= DEPTH else None


def as_object(text: str) -> Raw:
    """The object an arguments text is; one that is none comes whole, as a text, under one key. No arguments: {}.

    The object is shared with the next caller of the same text: copy what is to be changed.
    """
    if not text.strip():
        return {}
    value = _parsed(text)
    return {WRAPPED: text} if value is None else value


def object_text(text: str) -> str:
    """The compact JSON of `as_object`: what is counted."""
    return compact(as_object(text))


def _refused(name: str) -> Any:
    raise ValueError(name)


def _finite(text: str) -> float:
    """A number too large for a float would go out as Infinity, which is not JSON."""
    value = float(text)
    return value if isfinite(value) else _refused(text)


def _depth(value: Raw) -> int:
    """How deep a JSON value nests, without recursion."""
    deepest = 0
    stack: list[tuple[object, int]] = [(value, 1)]
    while stack:
        item, level = stack.pop()
        if isinstance(item, (dict, list)):
            deepest = max(deepest, level)
            members = cast("Raw", item).values() if isinstance(item, dict) else cast("list[object]", item)
            stack.extend((member, level + 1) for member in members)
    return deepest
