"""Tool schemas of a recorded conversation, in the form that another dialect has for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from transom.core.message import Raw
from transom.importers.values import objects_in
from transom.wire.validation import as_dict, text

_CHAT = frozenset({"openai", "mistral"})
_RESPONSES = frozenset({"responses", "deepseek_responses"})


class _Function(Struct, frozen=True, kw_only=True):
    name: str
    description: str
    parameters: Raw


def translated_tools(tools: Iterable[Raw], source: str, target: str) -> list[Raw]:
    """The tools of dialect `source` as `target` takes them. A provider's own tools are left out elsewhere."""
    if source == target or {source, target} <= _CHAT or {source, target} <= _RESPONSES:
        return list(tools)
    functions = list(_functions(tools))
    if target == "gemini":
        declared = [
            {"name": each.name, "description": each.description, "parametersJsonSchema": each.parameters}
            for each in functions
        ]
        return [{"functionDeclarations": declared}] if declared else []
    return [_tool(each, target) for each in functions]


def _tool(function: _Function, target: str) -> Raw:
    if target == "anthropic":
        return {"name": function.name, "description": function.description, "input_schema": function.parameters}
    fields: Raw = {"name": function.name, "description": function.description, "parameters": function.parameters}
    return {"type": "function", **fields} if target in _RESPONSES else {"type": "function", "function": fields}


def _functions(tools: Iterable[Raw]) -> Iterator[_Function]:
    """What the tools are that the caller runs, whichever API they are for."""
    for tool in tools:
        declared = objects_in(tool.get("functionDeclarations")) + objects_in(tool.get("function_declarations"))
        own = text(tool, "type") not in {"", "function", "custom"}
        for each in declared or ([] if own else [as_dict(tool.get("function")) or tool]):
            if name := text(each, "name"):
                yield _Function(name=name, description=text(each, "description"), parameters=_parameters(each))


def _parameters(function: Raw) -> Raw:
    for key in ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema"):
        if schema := as_dict(function.get(key)):
            return schema
    return {"type": "object", "properties": {}}
