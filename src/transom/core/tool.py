"""A tool as the model is told of it, in no provider's format."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from transom.core.message import Raw


def _no_parameters() -> dict[str, Any]:
    return {"type": "object", "properties": {}}


class Tool(Struct, frozen=True):
    """A tool that the caller runs. `parameters` is the JSON schema of its arguments, an object."""

    name: str
    description: str = ""
    parameters: Raw = field(default_factory=_no_parameters)

    def schema(self) -> Raw:
        """The tool as a dict: the form in which a log holds it, beside those in the formats of providers."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


def is_neutral(schema: Raw) -> bool:
    """Whether a dict is the `schema` of a Tool, and so in no provider's format."""
    return "parameters" in schema and "type" not in schema
