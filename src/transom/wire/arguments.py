"""Tool arguments as JSON objects, for APIs that take an object where other APIs take its text."""

from __future__ import annotations

import json
from functools import lru_cache

from transom.core.message import Raw
from transom.errors import InvalidMessage
from transom.wire.fields import compact_json, json_copy

WRAPPED = "arguments"
"""The key under which arguments stand that are not a JSON object: text that was cut off, free text, a list."""


@lru_cache(maxsize=4)
def _parsed(text: str) -> Raw | None:
    """The object in a text of arguments; None if it is not one that can be sent."""
    try:
        value: object = json.loads(text)
        return json_copy({WRAPPED: value}, "")[WRAPPED] if isinstance(value, dict) else None
    except (ValueError, RecursionError, InvalidMessage):  # no JSON; too deep; a number that is not JSON
        return None


def as_object(text: str) -> Raw:
    """The object that a text of arguments holds. Text that is not a JSON object is put under the key `WRAPPED`; no text
    gives {}.

    The object is cached and shared with later callers: copy it before changing it.
    """
    if not text.strip():
        return {}
    value = _parsed(text)
    return {WRAPPED: text} if value is None else value


def object_text(text: str) -> str:
    """The arguments as `as_object` sends them, as compact JSON: for counting."""
    return compact_json(as_object(text))
