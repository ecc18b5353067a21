"""The type of a run's answer: its JSON schema for the model, and the answer read as a value of it."""

from __future__ import annotations

import dataclasses
from typing import Any, cast, is_typeddict

import msgspec

from transom.conversation.function_tool import hoisted, pydantic_schema, pydantic_value
from transom.core.message import Raw
from transom.errors import InvalidMessage, InvalidSetting, quote, shorten

ERROR_CHARACTERS = 2_000
"""The most characters of an error that the model reads."""


class OutputType:
    """A dataclass, a msgspec Struct, a pydantic model or a TypedDict. Raises InvalidSetting for anything else, or if it
    has no JSON schema."""

    def __init__(self, kind: object) -> None:
        if not isinstance(kind, type) or not _is_object_type(cast("type[Any]", kind)):
            raise InvalidSetting(
                "output_type: must be a dataclass, a msgspec Struct, a pydantic model or a TypedDict, not "
                + quote(kind)
            )
        self.kind: type[Any] = kind
        self.name = self.kind.__name__
        self.schema = _schema_of(self.kind)

    def read(self, text: str) -> Any:
        """The answer as a value of the type; text around one JSON object is passed over. Raises InvalidMessage with
        what is wrong, for the model."""
        try:
            value = _object_in(text)
            if hasattr(self.kind, "model_validate"):
                return pydantic_value(self.kind, value)
            return msgspec.convert(value, self.kind, dec_hook=pydantic_value)
        except (msgspec.ValidationError, msgspec.DecodeError, ValueError, TypeError, RecursionError) as error:
            raise InvalidMessage("answer", shorten(str(error), ERROR_CHARACTERS)) from None


def _is_object_type(kind: type[Any]) -> bool:
    is_record = dataclasses.is_dataclass(kind) or is_typeddict(kind)
    return is_record or hasattr(kind, "model_json_schema") or issubclass(kind, msgspec.Struct)


def _schema_of(kind: type[Any]) -> Raw:
    parts: Raw = {}
    try:
        if hasattr(kind, "model_json_schema"):
            schema = {**pydantic_schema(kind)}
        else:
            _, parts = msgspec.json.schema_components(
                (kind,), schema_hook=pydantic_schema, ref_template="#/$defs/{name}"
            )
            schema = {**parts[kind.__name__]}
    except (TypeError, ValueError, NotImplementedError) as error:
        raise InvalidSetting(f"output_type: {kind.__name__} has no JSON schema: {shorten(str(error), 300)}") from None
    definitions = {**parts, **hoisted(schema), **hoisted(parts)}
    if f"#/$defs/{kind.__name__}" not in msgspec.json.encode([schema, definitions]).decode():  # it is not recursive
        definitions.pop(kind.__name__, None)
    return {**schema, **({"$defs": definitions} if definitions else {})}


def _object_in(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        begin, end = text.find("{"), text.rfind("}")
        if begin < 0 or end < begin:
            raise ValueError("it is no JSON object") from None
        return msgspec.json.decode(text[begin : end + 1])
