"""Translates tool schemas between the formats of providers.

A schema that is in the wanted format already is kept as it is, byte for byte. One in another format, or a neutral
`Tool`, is translated. A provider's own tool, such as a web search, cannot be translated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from msgspec import Struct

from transom.core.message import Raw
from transom.core.tool import Tool, no_parameters
from transom.wire.arguments import TEXT_ARGUMENT
from transom.wire.fields import as_dict, dicts, text

TEXT_INPUT: Raw = {"type": "object", "properties": {TEXT_ARGUMENT: {"type": "string"}}, "required": [TEXT_ARGUMENT]}
"""The arguments of a tool that takes a free text."""


class ToolFormat(Struct, frozen=True):
    """How an API writes tools. `is_own`: whether a schema is in this format. `write`: the schemas of several tools."""

    is_own: Callable[[Raw], bool]
    write: Callable[[Sequence[Tool]], list[Raw]]


def rendered_tools(schemas: Iterable[Raw], form: ToolFormat) -> list[Raw]:
    """The schemas in this format, in the given order. A provider's own tools stay as they are."""
    out: list[Raw] = []
    for keep, group in groupby(schemas, lambda schema: form.is_own(schema) or not tools_in(schema)):
        run = list(group)
        out += run if keep else form.write([tool for schema in run for tool in tools_in(schema)])
    return out


def tools_in(schema: Raw) -> list[Tool]:
    """The tools that a schema in any format declares: several for a Gemini schema, none for a provider's own tool. A
    function without a name is left out.

    OpenAI's `custom` tool, which takes a free text, becomes one with a single argument `input`; its grammar is lost.
    """
    declared = dicts(schema.get("functionDeclarations") or schema.get("function_declarations"))
    if not declared and text(schema, "type") in {"", "function", "custom"}:
        declared = [as_dict(schema.get("function")) or as_dict(schema.get("custom")) or schema]
    is_custom = text(schema, "type") == "custom"
    return [
        Tool(name=name, description=text(each, "description"), parameters=_parameters(each, takes_text=is_custom))
        for each in declared
        if (name := text(each, "name"))
    ]


def _parameters(declared: Raw, *, takes_text: bool) -> Raw:
    """The JSON schema of a declared tool's arguments, under whichever key it stands. Without one: no arguments, or
    (`takes_text`) one text."""
    for key in ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema"):
        if schema := as_dict(declared.get(key)):
            return schema
    return TEXT_INPUT if takes_text else no_parameters()


def _described(tool: Tool) -> Raw:
    """Name and description of a tool, as all formats write them."""
    return {"name": tool.name, **({"description": tool.description} if tool.description else {})}


# ---- the formats


def _is_chat(schema: Raw) -> bool:
    return "function" in schema or "custom" in schema


CHAT = ToolFormat(
    is_own=_is_chat,
    write=lambda tools: [
        {"type": "function", "function": {**_described(tool), "parameters": tool.parameters}} for tool in tools
    ],
)
RESPONSES = ToolFormat(
    is_own=lambda schema: "type" in schema and not _is_chat(schema) and "input_schema" not in schema,
    write=lambda tools: [{"type": "function", **_described(tool), "parameters": tool.parameters} for tool in tools],
)
ANTHROPIC = ToolFormat(
    is_own=lambda schema: "input_schema" in schema or text(schema, "type") not in {"", "function", "custom"},
    write=lambda tools: [{**_described(tool), "input_schema": tool.parameters} for tool in tools],
)
GEMINI = ToolFormat(
    is_own=lambda schema: "functionDeclarations" in schema or "function_declarations" in schema,
    write=lambda tools: [
        {"functionDeclarations": [{**_described(tool), "parametersJsonSchema": tool.parameters} for tool in tools]}
    ],
)
