"""The type of a run's answer: its JSON schema for the model, and the answer read as a value of it."""

from __future__ import annotations

import dataclasses
from typing import Any, cast, get_origin, is_typeddict

import msgspec

from transom.conversation.function_tool import json_schema, pydantic_value
from transom.errors import InvalidMessage, InvalidSetting, quote, shorten

ERROR_CHARACTERS = 2_000
"""The most characters of an error that the model reads."""


class OutputType:
    """The type that the answer of a run must have: `schema` tells the model so, `read` makes a value of the answer.

    It is a dataclass, a msgspec Struct, a pydantic model, a TypedDict, or any other type with a JSON schema, such as
    `int` or `list[Place]`. APIs ask for objects only: for a type of the last kind the model answers with an object
    whose one field, `response`, has the value. Raises InvalidSetting for `str`, for what is no type, or if the type has
    no JSON schema."""

    def __init__(self, kind: object) -> None:
        is_type = isinstance(kind, type) or get_origin(kind) is not None
        if not is_type or kind is str:
            hint = "leave it out, the text is `result.text`" if kind is str else f"not {quote(kind)}"
            raise InvalidSetting(f"output_type: must be a type such as a dataclass, list[Place] or int: {hint}")
        self.name = str(getattr(kind, "__name__", "response"))
        self._is_wrapped = not (isinstance(kind, type) and _is_object_type(cast("type[Any]", kind)))
        wrapped = msgspec.defstruct("response", [("response", cast("Any", kind))]) if self._is_wrapped else kind
        self.kind = cast("type[Any]", wrapped)
        try:
            self.schema = json_schema(self.kind)
        except (TypeError, ValueError, NotImplementedError) as error:
            why = " ".join(str(error).split())
            raise InvalidSetting(f"output_type: {self.name} has no JSON schema: {shorten(why, 300)}") from None

    def read(self, text: str) -> Any:
        """Read an answer, the JSON of an object, as a value of the type; for a type that is no object, of the one field
        `response`, the value of which is returned. If the answer is not JSON as a whole, what stands before its first
        "{" and behind its last "}" is ignored. Raises InvalidMessage, whose text tells the model what is wrong."""
        try:
            found = _object_in(text, f'whose field "response" has the {self.name}' if self._is_wrapped else "")
            if hasattr(self.kind, "model_validate"):
                return pydantic_value(self.kind, found)
            value = msgspec.convert(found, self.kind, dec_hook=pydantic_value)
        except (msgspec.ValidationError, msgspec.DecodeError, ValueError, TypeError, RecursionError) as error:
            raise InvalidMessage("answer", shorten(str(error), ERROR_CHARACTERS)) from None
        return value.response if self._is_wrapped else value


def _is_object_type(kind: type[Any]) -> bool:
    is_record = dataclasses.is_dataclass(kind) or is_typeddict(kind)
    return is_record or hasattr(kind, "model_json_schema") or issubclass(kind, msgspec.Struct)


def _object_in(text: str, holding: str) -> object:
    """Decode the JSON object in a text."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        begin, end = text.find("{"), text.rfind("}")
        if begin < 0 or end < begin:
            raise ValueError(f"it is no JSON object {holding}".rstrip()) from None
        return msgspec.json.decode(text[begin : end + 1])
