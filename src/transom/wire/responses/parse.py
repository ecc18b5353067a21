"""A list of items to facts. Nothing is lost that the API takes: what has no field of its own stays in an `extra`.

The items of the model that follow one another (reasoning, messages, calls, what it did with built-in tools and what
those gave back) are one turn, which remembers their order; a message of anybody else or the answer to a call ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Any, cast

from msgspec.structs import replace

from transom.core import message as m
from transom.core.message import Part, Raw
from transom.errors import InvalidMessage
from transom.wire.dialect import Placed
from transom.wire.fields import (
    as_text,
    is_text,
    json_copy,
    kind_of,
    require_dialect,
    require_object,
    require_role,
    take_content,
    take_text,
)
from transom.wire.parts import MediaTypes, other_part, text_part
from transom.wire.responses.built_in import BUILT_IN_OUTPUTS, client_outputs, is_clients, read_call, read_output
from transom.wire.turns import turn_of

NAME = "responses"
"""What facts call this dialect."""

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""The calls a caller answers, and where each keeps what the tool is given."""

OUTPUTS = {kind: f"{kind}_output" for kind in CALLS}
ANSWERS = frozenset(OUTPUTS.values())

TEXTS = {"input_text": "text", "output_text": "text", "refusal": "refusal", "summary_text": "text", "text": "text"}
"""Content parts that are words, and where each keeps them. `text` is chat's: the API refuses it."""

MODEL_TEXT, USER_TEXT = "output_text", "input_text"
"""What a text part is called in the model's messages, and in everybody else's."""

INSTRUCTIONS = "instructions"
"""Marks the instruction that stands beside the items in a request."""

ITEMS = "items"
"""Where a turn remembers the fields of the messages it came in, null for each item that is a part by itself. `content`
is there only if it was a string, or empty: then the turn holds one empty text for it."""

TOOLS = "additional_tools"
"""An item that is no message, and not the model's either: tools that the developer adds."""

RESPONSE_ONLY = ("created_by", "parsed_arguments", "provider_specific_fields")
"""Fields of items that only responses have. See docs/why/response-fields.md."""

MEDIA_TYPES: MediaTypes = {
    "input_file": "file",
    "input_audio": "file",
    "input_image": "image",
    "computer_screenshot": "image",
    "image_generation_call": "image",
    "computer_call_output": "image",
}
"""Content parts and items that hold an image or a file."""

_ROLES = ("user", "assistant", "system", "developer")

_Item = tuple[int, str, Raw]
"""An item: its index, what errors call it, its fields."""


def kind(item: Raw) -> str:
    return item.get("type") or "message"


def is_models(item: Raw) -> bool:
    """Whether the model made an item: said, thought or called it, or did it with the provider's own tools."""
    type_ = kind(item)
    if type_ == "tool_search_output":
        return item.get("execution") != "client"
    outputs = ANSWERS | BUILT_IN_OUTPUTS
    return item.get("role") == "assistant" if type_ == "message" else type_ not in outputs and type_ != TOOLS


def read(items: Sequence[object], prefix: str = "") -> list[Placed]:
    """The facts of a list of items, each with the index of its first item. Raises InvalidMessage, naming the item."""
    known = [(at, where := f"{prefix}item {at}", _fields_of(item, where)) for at, item in enumerate(items)]
    outputs = client_outputs(fields for _, _, fields in known)
    out: list[Placed] = []
    for models, run in groupby(known, lambda item: item[0] not in outputs and _is_of_turn(item[2])):
        if models:
            out.append(_turn(list(run)))
            continue
        for at, where, fields in run:
            label = outputs.get(at)
            out.append((at, _others(fields, where) if label is None else read_output(fields, label, NAME)))
    return out


def _is_of_turn(item: Raw) -> bool:
    """Whether an item that is no output of the client's belongs to a turn: so does an output of the provider's."""
    return kind(item) in BUILT_IN_OUTPUTS or is_models(item)


def _fields_of(item: object, where: str) -> Raw:
    """A copy of an item's fields, sure to have a type or the role of a message."""
    fields = require_dialect(json_copy(require_object(item, where, "an item"), where), where, "responses")
    type_ = fields.get("type")
    if not is_text(type_) and (type_ is not None or "role" not in fields):
        what = f"the item has no role, and its type must be a string, not {kind_of(type_ or None)}"
        raise InvalidMessage(where, what)
    if kind(fields) == "message":
        require_role(_ROLES, fields.get("role"), where)
    _drop_response_only(fields)
    return fields


def _drop_response_only(fields: Raw) -> None:
    """Take out what the API adds to its items, or the SDK's `.parse()`, and the API does not take as input."""
    for key in RESPONSE_ONLY:
        fields.pop(key, None)
    if kind(fields) == "custom_tool_call_output":
        fields.pop("status", None)
    content = fields.get("content")
    for part in cast("list[object]", content) if isinstance(content, list) else ():
        if isinstance(part, dict):
            cast("Raw", part).pop("parsed", None)


def _others(fields: Raw, where: str) -> m.Fact:
    """What is not the model's."""
    if kind(fields) == TOOLS:
        return m.Instruction(parts=(m.Other(fields),), shape="parts", role="developer", dialect=NAME)
    if kind(fields) in ANSWERS:
        del fields["type"]  # its call says it
        return m.ToolResult(call=take_text(fields, "call_id", where, ""), **_user_fields(fields, "output", where))
    role = fields.pop("role")
    heard = _user_fields(fields, "content", where)
    return m.User(**heard) if role == "user" else m.Instruction(role=role, **heard)


def _user_fields(fields: Raw, key: str, where: str) -> dict[str, Any]:
    parts, shape = _content(fields, key, where, USER_TEXT)
    return {"parts": parts, "shape": shape, "extra": fields or None, "dialect": NAME}


def _turn(items: list[_Item]) -> Placed:
    pieces: list[m.Addressed] = []
    messages: list[Raw | None] = []
    order = ""  # with a bar before each message
    for _, where, fields in items:
        if kind(fields) == "reasoning":
            pieces.append(_thought(fields, where))
            order += "r"
        elif kind(fields) in CALLS or is_clients(fields):
            pieces.append(_call(fields, where) if kind(fields) in CALLS else read_call(fields))
            order += "c"
        else:
            said = _message(fields, where) if kind(fields) == "message" else (other_part(fields, MEDIA_TYPES),)
            pieces += said
            order += "|" + "p" * len(said)
            messages.append(fields if kind(fields) == "message" else None)
    shape = "parts" if messages else "absent"
    turn = turn_of(pieces, shape=shape, extra={ITEMS: messages} if messages else None, dialect=NAME)
    return items[0][0], replace(turn, order=order) if len(messages) > 1 else turn


def _message(fields: Raw, where: str) -> tuple[Part, ...]:
    """What a message of the model says, taken out of its fields: see `ITEMS`."""
    parts, shape = _content(fields, "content", where, MODEL_TEXT)
    if shape != "parts" or not parts:
        fields["content"] = [] if shape == "parts" else ""
    return parts or (m.Text(""),)


def _call(fields: Raw, where: str) -> m.Call:
    """A call; one of a custom tool keeps its type in `extra`. Arguments that are no text become one."""
    label, name = (take_text(fields, key, where, "") for key in ("call_id", "name"))
    args = as_text(fields.pop(CALLS[kind(fields)], None))
    if kind(fields) == "function_call":
        del fields["type"]
    return m.Call(label, name, args, fields or None)


def _thought(fields: Raw, where: str) -> m.Reasoning:
    """A reasoning item, whole in `extra`; its text is what it holds in the clear."""
    words: list[str] = []
    for key in ("summary", "content"):
        listed: Any = fields.get(key) or []
        if not isinstance(listed, list):
            raise InvalidMessage(where, f"{key} must be a list, not {kind_of(listed)}")
        parts = [require_object(part, where, f"{key}[{at}]") for at, part in enumerate(cast("list[object]", listed))]
        words += [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return m.Reasoning("\n".join(words), "reasoning", extra=fields)


def _content(fields: Raw, key: str, where: str, plain: str) -> tuple[tuple[Part, ...], m.Shape]:
    """Content taken out of an item. `plain`: what a text part is called here when that need not be remembered."""
    fields.setdefault(key, None)
    return take_content(fields, key, where, "a string or a list of parts", partial(_part, plain=plain))


def _part(raw: Raw, where: str, path: str, *, plain: str) -> Part:
    type_: object = raw.get("type")
    if not isinstance(type_, str) or type_ not in TEXTS:
        return other_part(raw, MEDIA_TYPES)
    key = TEXTS[type_]
    return text_part(raw, key, where, path, drop={key, "type"} if type_ == plain else {key})
