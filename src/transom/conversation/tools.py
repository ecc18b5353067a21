"""Functions as tools: the schema from type hints and docstring, the arguments checked, every outcome a result.

A tool never ends a run. What a model does wrong (an unknown name, arguments that do not fit) and what goes wrong in the
function (an exception, too much time) becomes a failed result that says so, and the model goes on from there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from inspect import Parameter
from typing import Any, cast, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from transom.conversation import argument_checks as check
from transom.core.message import Raw
from transom.core.tool import Tool, tool_names
from transom.errors import InvalidMessage, InvalidSetting, quote, shorten
from transom.wire.arguments import read_object

Arguments = dict[str, Any]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
RESULT_ERROR_CHARACTERS = 2_000
"""So much of an exception's text is shown to the model."""


class FunctionTool:
    """A function that the model may call, sync or async. A method, a functools.partial or an object with `__call__` is
    one too.

    The name and the description are the function's; the parameters are its type hints, as msgspec understands them
    (pydantic models too, if they are installed). Lines `name: what it is` below "Args:" in its docstring describe the
    parameters. `timeout`: seconds until the call counts as failed. Raises InvalidSetting for a function that has no
    schema.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float | None = None,
    ) -> None:
        if not callable(cast("object", function)):
            raise InvalidSetting(f"tool: must be a function, not {quote(function)}")
        self.function, self.timeout = function, check.positive("timeout", timeout, check.LONGEST)
        source = _source(function)
        named = name or source.name
        _check_name(named)
        about, described = _docstring(source.doc)
        self._fields, self._struct = _argument_types(named, function, source)
        self.tool = Tool(
            name=named,
            description=about if description is None else description,
            parameters=_schema(named, self._struct, described),
        )

    @property
    def name(self) -> str:
        """The name by which the model calls the tool."""
        return self.tool.name

    def __repr__(self) -> str:
        return f"FunctionTool({self.name!r})"

    def arguments(self, written: str) -> Arguments:
        """The arguments of a call, checked and converted. Raises InvalidMessage with what is wrong, for the model."""
        given = read_object(written)
        unknown = sorted(set(given) - set(self._fields))
        if unknown:
            takes = ", ".join(self._fields) or "none"
            raise InvalidMessage("arguments", f"unknown: {', '.join(map(quote, unknown))}; the tool takes: {takes}")
        try:
            checked = msgspec.convert(given, self._struct, strict=False, dec_hook=_decoded)
        except (msgspec.ValidationError, ValueError, TypeError, RecursionError) as error:
            raise InvalidMessage("arguments", str(error)) from None
        return {name: getattr(checked, field) for name, field in self._fields.items() if name in given}


def tools_by_name(tools: Iterable[object]) -> tuple[list[Raw | Tool], dict[str, FunctionTool]]:
    """The schemas to send, in the order given, and the functions by name. Raises InvalidSetting."""
    schemas: list[Raw | Tool] = []
    functions: dict[str, FunctionTool] = {}
    for given in tools:
        if isinstance(given, (Tool, dict)):
            if isinstance(given, Tool):
                _check_name(given.name)
            schemas.append(cast("Raw | Tool", given))
            continue
        tool = given if isinstance(given, FunctionTool) else FunctionTool(cast("Callable[..., Any]", given))
        if tool.name in functions:
            raise InvalidSetting(f"tools: there are two named {quote(tool.name)}")
        functions[tool.name] = tool
        schemas.append(tool.tool)
    return schemas, functions


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidSetting(
            f"tool {quote(name)}: a name has 1 to 64 letters, digits, _ or -: providers take no other; give one with "
            "FunctionTool(function, name=…)"
        )


def names_of(schemas: Sequence[Raw | Tool]) -> set[str]:
    """The names of the tools that a request offers."""
    return {name for each in schemas for name in (tool_names(each) if isinstance(each, dict) else [each.name])}


def error_text(error: BaseException) -> str:
    """An exception of a tool, for the model. Never raises."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - the code of the exception has run
        said = "(it has no text: its __str__ failed)"
    return shorten(f"{type(error).__name__}: {said}", RESULT_ERROR_CHARACTERS)


# ---- schemas


class _CallableFacts(Struct, frozen=True):
    """What says of a callable what it is: `hinted` has the type hints, `bound` are parameters that a partial sets."""

    name: str
    doc: str
    hinted: Callable[..., Any]
    bound: frozenset[str] = frozenset()


def _source(function: Callable[..., Any]) -> _CallableFacts:
    """A function describes itself. A functools.partial has the name and docstring of its function; an object with
    `__call__` has those of its class, and the docstring of `__call__` if there is one."""
    if isinstance(function, partial):
        given = cast("partial[Any]", function)
        return replace(_source(given.func), bound=frozenset(given.keywords))
    if inspect.isroutine(function) or inspect.isclass(function):
        return _CallableFacts(function.__name__, inspect.getdoc(function) or "", function)
    kind = type(function)
    call: Any = kind.__call__
    name: str = getattr(function, "__name__", "") or kind.__name__
    return _CallableFacts(name, inspect.cleandoc(call.__doc__ or "") or inspect.getdoc(kind) or "", call)


def _argument_types(
    name: str, function: Callable[..., Any], source: _CallableFacts
) -> tuple[dict[str, str], type[Struct]]:
    """The parameters by name, each with its field, and a struct that checks them."""
    try:
        signature = inspect.signature(function)
        hints = get_type_hints(source.hinted, include_extras=True)
    except (TypeError, ValueError, NameError) as error:
        raise InvalidSetting(
            f"tool {quote(name)}: its parameters cannot be read: {error}; wrap it in a function with type hints"
        ) from None
    fields: list[Any] = []
    names: dict[str, str] = {}
    for parameter in signature.parameters.values():
        if parameter.name in source.bound:
            continue  # the caller has set it: the model may neither see nor change it
        if parameter.kind not in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
            raise InvalidSetting(f"tool {quote(name)}: parameter {parameter} has no name that a model could use")
        field = f"field_{len(names)}"
        names[parameter.name] = field
        kind: Any = hints.get(parameter.name, Any)
        if parameter.default is Parameter.empty:
            fields.append((field, kind, msgspec.field(name=parameter.name)))
        else:
            fields.append((field, kind, _with_default(parameter)))
    return names, msgspec.defstruct(name if name.isidentifier() else "arguments", fields, kw_only=True)


def _with_default(parameter: Parameter) -> Any:
    """A field with the parameter's default in its schema, where that is plain JSON; else only optional."""
    default = parameter.default
    if default is None or isinstance(default, (str, int, float, bool)):
        return msgspec.field(name=parameter.name, default=default)
    return msgspec.field(name=parameter.name, default_factory=lambda: default)


def _schema(name: str, struct: type[Struct], described: dict[str, str]) -> Raw:
    try:
        (_,), parts = msgspec.json.schema_components((struct,), schema_hook=_hooked, ref_template="#/$defs/{name}")
    except (TypeError, ValueError, NotImplementedError) as error:
        lines = str(error).splitlines()  # for a type that it does not know, the last line names the type
        raise InvalidSetting(f"tool {quote(name)}: a parameter has no schema: {shorten(lines[-1], 300)}") from None
    own = parts.pop(struct.__name__)
    properties = {
        key: {**({"description": described[key]} if key in described else {}), **value}
        for key, value in own["properties"].items()
    }
    schema: Raw = {"type": "object", "properties": properties}
    if own.get("required"):
        schema["required"] = own["required"]
    definitions = {**parts, **_hoisted(schema), **_hoisted(parts)}
    return {**schema, **({"$defs": definitions} if definitions else {})}


def _hooked(kind: type) -> Raw:
    make: Any = getattr(kind, "model_json_schema", None)
    if make is None:
        raise NotImplementedError(f"{kind.__name__} is no type that JSON has")
    return make(ref_template="#/$defs/{model}")


def _hoisted(schema: Any) -> Raw:
    """The definitions inside of a schema, taken out of it: references are to the root."""
    found: Raw = {}
    stack: list[Any] = [schema]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            fields = cast("Raw", item)
            if isinstance(inner := fields.pop("$defs", None), dict):
                found |= inner
                stack.append(inner)
            stack.extend(fields.values())
        elif isinstance(item, list):
            stack.extend(cast("list[Any]", item))
    return found


def _decoded(kind: type, value: Any) -> Any:
    make: Any = getattr(kind, "model_validate", None)
    if make is None:
        raise TypeError(f"{kind.__name__} is no type that JSON has")
    return make(value)


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """What a docstring says of the function, and what it says of each parameter below "Args:"."""
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if line.strip().lower() in _HEADINGS), None)
    if start is None:
        return text.strip(), {}
    described: dict[str, str] = {}
    last = ""
    rest = len(lines)
    margin = 0
    for at in range(start + 1, len(lines)):
        line = lines[at]
        indent = len(line) - len(line.lstrip())
        if line.strip() and not indent:
            rest = at
            break
        name, colon, words = line.strip().partition(":")
        margin = margin or indent
        if colon and indent == margin:
            last = name.split(" ")[0].strip("`*")
            described[last] = words.strip()
        elif last and line.strip():
            described[last] += " " + line.strip()
    about = "\n".join([*lines[:start], *lines[rest:]]).strip()
    return about, described


_HEADINGS = frozenset({"args:", "arguments:", "parameters:"})
