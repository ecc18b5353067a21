"""Translates tool schemas between the formats of providers.

A schema that is in the wanted format already is kept as it is, byte for byte. One in another format, or a neutral
`Tool`, is translated. A provider's own tool, such as a web search, cannot be translated: another API refuses the whole
request because of it. So a tool that is known to be another API's own is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, cast

from msgspec import Struct

from transom.core.message import Raw
from transom.core.tool import Tool, no_parameters
from transom.errors import quote
from transom.wire.arguments import TEXT_ARGUMENT
from transom.wire.fields import as_dict, as_list, dicts, text

CHAT_API, RESPONSES_API, ANTHROPIC_API, GEMINI_API = "chat", "responses", "anthropic", "gemini"

DECLARATIONS = ("functionDeclarations", "function_declarations")
"""The keys of Gemini's list of functions. Beside it, the same object may hold tools of Gemini's own."""

TEXT_INPUT: Raw = {"type": "object", "properties": {TEXT_ARGUMENT: {"type": "string"}}, "required": [TEXT_ARGUMENT]}
"""The arguments of a tool that takes a free text."""


class ToolFormat(Struct, frozen=True):
    """How an API writes tools.

    `is_own`: says whether a schema is in this format. `write`: makes the schemas of several tools. `api`: the API whose
    own tools are sent in this format (see `maker_of`); tools of the others are left out. Empty: all are sent.
    """

    is_own: Callable[[Raw], bool]
    write: Callable[[Sequence[Tool]], list[Raw]]
    api: str = ""


def rendered_tools(schemas: Iterable[Raw], form: ToolFormat, *, foreign: bool = False) -> list[Raw]:
    """The schemas in this format, in the given order. Schemas in this format and the API's own tools stay as they are;
    functions in another format are translated. Tools of another API's own are left out, unless `foreign` is true: then
    they stay as they are. So does a tool that could be anybody's."""
    out: list[Raw] = []
    sent = schemas if foreign else (schema for schema in schemas if not _is_foreign(schema, form))
    for keep, group in groupby(sent, lambda schema: form.is_own(schema) or not tools_in(schema)):
        run = list(group)
        out += run if keep else form.write([tool for schema in run for tool in tools_in(schema)])
    return out


def foreign_tools(schemas: Iterable[Raw], form: ToolFormat) -> list[Raw]:
    """The tools that `rendered_tools` leaves out, because they are another API's own. Of a schema of Gemini that
    declares functions too, only the other keys."""
    out: list[Raw] = []
    for schema in schemas:
        if _is_foreign(schema, form):
            out.append(schema)
        elif form.api not in {"", GEMINI_API} and any(schema.get(key) for key in DECLARATIONS):
            rest = {key: value for key, value in schema.items() if key not in DECLARATIONS and value is not None}
            out += [rest] if rest else []
    return out


def _is_foreign(schema: Raw, form: ToolFormat) -> bool:
    """Whether a schema is another API's own tool. Of an unknown one it is sure only that Gemini's have no type."""
    if not form.api or tools_in(schema):
        return False
    maker = maker_of(schema)
    if {maker, form.api} == {CHAT_API, RESPONSES_API} and not is_of_one_api_only(schema):
        return False
    return maker != form.api if maker else form.api == GEMINI_API and "type" in schema


def tools_in(schema: Raw) -> list[Tool]:
    """The tools that a schema in any format declares: several for a Gemini schema, none for a provider's own tool. A
    function without a name is left out. The schema of the arguments is JSON Schema, also where Gemini had its own kind.

    OpenAI's `custom` tool, which takes a free text, becomes one with a single argument `input`; its grammar is lost.
    """
    of_gemini = declared = dicts(next((schema[key] for key in DECLARATIONS if schema.get(key)), None))
    if not declared and text(schema, "type") in {"", "function", "custom"}:
        declared = [as_dict(schema.get("function")) or as_dict(schema.get("custom")) or schema]
    is_custom = text(schema, "type") == "custom"
    return [
        Tool(
            name=name,
            description=text(each, "description"),
            parameters=_parameters(each, takes_text=is_custom, of_gemini=bool(of_gemini)),
        )
        for each in declared
        if (name := text(each, "name"))
    ]


def _parameters(declared: Raw, *, takes_text: bool, of_gemini: bool) -> Raw:
    """The JSON schema of a declared tool's arguments. Without one: no arguments, or (`takes_text`) one text."""
    for key in ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema"):
        if schema := as_dict(declared.get(key)):
            # OpenAI refuses an object without properties, which Gemini takes
            return {**no_parameters(), **_json_schema_of(schema)} if of_gemini and key == "parameters" else schema
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
    api=CHAT_API,
)
RESPONSES = ToolFormat(
    is_own=lambda schema: "type" in schema and not _is_chat(schema) and "input_schema" not in schema,
    write=lambda tools: [{"type": "function", **_described(tool), "parameters": tool.parameters} for tool in tools],
    api=RESPONSES_API,
)
ANTHROPIC = ToolFormat(
    is_own=lambda schema: "input_schema" in schema or text(schema, "type") not in {"", "function", "custom"},
    write=lambda tools: [{**_described(tool), "input_schema": tool.parameters} for tool in tools],
    api=ANTHROPIC_API,
)
GEMINI = ToolFormat(
    is_own=lambda schema: "functionDeclarations" in schema or "function_declarations" in schema,
    write=lambda tools: [
        {"functionDeclarations": [{**_described(tool), "parametersJsonSchema": tool.parameters} for tool in tools]}
    ],
    api=GEMINI_API,
)


# ---- whose a provider's own tool is: only its form counts, because there are new tools all the time

_DATED = re.compile(r"[a-z][a-z0-9_]*_20\d{6}")
"""Anthropic's types: a name and a date (`bash_20250124`)."""
_UNDATED = frozenset({"mcp_toolset", "tool_search_tool_regex", "tool_search_tool_bm25"})
"""Anthropic's types without a date."""
_RUN_BY_ANTHROPIC = re.compile(r"(?:web_search|web_fetch|code_execution|advisor|tool_search_tool_\w+)_20\d{6}")
_DATE_OF_OPENAI = re.compile(r"_20\d\d_\d\d_\d\d$")
_OF_RESPONSES = frozenset(
    {
        "apply_patch",
        "code_interpreter",
        "computer",
        "computer_use_preview",
        "file_search",
        "image_generation",
        "local_shell",
        "mcp",
        "namespace",
        "programmatic_tool_calling",
        "shell",
        "tool_search",
        "web_search",
        "web_search_preview",
    }
)
"""The types of OpenAI's Responses API, without their dates."""


def maker_of(schema: Raw) -> str:
    """The API whose own tool a schema describes: `CHAT_API`, `RESPONSES_API`, `ANTHROPIC_API` or `GEMINI_API`. Empty
    for a function, and for a tool whose form does not show the API: one that is new, or of a server that has its
    own."""
    if "type" not in schema:
        return "" if {"name", "function", "custom"} & set(schema) else GEMINI_API
    kind = text(schema, "type")
    if kind in {"", "function", "custom"}:
        return ""
    if isinstance(schema.get("function"), dict) or isinstance(schema.get(kind), dict):
        return CHAT_API  # servers that speak chat put a tool's settings under its type, as OpenAI does with functions
    if _DATED.fullmatch(kind) or kind in _UNDATED:
        return ANTHROPIC_API
    if kind == "code_interpreter" and "container" not in schema:
        return ""  # OpenAI requires the container; Groq's tool for chat has none
    return RESPONSES_API if _DATE_OF_OPENAI.sub("", kind) in _OF_RESPONSES else ""


def is_of_one_api_only(schema: Raw) -> bool:
    """Whether a tool of one of OpenAI's two APIs, Chat and Responses, is surely none of the other. Servers that speak
    Chat have tools such as `web_search` in the form of Responses, and Azure's Responses API has tools with their
    settings under their type."""
    if isinstance(schema.get("function"), dict):
        return True
    kind = text(schema, "type")
    has_settings = isinstance(schema.get(kind), dict)
    return not has_settings and _DATE_OF_OPENAI.sub("", kind) not in {"web_search", "web_search_preview", "mcp"}


def is_run_by_provider(schema: Raw) -> bool:
    """Whether a schema is that of a tool which its provider runs, so that nobody else need answer its calls. Only
    Anthropic's tools are recognised."""
    return _RUN_BY_ANTHROPIC.fullmatch(text(schema, "type")) is not None


def provider_tool_name(schema: Raw) -> str:
    """What people call a provider's own tool: its type, with the name of the server of an MCP tool; of Gemini its
    key."""
    if "type" not in schema:
        return ", ".join(key for key in schema if key not in DECLARATIONS)
    server = text(schema, "server_label") or text(schema, "mcp_server_name")
    return f"{text(schema, 'type')} {quote(server)}" if server else text(schema, "type")


# ---- Gemini's schemas, which are a part of OpenAPI, as JSON Schema, which all other APIs want

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


def _json_schema_of(schema: Raw) -> Raw:
    """The JSON Schema of a schema of Gemini: with lower-case types, "null" where null is allowed, without the order of
    properties. What is JSON Schema already is kept."""
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
    return _json_schema_of(cast("Raw", value)) if isinstance(value, dict) else value


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
