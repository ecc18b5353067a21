"""The table of tools: what a call does, by the words of the tool's name and the names of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from transom.strategies.actions.arguments import PATHS
from transom.strategies.text.stubs import tool_words

Kind = Literal["run", "read", "search", "fetch", "edit", "delete", "ask", "delegate", "plan", "type", "other"]
"""What a call does (see `ToolRow`)."""


class ToolRow(Struct, frozen=True):
    """One family of tools: those with one of `words` in their names and one of the arguments `about`. `words` are in
    small letters; the names `read_file`, `read-file` and `readFile` have the words "read" and "file".

    `about`: the arguments that may say what a call is about, the best first. `kind`: what the tool does, which says
    what the line of a call has of its result, if the call did not fail:

    - "run": how a test run ended, or a short output, else the number of lines. `about` is a command for a shell.
    - "read", "fetch": the number of lines.
    - "search": the matches if they are few and short, else how many there are.
    - "edit", "delete": the most informative line that the call put in or took out. It changes what its arguments name.
    - "ask": the first line. It is quoted like a message of the user, who wrote it.
    - "delegate": the number of lines. It is quoted like an answer of the model, since another agent wrote it.
    - "plan": nothing.
    - "type": as "run". The tool types into a command that runs.
    - "other": the first line.
    """

    words: frozenset[str]
    about: tuple[str, ...]
    kind: Kind


PLAN_TOOLS = ("TodoWrite", "manage_todo_list", "todo_write", "update_plan", "write_todos")
"""Tools with which agents write down their plan: the newest call of each is the state of the work."""

TASK_CHANGES = ("TaskCreate", "TaskUpdate")
"""Tools with which agents add and change single tasks."""

COMMANDS = ("command", "cmd", "script", "code", "input")
"""Arguments that hold the command of a shell."""

SHELL = frozenset(("bash", "shell", "exec", "command", "terminal", "run", "execute", "python", "test", "tests"))
"""Words in the names of tools that run a command in a shell."""

TOOLS = (
    ToolRow(SHELL, (*COMMANDS, "path"), "run"),
    ToolRow(frozenset(("sql", "query")), ("sql", "query"), "read"),
    ToolRow(
        frozenset(("grep", "glob", "search", "find", "rg", "ls", "list")),
        ("pattern", "query", "regex", "glob", "keyword", "q", *PATHS),
        "search",
    ),
    ToolRow(frozenset(("web", "fetch", "browse", "url", "http", "visit", "navigate")), ("url", "query", "q"), "fetch"),
    ToolRow(frozenset(("delete", "remove")), PATHS, "delete"),
    ToolRow(frozenset(("edit", "write", "create", "replace", "patch", "insert", "update", "move")), PATHS, "edit"),
    ToolRow(frozenset(("ask", "question", "questions", "clarify")), ("question", "questions", "prompt"), "ask"),
    ToolRow(frozenset(("agent", "subagent", "delegate")), ("description", "prompt", "message", "task"), "delegate"),
    ToolRow(frozenset(("task",)), ("prompt",), "delegate"),
    ToolRow(frozenset(("read", "view", "open", "cat", "get", "show", "load")), PATHS, "read"),
)
"""The families that come with the package: shells and test runs, databases, searches, the web, edits, questions to the
user, other agents, reads. The first that fits is used. A call that fits none is "other"."""

CHANGING = frozenset(
    (
        *("write", "edit", "update", "set", "create", "delete", "remove", "cancel", "move", "rename", "replace"),
        *("patch", "modify", "exchange", "return", "book", "insert", "add", "register"),
    )
)
"""Words in the name of a tool which say that it changes what its arguments name."""

_VERBS = ("command", "action", "operation")
_KNOWN = CHANGING.union(*(row.words for row in TOOLS))

SHORT_VERB = 20
"""The maximum length of an argument that is one of several commands of a tool, such as "view"."""


def verbs(tool: str, values: Sequence[tuple[str, str]]) -> set[str]:
    """The words that say what a call does: those of the tool's name.

    Only an editor that does several things says it in an argument: if the name says that the tool changes something and
    is no shell, the words of its argument `command`, `action` or `operation` count in place of the name, if the tables
    know one of them. So an editor with the command "view" changes nothing. `values`: the arguments of the call.
    """
    words = tool_words(tool)
    if words & SHELL or not words & CHANGING:
        return words
    verb = next((value for key, value in values if key in _VERBS and len(value) <= SHORT_VERB), "")
    said = tool_words(verb)
    return said if said & _KNOWN else words


def row_of(words: set[str], values: Sequence[tuple[str, str]], tools: Sequence[ToolRow]) -> tuple[Kind, list[str]]:
    """The kind of a call with these arguments, by the first row that fits, and the values that say what it is about. If
    no row fits, "other" and no values.

    `words`: those that say what the call does (see `verbs`). With "stdin" among them the kind is "type", without
    values. `values`: what `arguments` gives for the call.
    """
    if "stdin" in words:
        return "type", []
    for row in tools:
        for wanted in row.about if words & row.words else ():
            if found := [value for key, value in values if key == wanted]:
                return row.kind, found
    return "other", []
