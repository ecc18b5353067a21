"""Fields of a request that a run sets or takes away, in the format of any API: the choice of tools, and the JSON schema
that the answer must fit.

A forced call is meant for one request: forced again after its result, the model would call tools for ever.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from transom.core.message import Raw
from transom.wire.fields import as_dict, as_list
from transom.wire.replies import dumped

_FREE = frozenset(("auto", "none"))
"""Choices that force nothing."""
_PARALLEL = "disable_parallel_tool_use"
_GEMINI_KEYS = ("tool_config", "toolConfig")
_CALLING_KEYS = ("function_calling_config", "functionCallingConfig")


def http_body(arguments: Raw) -> Raw:
    """The body of the HTTP request that an SDK makes of these arguments. That of most APIs is the arguments themselves;
    Gemini's SDK takes most of it in a `config`, with keys in snake case."""
    if "contents" not in arguments:
        return arguments
    config = as_dict(arguments.get("config"))
    return {**{_camel(key): value for key, value in config.items()}, "contents": arguments["contents"]}


def _camel(key: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), key)


def without_forced_call(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the arguments of a request that leaves the choice of tools to the model. A choice that forces no call
    stays.

    Anthropic's setting `disable_parallel_tool_use`, which stands within `tool_choice`, stays too.
    """
    rest = dict(arguments)
    if _forces(rest.get("tool_choice")):
        choice = as_dict(rest.pop("tool_choice"))
        if _PARALLEL in choice:
            rest["tool_choice"] = {"type": "auto", _PARALLEL: choice[_PARALLEL]}
    for key in _GEMINI_KEYS:
        if _forces_gemini(rest.get(key)):
            del rest[key]
    if isinstance(config := rest.get("config"), dict):
        rest["config"] = without_forced_call(cast("Raw", config))
    return rest


def without_choice_of(arguments: Mapping[str, Any], left_out: Sequence[Raw], dialect: str) -> dict[str, Any]:
    """A copy of the arguments of a request whose `tool_choice` names no tool that is not sent. `left_out`: the tools
    that are not sent; the `tools` of `arguments` must be without them already. A choice of one of them is removed, and
    any choice if no tools are sent. Of several allowed tools those that are sent stay; if none of them is sent, the
    model may call no tool. `dialect`: the name of the request's dialect.

    Anthropic's setting `disable_parallel_tool_use`, which stands within `tool_choice`, stays while there are tools.
    """
    rest = dict(arguments)
    if not left_out or (choice := rest.get("tool_choice")) is None:
        return rest
    config = as_dict(rest.get("config"))  # Gemini's
    if not rest.get("tools") and not config.get("tools"):
        del rest["tool_choice"]
        return rest
    fields = as_dict(choice)
    allowed = as_dict(fields.get("allowed_tools")) or fields
    if fields.get("type") == "allowed_tools":
        tools = [each for each in as_list(allowed.get("tools")) if not _is_choice_of(as_dict(each), left_out)]
        if tools:
            changed = {**allowed, "tools": tools}
            rest["tool_choice"] = changed if allowed is fields else {**fields, "allowed_tools": changed}
        elif dialect == "gemini":
            del rest["tool_choice"]
            rest["config"] = {**config, "tool_config": {"function_calling_config": {"mode": "NONE"}}}
        else:
            rest["tool_choice"] = {"type": "none"} if dialect.startswith("anthropic") else "none"
        return rest
    return without_forced_call(rest) if _is_choice_of(fields, left_out) else rest


def _is_choice_of(choice: Raw, tools: Sequence[Raw]) -> bool:
    """Whether a choice names one of these tools: by its type (MCP also by its server), Anthropic's by its name."""
    key = "name" if choice.get("type") == "tool" else "type"
    named, server = choice.get(key), choice.get("server_label")
    return named is not None and any(
        tool.get(key) == named and server in (None, tool.get("server_label")) for tool in tools
    )


def _forces(choice: object) -> bool:
    if isinstance(choice, dict):
        fields = cast("Raw", choice)
        if fields.get("type") == "allowed_tools":  # OpenAI's: its own mode says whether a call is forced
            return _forces(fields.get("mode") or as_dict(fields.get("allowed_tools")).get("mode"))
        return fields.get("type") not in _FREE
    return isinstance(choice, str) and choice not in _FREE


def _forces_gemini(given: object) -> bool:
    config = as_dict(dumped(given))
    calling = next((as_dict(config[key]) for key in _CALLING_KEYS if config.get(key) is not None), Raw())
    return str(calling.get("mode", "")).upper() == "ANY"


# ---- the form of the answer

_REFUSED = re.compile(
    r"(?i)response_?format|json_?schema|output_config|output_?format|text\.format|response_?(?:mime|schema)|structured"
)


def structured_output(dialect: str, name: str, schema: Raw) -> dict[str, Any]:
    """The settings of a request that ask for JSON of this schema: fields of the body, but for Gemini of the SDK's
    `config`. Empty for an API that has no such settings.

    `dialect`: the name of the request's dialect. `name`: the name of the schema, where the API takes one. Except for
    Gemini, an object with listed properties allows no others, whatever the schema says. The given schema stays as it
    is.
    """
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
