"""Write docs/reference from the code: every public name with its signature and docstring, every command with its help.

    python -m scripts.reference

A test compares the files with the code. When it fails, `make reference` writes them anew.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, ForwardRef, NamedTuple, Protocol, cast, get_origin, is_typeddict

import typer

import transom
from transom.cli import commands
from transom.cli import lazy_commands as command_line
from transom.cli.help_pages import COMMAND_GROUPS

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"

PARTS = {
    "Conversation": """A conversation: open it, say something, build requests, look and decide.

    Conversation Request ConversationUsage WindowUsage Explanations Explanation EditCost ModeChange
    Profile Directive""",
    "Runs": """Tools, sub-agents, results, usage. The settings of a run are at [run](transom-conversation.md#run).

    RunOptions RunResult FunctionTool Tool SubAgent Retry RetryDecision TotalUsage""",
    "Settings": """What a conversation is opened with.

    ConversationOptions Settings Budget Prices Policy SummarySettings Summary Dialect TokenCounter""",
    "Without a conversation": """One function for a client, a list of messages, or a window.

    wrap fit render""",
    "Windows and edits": """What a window is made of: the view, its entries, and the edits that changed it.

    Window View Entry Fact Meta Head Fold Trim Pin Undo""",
    "Stores": """A store, a log in it, and how a user is forgotten. [transom.stores](transom.stores.md) has the rest.

    open_store Store StoredLog forget_user UserData""",
    "Errors": """What is raised. Each is a TransomError.

    TransomError BudgetImpossible ContextStillTooLarge ProviderError RunStopped InvalidOutput
    InvalidMessage InvalidSetting InvalidEdit Conflict ConversationBusy StoreUnavailable
    StoreDamaged UnknownLog""",
    "AsyncConversation": """The twin of [Conversation](transom-conversation.md) for asyncio and trio.

    AsyncConversation""",
}
"""The pages of the package itself: what each is for, then its names in the order in which a reader needs them."""

GROUPS = {
    "Beside a conversation": {
        "transom.conversation.events": "What a run tells: the events of `stream`.",
        "transom.conversation.event_bus": "What a conversation publishes: the events of `subscribe`.",
        "transom.providers": "Models: by name, and what a provider of your own must do.",
        "transom.providers.model_prices": "What a model costs, and how long its context is.",
        "transom.readback": "Reading back what windows leave out.",
        "transom.search": "Search over everything that was said.",
        "transom.search.embedders": "Search by meaning.",
        "transom.memory": "Blocks that models edit, and an archive that they search.",
        "transom.redaction": "Secrets that are named and not shown.",
        "transom.telemetry": "OpenTelemetry spans of a run.",
    },
    "What a window contains": {
        "transom.policies": "The policies by name.",
        "transom.summaries": "Who makes summaries, and what a model is asked for one.",
        "transom.recall": "What a policy recalls, and how.",
        "transom.repo_map": "A map of a folder of source code.",
    },
    "Clients, frameworks and servers": {
        "transom.http": "Below the clients of the SDKs: `wrap`, and the transports.",
        "transom.adapters.langchain": "Middleware for LangChain, LangGraph and deepagents.",
        "transom.adapters.pydantic_ai": "A capability for pydantic-ai.",
        "transom.adapters.openai_agents": "A model provider for the OpenAI Agents SDK.",
        "transom.mcp": "The tools of MCP servers in a run.",
        "transom.mcp.server": "The conversations of a store for an MCP client.",
        "transom.overflow": "Which errors say that a request is too long.",
    },
    "Stores and files": {
        "transom.stores": "Where logs are stored.",
        "transom.stores.postgres": "Conversations on a PostgreSQL server.",
        "transom.reports": "Reports about recorded conversations: checks, and shadow answers.",
        "transom.importers": "Recorded conversations from files.",
        "transom.exporters": "Conversations as files.",
    },
    "Write your own": {
        "transom.strategies": "What a policy is made of.",
        "transom.core.message": "What happened: the facts of a log, and the parts of a message.",
        "transom.testing": "Builders, fakes and test suites for code of your own.",
        "transom.providers.scripted": "A provider without a model, for tests and examples.",
        "transom.providers.openai": "OpenAI's APIs, and servers that speak them.",
        "transom.wire": "Provider APIs, and what a dialect of your own is made of.",
        "transom.wire.openai": "The Chat Completions API and its variants.",
        "transom.wire.anthropic": "Anthropic's API and its variants.",
        "transom.tokenizer": "Token counts.",
        "transom.stores.base": "What every store checks, for a store of your own.",
        "transom.stores.files": "A lock on a file, for a store of your own.",
        "transom.history": "The bridge for code that works on lists of messages.",
    },
}
"""The other modules whose `__all__` is public, and what each is for, in the order in which a reader needs them."""

MODULES = {"transom": "The package."} | {module: about for group in GROUPS.values() for module, about in group.items()}
"""All modules whose `__all__` is public, and what each is for."""

ELSEWHERE = {
    "transom.adapters.strands": ["TransomPlugin"],
    "transom.adapters.google_adk": ["TransomPlugin"],
    "transom.adapters.agent_framework": ["TransomProvider"],
}
"""Public names of modules that cannot be imported here: the packages of their frameworks do not fit beside ours."""

INTERNAL = {"cached_fingerprint"}
"""Fields of public structs that are nobody's business."""

COMMANDS = "command-line"
SHORT = 90
"""Characters up to which a signature stays on one line."""

LINE = 120
"""Characters that a line of code may have."""

assert commands, "importing the commands adds them to the command line"


class Page(NamedTuple):
    """A page of the reference: some names of a module."""

    file: str
    title: str
    about: str
    module: str
    names: tuple[str, ...]


@cache
def pages_of_names() -> tuple[Page, ...]:
    """The pages with public names, in the order in which a reader needs them."""
    return tuple(_pages_of_names())


def _pages_of_names() -> Iterator[Page]:
    for title, text in PARTS.items():
        about, names = text.split("\n\n")
        yield Page(f"transom-{title.lower().replace(' ', '-')}.md", title, about, "transom", tuple(names.split()))
    for group in GROUPS.values():
        for module, about in group.items():
            yield Page(f"{module}.md", module, about, module, tuple(public_names(import_module(module))))


def file_of(module: str, name: str) -> str:
    """The file of the page with a public name."""
    return next(page.file for page in pages_of_names() if page.module == module and name in page.names)


def pages() -> dict[str, str]:
    """Each file of docs/reference by its name."""
    found = {page.file: page_text(page) for page in pages_of_names()}
    found[f"{COMMANDS}.md"] = commands_page()
    found["README.md"] = index_page()
    return found


def index_page() -> str:
    """The list of pages, with every name."""
    rule = "What is listed here is public: names, their parameters and fields, the commands. The rest may change in any"
    out = [f"# Reference\n\n{rule} release ([what is stable](../stability.md)).\n\nWritten by `make reference`."]
    listed = {page.file: page for page in pages_of_names()}
    for title, files in groups_of_files().items():
        rows = [index_row(listed[file]) for file in files]
        out.append("\n".join([f"## {title}", "", "| page | what it has |", "|---|---|", *rows]))
    adapters = ", ".join(f"`{module}.{name}`" for module, names in ELSEWHERE.items() for name in names)
    out.append(f"Public too, and described at [agent frameworks](../frameworks.md): {adapters}.")
    commands = ", ".join(f"`{name}`" for name in commands_in_order())
    out.append(f"## At the terminal\n\n[Command line]({COMMANDS}.md): {commands}.")
    return "\n\n".join(out) + "\n"


def groups_of_files() -> dict[str, list[str]]:
    """The pages with public names by the title of their group, in order."""
    package = {"The package `transom`": [page.file for page in pages_of_names() if page.module == "transom"]}
    return package | {title: [f"{module}.md" for module in group] for title, group in GROUPS.items()}


def index_row(page: Page) -> str:
    """A row of the list of pages."""
    names = ", ".join(f"`{name}`" for name in page.names)
    return f"| [{page.title}]({page.file}) | {page.about} {names} |"


def public_names(module: ModuleType) -> list[str]:
    """The names that a module exports, in alphabetical order."""
    return sorted(getattr(module, "__all__", ()), key=str.lower)


def page_text(page: Page) -> str:
    """One page: each public name with its signature, its docstring and its members."""
    module = import_module(page.module)
    out = [f"# {page.title}", page.about]
    for name in page.names:
        out += section(name, getattr(module, name), module)
    return "\n\n".join(out) + "\n"


def section(name: str, value: Any, module: ModuleType) -> Iterator[str]:
    """One public name."""
    yield f"## {name}"
    if inspect.isclass(value):
        keys = [f"    {key}: {annotation_text(note)}" for key, note in value.__annotations__.items()]
        yield code(
            "\n".join([f"class {name}(TypedDict):", *keys])
            if is_typeddict(value)
            else f"class {name}{signature(value)}"
        )
        yield doc(value)
        if name in EXPLAINED_AT:
            yield f"Each is explained at [{EXPLAINED_AT[name][0]}]({EXPLAINED_AT[name][1]})."
        elif rows := field_texts(value):
            yield table("field", rows)
        for member, found in members(value):
            yield from member_section(member, found, doc(found) or protocol_doc(module, member), name)
    elif is_function(value):
        yield code(f"{name}{signature(value)}")
        yield doc(value)
    elif isinstance(value, UnionType):
        yield code(union_text(name, annotation_text(value)))
        yield comment_behind(module, name)
    else:
        yield f"A value of type `{type(value).__name__}`."
        yield comment_behind(module, name)


def is_function(value: object) -> bool:
    """True for what can be called, unless it is only the type of such a thing: `Callable[...]`."""
    return callable(value) and get_origin(value) is None


def fields(kind: type) -> tuple[str, ...]:
    """The public fields of a struct, a named tuple or a typed dict; none for any other class."""
    names = getattr(kind, "__struct_fields__", ()) or getattr(kind, "_fields", ())
    if is_typeddict(kind):
        names = kind.__annotations__
    return tuple(name for name in names if name not in INTERNAL)


@cache
def field_texts(kind: type) -> Mapping[str, str]:
    """The strings behind the fields of a class and its base classes, as one line each."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("transom") and fields(base):
            body = cast("ast.ClassDef", ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]).body
            for field, text in pairwise(body):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    name = ast.unparse(field.target)
                    found[name] = " ".join(ast.literal_eval(text.value).split()).replace("|", "\\|")
    return {name: found[name] for name in fields(kind) if name in found}


def member_section(name: str, value: Any, text: str, owner: str) -> Iterator[str]:
    """One method or property of a class."""
    yield f"### {name}"
    if isinstance(value, property):
        yield code(
            f"{name}: {annotation_text(inspect.signature(value.fget).return_annotation)}" if value.fget else name
        )
    else:
        yield code(f"{name}{signature(getattr(value, '__func__', value))}")
    yield text
    if options := unpacked(value):
        place, link = EXPLAINED_AT[options]
        here = place == f"{owner}.{name}"
        yield table("setting", field_texts(getattr(transom, options))) if here else f"Its settings: [{place}]({link})."


EXPLAINED_AT = {
    "RunOptions": ("Conversation.run", "transom-conversation.md#run"),
    "ConversationOptions": ("Conversation.open", "transom-conversation.md#open"),
}
"""Settings that methods take as keywords: where they are explained, for all these methods."""


def unpacked(value: Any) -> str:
    """The name of the settings that a method takes as keywords; empty if it takes none."""
    if not callable(value := getattr(value, "__func__", value)):
        return ""
    notes = (str(one.annotation) for one in inspect.signature(value).parameters.values())
    return next(
        (found[1] for note in notes if (found := re.fullmatch(r"(?:\w+\.)*Unpack\[(?:\w+\.)*(\w+)\]", note))), ""
    )


def table(title: str, rows: Mapping[str, str]) -> str:
    """Fields with their meaning."""
    return "\n".join([f"| {title} | meaning |", "|---|---|", *(f"| `{key}` | {rows[key]} |" for key in rows)])


def protocol_doc(module: ModuleType, member: str) -> str:
    """Where a protocol explains a method that this module implements without a docstring of its own."""
    for place in (module, *map(import_module, MODULES)):
        for name in public_names(place):
            value = getattr(place, name)
            found = vars(value).get(member) if getattr(value, "_is_protocol", False) else None
            if found is not None and doc(found):
                page = "" if place is module else file_of(place.__name__, name)
                return f"See [{name}.{member}]({page}#{name.lower()})."
    return ""


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that the classes of this project define, in order of definition."""
    seen: set[str] = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("transom"):
            continue
        for name, value in vars(base).items():
            is_member = isinstance(value, (property, classmethod, staticmethod)) or inspect.isfunction(value)
            if not name.startswith("_") and is_member and name not in seen:
                seen.add(name)
                yield name, value


def signature(value: Any) -> str:
    """The signature, one parameter a line if it is long. Protocols and exceptions without one have none."""
    if inspect.isclass(value) and (Protocol in value.__mro__ or not has_constructor(value)):
        return ""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = [one for one in found.parameters.values() if one.name not in {"self", "cls"}]
    words = [parameter_text(one) for one in parameters]
    kinds = [one.kind for one in parameters]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        words.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    back = (
        "" if inspect.isclass(value) or found.return_annotation is inspect.Signature.empty else found.return_annotation
    )
    arrow = f" -> {annotation_text(back)}" if back != "" else ""
    line = f"({', '.join(words)}){arrow}"
    return line if len(line) <= SHORT else "(\n" + "".join(f"    {word},\n" for word in words) + f"){arrow}"


def parameter_text(parameter: inspect.Parameter) -> str:
    """A parameter as it is written: `name: type = default`. A default without a short form is `…`."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    empty = inspect.Parameter.empty
    note = "" if parameter.annotation is empty else f": {annotation_text(parameter.annotation)}"
    if parameter.default is empty:
        return f"{stars}{parameter.name}{note}"
    default = repr(parameter.default)
    default = default if re.fullmatch(r"[\w.'\"\-()\[\]{}, :/=]{1,40}", default) else "…"
    return f"{stars}{parameter.name}{note}{' = ' if note else '='}{default}"


def annotation_text(annotation: Any) -> str:
    """An annotation without the modules of its names."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:transom|typing|collections)(?:\.\w+)*\.(?=\w)", "", text)


def union_text(name: str, union: str) -> str:
    """A union as ruff formats it: on one line, in brackets, or with one class a line."""
    if len(whole := f"{name} = {union}") <= LINE:
        return whole
    inner = union if len(union) + 4 <= LINE else union.replace(" | ", "\n    | ")
    return f"{name} = (\n    {inner}\n)"


def has_constructor(kind: type) -> bool:
    """Whether a class of this project says how it is made."""
    return any(
        base.__module__.startswith("transom") and ("__init__" in vars(base) or fields(base)) for base in kind.__mro__
    )


def doc(value: Any) -> str:
    """The docstring as Markdown."""
    return inspect.getdoc(value) or ""


def comment_behind(module: ModuleType, name: str) -> str:
    """The string behind the assignment of a constant, in the module or in the one that it comes from."""
    elsewhere = (one for key, one in sorted(sys.modules.items()) if key.startswith("transom."))
    for source in (module, *elsewhere):
        if vars(source).get(name) is getattr(module, name) and (text := comments_of(source).get(name)):
            return text
    return ""


@cache
def comments_of(module: ModuleType) -> Mapping[str, str]:
    """The strings behind the assignments of a module, by the name that each is about."""
    found: dict[str, str] = {}
    for constant, text in pairwise(ast.parse(inspect.getsource(module)).body):
        if (
            isinstance(constant, (ast.Assign, ast.AnnAssign))
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            target = constant.target if isinstance(constant, ast.AnnAssign) else constant.targets[0]
            found.setdefault(ast.unparse(target), inspect.cleandoc(ast.literal_eval(text.value)))
    return found


def code(text: str) -> str:
    """A block of Python."""
    return f"```python\n{text}\n```"


@cache
def command_group() -> Any:
    """The command line, as its library knows it."""
    return typer.main.get_command(command_line.app)


def commands_in_order() -> list[str]:
    """The commands as `transom --help` has them."""
    commands = command_group().commands
    placed = [name for names in COMMAND_GROUPS.values() for name in names if name in commands]
    return placed + [name for name in commands if name not in placed]


def commands_page() -> str:
    """Every command with its arguments and options."""
    group = command_group()
    out = ["# Command line", paragraphs(group.help)]
    for name in commands_in_order():
        command = group.commands[name]
        out += [f"## transom {name}", paragraphs(command.help)]
        rows = [row for parameter in command.params if (row := option_row(parameter))]
        out.append("| option | meaning |\n|---|---|\n" + "\n".join(rows))
        if command.epilog:
            out.append(epilog(command.epilog))
    return "\n\n".join(out) + "\n"


def option_row(parameter: Any) -> str:
    """One argument or option; nothing for --help."""
    if "--help" in parameter.opts:
        return ""
    named = parameter.param_type_name == "option"
    value = "" if getattr(parameter, "is_flag", False) else f" {parameter.metavar}"
    title = f"`{', '.join(parameter.opts)}{value}`" if named else f"`{parameter.metavar}`"
    rule = " Required." if parameter.required else ""
    says_it = "Default: " in (parameter.help or "")
    if not parameter.required and not says_it and parameter.default not in {None, False, ""}:
        rule = f" Default: {parameter.default}."
    text = " ".join((parameter.help or "").split()).replace("|", "\\|")
    return f"| {title} | {text if text.endswith('.') else text + '.'}{rule} |"


def paragraphs(text: str) -> str:
    """A help text as Markdown: one line a paragraph."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def epilog(text: str) -> str:
    """The end of a help text: tables keep their lines."""
    parts = (part for part in text.split("\n\n") if part.strip())
    return "\n\n".join(
        f"```text\n{part[2:]}\n```" if part.startswith("\b") else " ".join(part.split()) for part in parts
    )


def main() -> None:
    """Write the files; remove those that are no longer there."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    written = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in written:
            old.unlink()
    for name, text in written.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
