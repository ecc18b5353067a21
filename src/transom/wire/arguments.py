"""Tool arguments as JSON objects. Some APIs take an object; others take its text, and many servers parse that."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import cast

from transom.core.message import Raw
from transom.errors import InvalidMessage
from transom.wire.fields import DEPTH, compact_json, json_copy

WRAPPED = "arguments"
"""The key under which arguments stand that are not a JSON object: text that was cut off, free text, a list."""


def read_object(text: str) -> Raw:
    """The JSON object that a text of arguments holds; no text gives {}.

    Raises InvalidMessage, with a reason for the model: no JSON, no object, more than `DEPTH` levels, a number that JSON
    has not (NaN) or that is too long. This is the only place where arguments that a model wrote are parsed to be used:
    a parser that recurses must not meet a text that nests deeper than the stack.
    """
    try:
        value: object = json.loads(text) if text.strip() else {}
    except RecursionError:
        raise InvalidMessage("arguments", f"nested more than {DEPTH} levels deep") from None
    except ValueError as error:
        raise InvalidMessage("arguments", f"not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidMessage("arguments", "must be a JSON object")
    return json_copy(cast("Raw", value), "arguments")


def storable(value: object) -> object:
    """Arguments that an API sent as an object, for the log: the same value, or, if it holds what JSON has not or nests
    too deep, an object with their text under the key `WRAPPED`. So the call fails, and not the whole reply.
    """
    try:
        return json_copy({WRAPPED: value}, "arguments")[WRAPPED]
    except InvalidMessage:
        try:
            return {WRAPPED: json.dumps(value, ensure_ascii=False)}
        except (ValueError, TypeError, RecursionError):
            return {WRAPPED: f"nested more than {DEPTH} levels deep"}


@lru_cache(maxsize=4)
def _parsed(text: str) -> Raw | None:
    """The object in a text of arguments; None if it is not one that can be sent."""
    try:
        return read_object(text)
    except InvalidMessage:
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


def sent_text(text: str) -> str:
    """The arguments for an API that takes their text: `text` itself if it is a JSON object, else what `as_object` makes
    of it. Servers refuse any other text, in every later request too (E: llama.cpp, `Failed to parse tool call
    arguments as JSON`)."""
    return text if text.strip() and _parsed(text) is not None else object_text(text)


def object_text(text: str) -> str:
    """The arguments as `as_object` sends them, as compact JSON: for counting."""
    return compact_json(as_object(text))
