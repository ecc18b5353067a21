"""Tool arguments as JSON objects. Some APIs take an object; others take its text, and many servers parse that."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import cast

from transom.core.message import Call, Raw
from transom.errors import InvalidMessage, quote
from transom.wire.fields import DEPTH, as_dict, as_list, compact_json, json_copy

WRAPPED = "arguments"
"""The key under which arguments stand that are not a JSON object: text that was cut off, free text, a list."""


CUSTOM_TYPES = {"openai": "custom", "responses": "custom_tool_call"}
"""For each dialect whose API has custom tools, which take free text, the `type` that a call of one has in it."""

TEXT_ARGUMENT = "input"
"""The name of the one argument of a custom tool, where the tool is declared and called as a function."""


def takes_text(call: Call) -> bool:
    """Whether a call is of a custom tool, so that its arguments are free text and no JSON."""
    return (call.extra or {}).get("type") in CUSTOM_TYPES.values()


def function_arguments(call: Call) -> str:
    """The arguments of a call, as those of a function: an API without custom tools has their text as `TEXT_ARGUMENT`.
    The arguments of any other call are returned as they are."""
    return compact_json({TEXT_ARGUMENT: call.args}) if takes_text(call) else call.args


def read_object(text: str) -> Raw:
    """The JSON object that a text of arguments holds; a blank text gives {}.

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


def read_call(text: str) -> Raw:
    """The arguments that a tool is called with, as `read_object` reads them; but a null counts as no arguments, because
    some servers write it for a tool without parameters. Raises InvalidMessage, with a reason for the model."""
    return {} if text.strip() == "null" else read_object(text)


def storable(value: object) -> object:
    """Arguments that an API sent as an object, as a log can store them: a deep copy of the value, or a text. Never
    raises. (A text is returned as it is.)

    A value that holds what JSON has not, or nests too deep, becomes its JSON text or, where it has none, a text that
    says so. No tool can be called with such a text (`read_call`): so the call fails, and not the whole reply.
    """
    try:
        return json_copy({WRAPPED: value}, "arguments")[WRAPPED]
    except InvalidMessage:
        try:
            return json.dumps(value, ensure_ascii=False)
        except (ValueError, TypeError, RecursionError):
            return f"[no JSON, or nested more than {DEPTH} levels deep]"


@lru_cache(maxsize=4)
def _parsed(text: str) -> Raw | None:
    """The object in a text of arguments; None if it is not one that can be sent."""
    try:
        return read_object(text)
    except InvalidMessage:
        return None


def as_object(text: str) -> Raw:
    """The object that a text of arguments holds. Text that `read_object` refuses is put under the key `WRAPPED`; a
    blank text gives {}. Never raises.

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
    """The object that `as_object` makes of a text of arguments, as compact JSON."""
    return compact_json(as_object(text))


_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def schema_violations(schema: Raw, given: Mapping[str, object]) -> list[str]:
    """What is wrong with arguments by a JSON schema, one sentence for each fault; empty if nothing is.

    Only what is plain at the top level is checked: a name that is required and missing, a name that the schema
    excludes, and the `type` of a value; nothing inside the values. A null for what may be missing is no fault: models
    write it for "not given".
    """
    known, required = as_dict(schema.get("properties")), as_list(schema.get("required"))
    wrong = [f"{quote(each)} is missing" for each in required if each not in given]
    if schema.get("additionalProperties") is False and not schema.get("patternProperties"):
        takes = ", ".join(known) or "none"
        wrong += [f"{quote(each)} is unknown; the tool takes: {takes}" for each in given if each not in known]
    for each, value in given.items():
        kinds = as_dict(known.get(each)).get("type")
        names = cast("list[object]", kinds if isinstance(kinds, list) else [kinds])
        types = [kind for name in names if isinstance(name, str) for kind in _JSON_TYPES.get(name, ())]
        is_left_out = value is None and each not in required
        if types and not is_left_out and not _has_type(value, types):
            wrong.append(f"{quote(each)} must be {' or '.join(map(str, names))}, not {quote(value)}")
    return wrong


def _has_type(value: object, types: Sequence[type]) -> bool:
    if isinstance(value, bool):
        return bool in types
    return isinstance(value, tuple(types)) or (int in types and isinstance(value, float) and value.is_integer())
