"""Joins function calls whose arguments come in pieces (Vertex, `streamFunctionCallArguments`).

The first piece has the name. Each of the next ones has values for places in the arguments, named by a JSON path; a text
may come in several pieces. The last piece does not say that more will come.
"""

from __future__ import annotations

import re
from typing import Any, cast

from transom.core.message import Raw
from transom.wire.gemini.keys import CALL, key_of_part
from transom.wire.violations import as_dict, dicts, text

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]""")
"""A step of a JSON path: a key after a dot, an index, or a key in quotes."""
_VALUES = ("stringValue", "numberValue", "boolValue", "string_value", "number_value", "bool_value")
_MOST_STEPS, _MOST_ITEMS = 100, 100_000
"""The most steps of a path, and items of a list. More is a mistake, which must not fill the memory."""


def is_piece(part: Raw) -> bool:
    """Whether a part is a piece of a call that is not its last one."""
    call = call_in(part)
    return any(call.get(key) for key in ("partialArgs", "partial_args", "willContinue", "will_continue"))


def begins_another(part: Raw, piece: Raw) -> bool:
    """Whether a part does not continue the call in `part`: it has whole arguments, or another name or id."""
    held, more = call_in(part), call_in(piece)
    return "args" in more or any(held.get(key) and more.get(key, held[key]) != held[key] for key in ("id", "name"))


def with_piece(part: Raw, piece: Raw) -> Raw:
    """A copy of a part with a call, to which one more piece is added. Fields beside the call (its signature) stay."""
    key = key_of_part(part, CALL) or CALL[0]
    call, more = dict(call_in(part)), call_in(piece)
    arguments: Any = call.get("args") or {}
    for each in dicts(more.get("partialArgs") or more.get("partial_args")):
        value = next((each[name] for name in _VALUES if name in each), None)
        keys = _keys(text(each, "jsonPath") or text(each, "json_path"))
        arguments = _placed(arguments, keys, value) if len(keys) <= _MOST_STEPS else arguments
    beside = {name: value for name, value in piece.items() if name not in CALL}
    known = {name: more[name] for name in ("id", "name") if more.get(name)}
    return {**part, **beside, key: {**call, **known, "args": as_dict(arguments)}}


def call_in(part: Raw) -> Raw:
    """The call in a part."""
    return as_dict(part.get(key_of_part(part, CALL) or ""))


def _keys(path: str) -> list[str | int]:
    """The steps of a JSON path."""
    steps = _STEP.findall(path.removeprefix("$"))
    return [int(at) if at else key or re.sub(r"\\(.)", r"\1", "".join(quoted)) for key, at, *quoted in steps]


def _placed(held: Any, keys: list[str | int], value: Any) -> Any:
    """A JSON value with `value` at the end of these steps. Lists and objects are changed in place; a text is added to
    the text that is there."""
    if not keys:
        return held + value if isinstance(held, str) and isinstance(value, str) else value
    key, rest = keys[0], keys[1:]
    if isinstance(key, str):
        fields = as_dict(held)
        fields[key] = _placed(fields.get(key), rest, value)
        return fields
    items = cast("list[Any]", held) if isinstance(held, list) else list[Any]()
    if key < _MOST_ITEMS:
        items.extend([None] * (key + 1 - len(items)))
        items[key] = _placed(items[key], rest, value)
    return items
