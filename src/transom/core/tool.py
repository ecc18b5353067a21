"""A tool as it is described to the model, in no provider's format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from msgspec import Struct, field

from transom.core.message import Raw
from transom.errors import InvalidSetting, quote


def no_parameters() -> dict[str, Any]:
    """The schema of a tool without arguments."""
    return {"type": "object", "properties": {}}


class Tool(Struct, frozen=True):
    """Describes a tool that the caller runs. `parameters` is the JSON schema of its arguments, of type object.

    Raises InvalidSetting if the name is not a text of at least one character, the description not a text, or
    `parameters` not a dict.
    """

    name: str
    """How the model calls it."""
    description: str = ""
    """What the model reads of it."""
    parameters: Raw = field(default_factory=no_parameters)

    def __post_init__(self) -> None:
        name, description, parameters = cast("tuple[object, ...]", (self.name, self.description, self.parameters))
        if not isinstance(name, str) or not name:
            raise InvalidSetting(f"tool: name must be a text of at least one character, not {quote(name)}")
        if not isinstance(description, str):
            raise InvalidSetting(f"tool {quote(name)}: description must be a text, not {quote(description)}")
        if not isinstance(parameters, dict):
            raise InvalidSetting(f"tool {quote(name)}: parameters must be a JSON schema, not {quote(parameters)}")

    def schema(self) -> Raw:
        """The tool as a dict with name, description and parameters: the form in which a log stores it."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


def is_neutral(schema: Raw) -> bool:
    """Whether a dict is the `schema` of a Tool, and not in a provider's format."""
    return "parameters" in schema and "type" not in schema


def tool_names(schema: Raw) -> list[str]:
    """The names of the tools in a schema of any format: one or several, an empty text for a function without a name. An
    empty list for a provider's own tool, such as a built-in search."""
    names = [declared.get("name") for declared in _declared(schema)]
    return [name if isinstance(name, str) else "" for name in names]


def is_offered(name: str, schemas: Iterable[Raw]) -> bool:
    """Whether a tool of this name is in one of these schemas, in any format."""
    return any(name in tool_names(schema) for schema in schemas)


def _declared(schema: Raw) -> list[Raw]:
    """The objects in a schema that each describe one tool. Empty for a provider's own tool."""
    listed = schema.get("functionDeclarations") or schema.get("function_declarations")
    if listed and isinstance(listed, (list, tuple)):
        return [cast("Raw", each) if isinstance(each, dict) else {} for each in cast("Sequence[object]", listed)]
    if not schema or schema.get("type") in ("function", "custom") or {"function", "name"} & set(schema):
        within = (schema.get("function"), schema.get("custom"))
        return [next((cast("Raw", each) for each in within if isinstance(each, dict) and each), schema)]
    return []
