"""Translates Gemini's schemas, which are a part of OpenAPI, to JSON Schema, as all other APIs want it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from transom.core.message import Raw
from transom.wire.fields import as_list

_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})

_NAMES = {
    "any_of": "anyOf",
    "additional_properties": "additionalProperties",
    "defs": "$defs",
    "ref": "$ref",
    "property_ordering": "propertyOrdering",
    **{f"{end}_{what}": f"{end}{what.title()}" for end in ("min", "max") for what in ("items", "length", "properties")},
}
"""Keys of Gemini and of its SDK that JSON Schema writes in another way."""

_NUMBERS = frozenset(f"{end}{what}" for end in ("min", "max") for what in ("Items", "Length", "Properties"))
"""Keys whose numbers Google's JSON may write as text."""


def json_schema_of(schema: Raw) -> Raw:
    """The JSON Schema of a schema of Gemini. The names of types are in lower case. What may be null has "null" among
    its types, and among its values if they are listed. The order of properties is left out. Keys that mean the same in
    both are kept, and so is what is JSON Schema already.

    Schemas are translated wherever they stand: in `items`, `properties`, `anyOf` and so on.
    """
    out: Raw = {}
    for given, value in schema.items():
        key = _NAMES.get(given, given)
        if key in {"nullable", "propertyOrdering"} or value == "TYPE_UNSPECIFIED":
            continue
        translate = _TRANSLATED.get(key)
        if translate is not None:
            out[key] = translate(value)
        elif key in _NUMBERS and isinstance(value, str) and value.isdecimal():
            out[key] = int(value)
        else:
            out[key] = value
    return _with_null(out) if schema.get("nullable") is True else out


def _one(value: Any) -> Any:
    """A schema; anything else, such as true, as it is."""
    return json_schema_of(cast("Raw", value)) if isinstance(value, dict) else value


def _by_name(value: Any) -> Any:
    return {name: _one(each) for name, each in cast("Raw", value).items()} if isinstance(value, dict) else value


def _type(value: Any) -> Any:
    return value.lower() if isinstance(value, str) and value in _TYPES else value


_TRANSLATED: dict[str, Callable[[Any], Any]] = {
    "type": _type,
    "items": _one,
    "additionalProperties": _one,
    "properties": _by_name,
    "$defs": _by_name,
    "anyOf": lambda value: [_one(each) for each in as_list(value)],
    "$ref": lambda value: value.replace("#/defs/", "#/$defs/", 1) if isinstance(value, str) else value,
}
"""How the value under a key is translated."""


def _with_null(schema: Raw) -> Raw:
    """The schema that null fits too."""
    out = {**schema}
    if isinstance(kind := schema.get("type"), str) and kind != "null":
        out["type"] = [kind, "null"]
    if isinstance(values := schema.get("enum"), list) and None not in values:
        out["enum"] = [*cast("list[Any]", values), None]
    if isinstance(choices := schema.get("anyOf"), list) and {"type": "null"} not in choices:
        out["anyOf"] = [*cast("list[Any]", choices), {"type": "null"}]
    return out
