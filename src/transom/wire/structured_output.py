"""The argument by which each provider's API is asked for an answer that fits a JSON schema."""

from __future__ import annotations

import re
from typing import Any, cast

from transom.core.message import Raw

_REFUSED = re.compile(
    r"(?i)response_?format|json_?schema|output_config|output_?format|text\.format|response_?(?:mime|schema)|structured"
)


def structured_output(dialect: str, name: str, schema: Raw) -> dict[str, Any]:
    """The arguments that ask for JSON of this schema; empty for an API that has none. `name`: what the schema is
    called."""
    closed = cast("Raw", _closed(schema))
    if dialect in ("openai", "mistral"):
        form = {"name": name, "schema": closed, "strict": _is_strict(closed)}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    if dialect in ("responses", "deepseek_responses"):
        form = {"type": "json_schema", "name": name, "schema": closed, "strict": _is_strict(closed)}
        return {"text": {"format": form}}
    if dialect == "anthropic":
        return {"output_config": {"format": {"type": "json_schema", "schema": closed}}}
    if dialect == "gemini":
        return {"response_mime_type": "application/json", "response_json_schema": schema}
    return {}


def refuses_structured_output(error: str) -> bool:
    """Whether the text of a refusal is about the form of the answer: a server that does not have it says so."""
    return _REFUSED.search(error) is not None


def _closed(schema: object) -> object:
    """The schema with no other properties than it names: OpenAI and Anthropic require that it says so."""
    if isinstance(schema, list):
        return [_closed(each) for each in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    fields = {key: _closed(value) for key, value in cast("Raw", schema).items()}
    return {**fields, "additionalProperties": False} if _is_object(fields) else fields


def _is_object(schema: Raw) -> bool:
    return schema.get("type") == "object" and isinstance(schema.get("properties"), dict) and "$ref" not in schema


def _is_strict(schema: object) -> bool:
    """Whether every property of every object is required, as OpenAI's strict form wants it."""
    if isinstance(schema, list):
        return all(_is_strict(each) for each in cast("list[object]", schema))
    if not isinstance(schema, dict):
        return True
    fields = cast("Raw", schema)
    if _is_object(fields) and set(fields["properties"]) != set(fields.get("required", ())):
        return False
    return all(_is_strict(value) for value in fields.values())
