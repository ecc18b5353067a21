"""Tool arguments for APIs that take a JSON object where others take its text."""

from __future__ import annotations

import json
from functools import lru_cache

from transom.core.message import Raw
from transom.errors import InvalidMessage
from transom.wire.fields import compact_json, json_copy

WRAPPED = "arguments"
"""Under this key stand arguments that are no JSON object: cut off, free text, a list."""


@lru_cache(maxsize=4)
def _parsed(text: str) -> Raw | None:
    try:
        value: object = json.loads(text)
        return json_copy({WRAPPED: value}, "")[WRAPPED] if isinstance(value, dict) else None
    except (ValueError, RecursionError, InvalidMessage):  # no JSON; too deep; a number that is not JSON
        return None


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
    return compact_json(as_object(text))
