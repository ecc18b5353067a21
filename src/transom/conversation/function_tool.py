"""Functions as tools: the schema from type hints and docstring, the arguments checked, every outcome a result.

A tool never ends a run. What a model does wrong (an unknown name, arguments that do not fit) and what goes wrong in the
function (an exception, too much time) becomes a failed result that says so, and the model goes on from there.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from inspect import Parameter
from typing import Any, cast, get_type_hints
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.conversation import argument_checks as check
from transom.core.message import Raw
from transom.core.tool import Tool, tool_names
from transom.errors import InvalidMessage, InvalidSetting, quote, shorten
from transom.wire.arguments import read_call, schema_violations
from transom.wire.tools import is_run_by_provider

Arguments = dict[str, Any]
_logger = logging.getLogger(__name__)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
RESULT_ERROR_CHARACTERS = 2_000
"""The most characters of an exception's text that the model reads."""


class FunctionTool:
    """A function that the model may call, sync or async. A method, a functools.partial or an object with `__call__` is
    one too.

    The name and the description are the function's, unless `name` or `description` is given; the parameters are its
    type hints, as msgspec understands them (pydantic models too, if they are installed). Arguments are checked and
    converted to these types. Lines `name: what it is` below "Args:" in its docstring describe the parameters.

    `parameters`: the JSON schema of the arguments, of type object, for a function whose type hints do not say it. The
    function is then called with the arguments as the model wrote them, as keywords. A call is refused if a `required`
    argument is missing, or if an argument has a name or a plain type that the schema excludes.

    `timeout`: seconds until a call counts as failed, although the function may still be at work; None: the
    `tool_timeout` of the run, if it has one.

    `needs_approval`: True: a person must approve each call before it runs (`Conversation.approve`). False: nobody need.
    Or a function, not async, that decides: it gets the arguments of the call, checked, as keywords, without those that
    the model left out. If it returns False, the call runs at once; if it returns anything else or raises, the call
    waits.

    Raises InvalidSetting for a value that is not as described here, a function that has no schema, and a name that no
    provider takes.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        parameters: Raw | None = None,
        timeout: float | None = None,
        needs_approval: bool | Callable[..., object] = False,
    ) -> None:
        if isinstance(function, (Tool, dict)):
            raise InvalidSetting(_without_function(cast("Raw | Tool", function)))
        if not callable(cast("object", function)):
            raise InvalidSetting(f"tool: must be a function, not {quote(function)}")
        self.function, self.timeout = function, check.positive("timeout", timeout, check.LONGEST)
        if not isinstance(needs_approval, bool) and not callable(cast("object", needs_approval)):
            raise InvalidSetting(f"needs_approval: must be True, False or a function, not {quote(needs_approval)}")
        if _is_async(needs_approval):
            raise InvalidSetting("needs_approval: the function must not be async; give one that returns True or False")
        self._needs_approval = needs_approval
        source = _source(function)
        named = name or source.name
        if not _NAME.fullmatch(named):
            raise InvalidSetting(
                f"tool {quote(named)}: a name has 1 to 64 letters, digits, _ or -: providers take no other; give one "
                "with FunctionTool(function, name=…)"
            )
        about, described = _docstring(source.doc)
        self._arguments = (
            _HintedArguments(named, function, source, described)
            if parameters is None
            else _SchemaArguments(named, parameters)
        )
        self.tool = Tool(
            name=named, description=about if description is None else description, parameters=self._arguments.schema
        )

    @property
    def name(self) -> str:
        """The name by which the model calls the tool."""
        return self.tool.name

    def renamed(self, name: str) -> FunctionTool:
        """A copy that the model calls by another name. The name is not checked."""
        renamed = copy(self)
        renamed.tool = replace(self.tool, name=name)
        return renamed

    def __repr__(self) -> str:
        return f"FunctionTool({self.name!r})"

    def arguments(self, written: str) -> Arguments:
        """Read the arguments of a call, by name. `written`: the JSON that the model wrote; an empty text or null is no
        arguments. By type hints they are checked and converted ("3" becomes 3 for an `int`); by a JSON schema
        (`parameters`) they are checked and stay as they are. What the model left out is left out here too, so that the
        function's own default holds. Raises InvalidMessage, whose text tells the model what is wrong."""
        return self._arguments.read(read_call(written))

    def needs_approval(self, arguments: Arguments) -> bool:
        """Whether a person must approve a call with these arguments. Only `False` means no. If the caller's function
        raises, that is logged with `logging`, and the answer is True."""
        asked = self._needs_approval
        try:
            return asked if isinstance(asked, bool) else asked(**arguments) is not False
        except Exception:
            _logger.exception("needs_approval of the tool %s failed: the call waits for approval", self.name)
            return True


def _is_async(function: object) -> bool:
    """Whether calling this gives something to be awaited."""
    call = getattr(function, "__call__", None)  # noqa: B004 - of an object whose method is async
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


ToolLike = Raw | Tool | FunctionTool | Callable[..., Any]
"""What may stand in the tools of a request: a schema in any provider's format or none, or a function."""


def tools_by_name(tools: Iterable[object]) -> tuple[list[Raw | Tool], dict[str, FunctionTool]]:
    """The schemas to send, in the order given, and the functions by name. `tools`: functions, `FunctionTool`s, and
    schemas (a `Tool`, or a dict in the form of an API); the schema of a function is a `Tool`.

    A schema without a function is allowed for a tool that the provider runs, or whose calls a run answers by itself:
    the tools that read back, and the one that manages the context. Raises InvalidSetting for any other such schema, and
    for two functions of one name; a schema of the same name is not noticed here.
    """
    schemas: list[Raw | Tool] = []
    functions: dict[str, FunctionTool] = {}
    for given in tools:
        if isinstance(given, (Tool, dict)):
            schema = cast("Raw | Tool", given)
            is_answered = isinstance(schema, dict) and is_run_by_provider(schema)
            if not is_answered and not _ANSWERED_BY_THE_RUN.issuperset(names_of([schema])):
                raise InvalidSetting(_without_function(schema))
            schemas.append(schema)
            continue
        tool = given if isinstance(given, FunctionTool) else FunctionTool(cast("Callable[..., Any]", given))
        if tool.name in functions:
            raise InvalidSetting(f"tools: there are two named {quote(tool.name)}")
        functions[tool.name] = tool
        schemas.append(tool.tool)
    return schemas, functions


_ANSWERED_BY_THE_RUN = texts.READ_BACK | {texts.CONTEXT_MANAGER}
"""Tools that have no function, because a run answers their calls."""


def _without_function(schema: Raw | Tool) -> str:
    name = quote(min(names_of([schema]), default=""))
    return (
        f"tool {name} has no function, so that nobody could answer its calls: give the function, or "
        "FunctionTool(function, name=…, parameters=…); in your own loop, conv.request(tools=…) takes schemas"
    )


def tool_schemas(tools: object) -> object:
    """The list of tools with each function and `FunctionTool` replaced by its schema; other items, and anything but a
    list or tuple, stay as they are. Raises InvalidSetting for a function that has no schema."""
    return [_schema_of(tool) for tool in cast("Sequence[object]", tools)] if isinstance(tools, (list, tuple)) else tools


def _schema_of(tool: object) -> object:
    if isinstance(tool, FunctionTool):
        return tool.tool
    if not callable(tool):
        return tool
    with suppress(TypeError):  # some callables have no hash, or take no weak references
        if tool not in _SCHEMAS:
            _SCHEMAS[tool] = FunctionTool(tool).tool
        return _SCHEMAS[tool]
    return FunctionTool(tool).tool


_SCHEMAS: WeakKeyDictionary[Callable[..., Any], Tool] = WeakKeyDictionary()
"""The schemas of functions that were given to `request`. To make one takes half a millisecond, and each turn gives
them again."""


def names_of(schemas: Sequence[Raw | Tool]) -> set[str]:
    """The names of the tools in these schemas, which may be in any provider's format."""
    return {name for each in schemas for name in (tool_names(each) if isinstance(each, dict) else [each.name])}


def error_text(error: BaseException) -> str:
    """The type and the text of an exception, as the model reads it: "ValueError: no such file". With more than 2,000
    characters (`RESULT_ERROR_CHARACTERS`) its beginning, with an ellipsis. Never raises."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - the code of the exception has run
        said = "(it has no text: its __str__ failed)"
    return shorten(f"{type(error).__name__}: {said}", RESULT_ERROR_CHARACTERS)


# ---- schemas


class _CallableFacts(Struct, frozen=True):
    """What a callable says of itself. `bound`: parameters that a functools.partial has set; the model may not."""

    name: str
    doc: str
    hinted: Callable[..., Any]
    bound: frozenset[str] = frozenset()


def _source(function: Callable[..., Any]) -> _CallableFacts:
    """Read what a callable says of itself."""
    if isinstance(function, partial):
        given = cast("partial[Any]", function)
        return replace(_source(given.func), bound=frozenset(given.keywords))
    if inspect.isroutine(function) or inspect.isclass(function):
        return _CallableFacts(function.__name__, inspect.getdoc(function) or "", function)
    kind = type(function)
    call: Any = kind.__call__
    name: str = getattr(function, "__name__", "") or kind.__name__
    return _CallableFacts(name, inspect.cleandoc(call.__doc__ or "") or inspect.getdoc(kind) or "", call)


class _HintedArguments:
    """The arguments of a function by its type hints: their schema, and a struct that checks and converts them. Raises
    InvalidSetting if they cannot be read."""

    def __init__(
        self, name: str, function: Callable[..., Any], source: _CallableFacts, described: dict[str, str]
    ) -> None:
        try:
            signature = inspect.signature(function)
            hints = get_type_hints(source.hinted, include_extras=True)
        except (TypeError, ValueError, NameError) as error:
            raise InvalidSetting(
                f"tool {quote(name)}: its parameters cannot be read: {error}; wrap it in a function with type hints"
            ) from None
        self._fields: dict[str, str] = {}
        fields: list[Any] = []
        for parameter in signature.parameters.values():
            if parameter.name in source.bound:
                continue  # the caller has set it: the model may neither see nor change it
            if parameter.kind not in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
                raise InvalidSetting(
                    f"tool {quote(name)}: parameter {parameter} has no name that a model could use: "
                    "FunctionTool(function, name=…, parameters=…) takes a JSON schema"
                )
            field = self._fields[parameter.name] = f"field_{len(self._fields)}"
            default: dict[str, Any] = {"default": parameter.default}
            if parameter.default is Parameter.empty:
                default = {}
            elif parameter.default is not None and not isinstance(parameter.default, (str, int, float, bool)):
                default = {"default_factory": lambda value=parameter.default: value}  # no schema names it
            fields.append((field, hints.get(parameter.name, Any), msgspec.field(name=parameter.name, **default)))
        named = name if name.isidentifier() else "arguments"
        self._struct = msgspec.defstruct(named, fields, kw_only=True)
        self.schema = _schema(name, self._struct, described)

    def read(self, given: Arguments) -> Arguments:
        """The arguments, checked and converted. Raises InvalidMessage."""
        unknown = sorted(set(given) - set(self._fields))
        if unknown:
            takes = ", ".join(self._fields) or "none"
            raise InvalidMessage("arguments", f"unknown: {', '.join(map(quote, unknown))}; the tool takes: {takes}")
        try:
            checked = msgspec.convert(given, self._struct, strict=False, dec_hook=pydantic_value)
        except (msgspec.ValidationError, ValueError, TypeError, RecursionError) as error:
            raise InvalidMessage("arguments", str(error)) from None
        return {name: getattr(checked, field) for name, field in self._fields.items() if name in given}


class _SchemaArguments:
    """The arguments of a function by a JSON schema of the caller's."""

    def __init__(self, name: str, schema: Raw) -> None:
        if not isinstance(cast("object", schema), dict) or schema.get("type", "object") != "object":
            raise InvalidSetting(
                f"tool {quote(name)}: parameters must be a JSON schema of type object, not {quote(schema)}"
            )
        required: Any = schema.get("required", [])
        if not isinstance(required, list) or not all(isinstance(each, str) for each in cast("list[object]", required)):
            names = cast("object", required)
            raise InvalidSetting(f"tool {quote(name)}: required must be a list of names, not {quote(names)}")
        self.schema: Raw = {"type": "object", "properties": {}, **schema}

    def read(self, given: Arguments) -> Arguments:
        """The arguments as they are. Raises InvalidMessage if the schema plainly excludes them."""
        if wrong := schema_violations(self.schema, given):
            raise InvalidMessage("arguments", "; ".join(wrong))
        return given


def _schema(name: str, struct: type[Struct], described: dict[str, str]) -> Raw:
    try:
        own = json_schema(struct)
    except (TypeError, ValueError, NotImplementedError) as error:
        lines = str(error).splitlines()  # for a type that it does not know, the last line names the type
        raise InvalidSetting(f"tool {quote(name)}: a parameter has no schema: {shorten(lines[-1], 300)}") from None
    properties = {
        key: {**({"description": described[key]} if key in described else {}), **value}
        for key, value in own["properties"].items()
    }
    schema: Raw = {"type": "object", "properties": properties}
    if own.get("required"):
        schema["required"] = own["required"]
    return {**schema, **({"$defs": own["$defs"]} if "$defs" in own else {})}


def json_schema(kind: type[Any]) -> Raw:
    """The JSON schema of a type; the types within it are under its `$defs`. Raises TypeError, ValueError or
    NotImplementedError for a type that has none."""
    parts: Raw = {}
    if hasattr(kind, "model_json_schema"):
        schema = {**_pydantic_schema(kind)}
    else:
        _, parts = msgspec.json.schema_components((kind,), schema_hook=_pydantic_schema, ref_template="#/$defs/{name}")
        schema = {**parts[kind.__name__]}
    definitions = {**parts, **_hoisted(schema), **_hoisted(parts)}
    if f"#/$defs/{kind.__name__}" not in msgspec.json.encode([schema, definitions]).decode():  # it is not recursive
        definitions.pop(kind.__name__, None)
    return {**schema, **({"$defs": definitions} if definitions else {})}


def _pydantic_schema(kind: type) -> Raw:
    """The schema of a pydantic model. Raises NotImplementedError for any other type."""
    make: Any = getattr(kind, "model_json_schema", None)
    if make is None:
        raise NotImplementedError(f"{kind.__name__} is no type that JSON has")
    return make(ref_template="#/$defs/{model}")


def _hoisted(schema: Any) -> Raw:
    """Take the `$defs` out of a schema, in place and at any depth, and return them: references point to the root."""
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


def pydantic_value(kind: type, value: Any) -> Any:
    """Make a value of a pydantic model, the class `kind`. Raises ValueError if `value` does not fit it, TypeError if
    `kind` is no pydantic model."""
    make: Any = getattr(kind, "model_validate", None)
    if make is None:
        raise TypeError(f"{kind.__name__} is no type that JSON has")
    return make(value)


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """Split a docstring: what it says of the function, and below "Args:" what it says of each parameter, by name."""
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
