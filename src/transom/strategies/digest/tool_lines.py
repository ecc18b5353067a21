"""What a tool call was about, in a few words: the tables behind the lines of a record. How it ended is said by
`tool_outcomes.py`.

A table entry (`ToolLine`) says for a family of tools which argument is the subject of a call, and what to say of its
result. The first entry that fits is used: a word of the tool's name is among its `words`, and the call has one of its
arguments. A tool without an entry is described by its arguments and the first line of its result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from transom import texts
from transom.core.message import Call
from transom.strategies.digest.command_output import SCANNED, echoes_code, finds, shows_files
from transom.strategies.digest.command_runs import CommandRun, command_runs
from transom.strategies.digest.command_subjects import bare_command, deed_of, without_folder
from transom.strategies.digest.edit_lines import ADDED, EditLine, edit_line
from transom.strategies.digest.named_arguments import (
    ID_KEY,
    LONGEST_PATH,
    NUMBER,
    is_typing,
    named_arguments,
    noun_of,
    typed,
)
from transom.strategies.digest.passages import REPLACED, arguments
from transom.strategies.digest.shell_files import ShellFiles, shell_files, shown_files
from transom.strategies.digest.shell_words import SimpleCommand, simple_commands
from transom.strategies.text.identifiers import MAX_NAME, names_in, names_of
from transom.strategies.text.stubs import tool_words

SUBJECT, FULL, OUTCOME = 48, 200, 80
"""Characters of the subject of a call, of one that stands in for a quote, and of the line that says how the call ended:
about 15, 50 and 20 tokens."""

DESCRIPTION = 80
"""Characters of what stands for a command that is longer than a subject: its description, or what it did."""

Says = Literal["lines", "matches", "summary", "first line", "answer", "reply", "nothing"]
"""What the line of a call says of its result (see `ToolLine`)."""


class ToolLine(Struct, frozen=True):
    """One family of tools: those with one of `words` in their names.

    `subject`: the arguments that may say what a call is about, the best first. `says`: what the line says of a result
    that is not a failure:

    - "lines", "matches": how many there are.
    - "summary": how a test run ended; else the text, if it is one short line; else the number of lines.
    - "first line": its first line.
    - "answer": its number of lines. It is quoted like an answer of the model, since another agent wrote it.
    - "reply": its first line. It is quoted like a message of the user, who wrote it.
    - "nothing": only whether it failed.
    """

    words: frozenset[str]
    subject: tuple[str, ...]
    says: Says


PATHS = ("file_path", "path", "filename", "file_name", "file", "target_file", "notebook_path", "filepath", "filepaths")

TOOL_LINES = (
    ToolLine(
        frozenset(("bash", "shell", "exec", "command", "terminal", "run", "execute", "python", "test", "tests")),
        ("command", "cmd", "script", "code", "input", "path"),
        "summary",
    ),
    ToolLine(frozenset(("sql", "database", "db", "query")), ("sql", "query", "statement"), "lines"),
    ToolLine(
        frozenset(("grep", "glob", "search", "find", "rg", "ls", "list")),
        ("pattern", "query", "regex", "glob", "keyword", "q", *PATHS),
        "matches",
    ),
    ToolLine(frozenset(("web", "fetch", "browse", "url", "http", "visit", "navigate")), ("url", "query", "q"), "lines"),
    ToolLine(
        frozenset(("edit", "write", "create", "replace", "patch", "insert", "update", "delete", "remove", "move")),
        PATHS,
        "nothing",
    ),
    ToolLine(frozenset(("ask", "question", "questions", "clarify")), ("question", "questions", "prompt"), "reply"),
    ToolLine(frozenset(("agent", "subagent", "delegate")), ("description", "prompt", "message", "task"), "answer"),
    ToolLine(frozenset(("task",)), ("prompt",), "answer"),
    ToolLine(frozenset(("read", "view", "open", "cat", "get", "show", "load")), PATHS, "lines"),
)
"""The families that come with the package: shells and test runs, databases, searches, the web, edits, questions to the
user, other agents, reads."""

SETTINGS = frozenset(
    (
        "description",
        "status",
        "workdir",
        "cwd",
        "timeout",
        "output_mode",
        "justification",
        "run_in_background",
        "replace_all",
    )
)
"""Arguments that say how a call is made, not what it is about. Numbers say that too."""

FOLDERS = ("workdir", "cwd")
"""Arguments that name the folder in which a command is run."""

DESCRIBES = ("description", "justification", "explanation", "summary")
"""Arguments in which agents say what a call is for."""

PLAN_TOOLS = ("TodoWrite", "manage_todo_list", "todo_write", "update_plan", "write_todos")
"""Tools with which agents write down their plan: the newest call of each is the state of the work."""

TASK_CHANGES = ("TaskCreate", "TaskUpdate")
"""Tools with which agents add and change single tasks."""

CHANGING = frozenset(
    [
        "write",
        "edit",
        "update",
        "set",
        "create",
        "delete",
        "remove",
        "cancel",
        "move",
        "rename",
        "replace",
        "patch",
        "modify",
        "exchange",
        "return",
        "book",
        "insert",
        "add",
        "register",
    ]
)
"""Words in the name of a tool which say that it changes what its arguments name."""

SHORT_VERB = 20
"""The maximum length of an argument that is one of several commands of a tool, such as "view"."""

OF_FILES = frozenset[Says](("lines", "matches", "first line"))
"""Of which tools the result is the text of files or objects, shells aside."""

_OTHER = ToolLine(frozenset(), (), "first line")
_SHELL, _COMMANDS = TOOL_LINES[0].words, TOOL_LINES[0].subject[:-1]
_VERBS = ("command", "action", "operation")
_KNOWN = CHANGING.union(*(one.words for one in TOOL_LINES))
_NO_FILES = ShellFiles(frozenset(), frozenset(), frozenset(), frozenset(), frozenset())

_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (\S[^\n]{0,300})", re.MULTILINE)
_DELETED = re.compile(r"^\*\*\* Delete File: (\S[^\n]{0,300})", re.MULTILINE)
_IN_SCRIPT = re.compile(r'\bcmd"?\s*:\s*("(?:[^"\\]|\\.)*+")')
"""A command inside of a script that runs it."""
_BLANK = re.compile(r"\s")
_NO_NAME = re.compile(r"\s|\A\d{0,6}\Z|\A\d{4}-\d\d-\d\d")
_ID = re.compile(r"(?=.*[A-Z\d])[\w#@.:-]{4,64}\Z")


NO_NAMES = frozenset[str]()
"""One object for all: each set of its own is one more for Python's garbage collector to look at."""


class CallFacts(Struct, frozen=True, gc=False):
    """What the line of a call needs.

    - `tool`: the tool's name. `subject`: what the call was about; `full`: the same at length.
    - `says`: what the line says of the result (see `ToolLine`).
    - `complete`: `full` has every name of the arguments, so no quote of them is needed.
    - `finds`: it is a command that ends with exit code 1 if it finds nothing, or finds a difference.
    - `shows`: it is a command that prints files: "error" in its output does not mean that it failed.
    - `echoes`: it is a command that prints the exit code of another one.
    - `about`: the files and objects that it names. `shown`: those whose text the result is. `changes`: those that it
      changes if it succeeds; `first`: those of them that are changed also if only its last command fails. `restored`:
      those that it puts back as they were; `deleted`: those that are gone.
    - `did`: the most telling line of an edit. `added`: whether the edit added that line; otherwise it took it away.
    - `runs`: what a shell command ran. `deed`: what it did that lasts, such as a commit.
    """

    tool: str
    subject: str
    says: Says
    full: str
    complete: bool
    finds: bool
    shows: bool
    echoes: bool
    about: frozenset[str]
    changes: frozenset[str]
    first: frozenset[str] = NO_NAMES
    shown: frozenset[str] = NO_NAMES
    restored: frozenset[str] = NO_NAMES
    deleted: frozenset[str] = NO_NAMES
    did: str = ""
    added: bool = True
    runs: tuple[CommandRun, ...] = ()
    deed: str = ""


def call_facts(call: Call, table: Sequence[ToolLine] = TOOL_LINES) -> CallFacts:
    """What a call was about, by the first entry of the table that fits."""
    values = [(key, value) for key, value in arguments(call) if value.strip()]
    subject, says = _subject(call, values, table)
    left_out = SETTINGS | REPLACED | ADDED  # an edit's text is in `did`, and in quotes
    subject_values = [value for key, value in values if key not in left_out and not NUMBER.fullmatch(value)]
    shell_command = command_of(call, values)
    commands = list(simple_commands(shell_command[: 4 * SCANNED])) if shell_command else []
    deed = deed_of(shell_command, commands) if shell_command else ""
    full = _shortened([deed, *subject] if deed else subject, FULL)
    names = _names(subject_values)
    # Some names of the arguments are not in the subject, but all arguments are short: then all are shown.
    if not names <= _names([full]) and sum(len(value) + 2 for value in subject_values) <= FULL:
        stated = {one for shown in subject for one in (shown, shown.partition("=")[2])}
        more = [value for value in subject_values if value not in stated]
        full = _shortened([*(one for one in subject if not any(one in value for value in more)), *more], FULL)
    complete = names <= _names([full]) and not any(key in ADDED for key, _ in values)
    files = _files_of(call, shell_command, commands)
    changes = files.changes
    is_edit = says == "nothing" and call.name not in (*PLAN_TOOLS, *TASK_CHANGES)
    patch = "\n".join(value for _, value in values) if is_edit and changed_files(call) else ""
    did = edit_line(values, patch) if is_edit else EditLine()
    if _verbs(call, values) & CHANGING and call.name not in PLAN_TOOLS and not is_typing(call):
        changes |= targets(call)
    about = files.names.union(value for key, value in values if is_name(key, value)) or NO_NAMES
    is_command, command = says == "summary", " ".join(subject)
    bare = [bare_command(value) for value in subject] if is_command else subject
    short = deed or (_description(values) if is_command and len(" ".join(bare)) > SUBJECT else "")
    return CallFacts(
        tool=one_line(call.name, SUBJECT) or texts.UNNAMED,
        subject=one_line(short, DESCRIPTION) if short else _shortened(bare, SUBJECT),
        says=says,
        full=full,
        complete=complete,
        finds=is_command and finds(command),
        shows=is_command and shows_files(command),
        echoes=says in {"summary", "first line"} and echoes_code(command),
        about=about,
        changes=changes or NO_NAMES,
        first=files.first or NO_NAMES,
        shown=(shown_files(commands, about) if is_command else about if says in OF_FILES else NO_NAMES) or NO_NAMES,
        restored=files.restored or NO_NAMES,
        deleted=files.deleted or _deleted_by(call, changes),
        did=one_line(did.line, OUTCOME),
        added=did.added,
        runs=tuple(command_runs(commands, next((value for key, value in values if key in FOLDERS), ""))),
        deed=one_line(deed, DESCRIPTION),
    )


def _description(values: Sequence[tuple[str, str]]) -> str:
    """What the agent says a call is for; "" if it does not."""
    return next((value for key, value in values if key in DESCRIBES), "")


def _names(values: Iterable[str]) -> set[str]:
    return {name for value in values for _, found in names_in(value) for name in found}


def _subject(call: Call, values: Sequence[tuple[str, str]], table: Sequence[ToolLine]) -> tuple[list[str], Says]:
    """The values that say what a call was about, and what its result is to say."""
    if files := changed_files(call):
        return list(files), "nothing"
    if call.name in PLAN_TOOLS:
        return [], "nothing"
    if call.name in TASK_CHANGES:
        return [value for key, value in values if key not in DESCRIBES][:2], "nothing"
    words = _verbs(call, values)
    for entry in table:
        for wanted in entry.subject if words & entry.words else ():
            if found := [value for key, value in values if key == wanted]:
                shell = _is_shell(found[0])  # the command as a list: ["bash", "-lc", "make"]
                if entry.says == "answer" and (described := _description(values)):
                    found = [described]
                return ([without_folder(found[-1])] if shell or wanted not in PATHS else found), entry.says
    if is_typing(call):
        return list(typed(values)), "summary"
    return list(named_arguments(call, values)), _OTHER.says


def _shortened(values: Sequence[str], most: int) -> str:
    """Values in one line of about so many characters; of a long path the end, which tells the most."""
    shown: list[str] = []
    for value in values:
        is_path = len(value) <= LONGEST_PATH and "/" in value and not _BLANK.search(value)
        line = value if is_path else one_line(value, most)
        while is_path and len(line) > most and "/" in line[2:]:
            line = "…/" + line.removeprefix("…/").split("/", 1)[1].lstrip("/")
        shown.append(line)
    return one_line(", ".join(shown), most)


def targets(call: Call) -> frozenset[str]:
    """What a changing call changes: the files it names, else the id whose name stands first in the tool's name
    (`update_reservation_flights` changes a `reservation_id`), else the first id."""
    values = [(key, value) for key, value in arguments(call) if is_name(key, value)]
    paths = frozenset(value for key, value in values if key in PATHS)
    name = call.name.lower()
    named = [(name.find(noun), value) for key, value in values if (noun := noun_of(key)) and noun in name]
    return paths or frozenset([min(named)[1]] if named else [value for _, value in values[:1]])


def _deleted_by(call: Call, changes: frozenset[str]) -> frozenset[str]:
    """The files that a tool with this name deletes; whether a record is gone then, its name does not say."""
    is_of_files = any(key in PATHS for key, _ in arguments(call)) if changes else False
    return changes if is_of_files and tool_words(call.name) & {"delete", "remove"} else NO_NAMES


def is_name(key: str, value: str) -> bool:
    """Whether an argument names a file or an object: it is one name, not a text, a number or a setting."""
    if key in PATHS:
        return 0 < len(value) <= LONGEST_PATH and "\n" not in value and not NUMBER.fullmatch(value)
    if key in SETTINGS or _NO_NAME.search(value):
        return False
    return value in names_of(value[:MAX_NAME] or " ") or bool(ID_KEY.search(key) and _ID.match(value))


def _verbs(call: Call, values: Sequence[tuple[str, str]]) -> set[str]:
    """The words that say what a call does: those of the tool's name. If the tool does several things, those of the
    argument that says which (`command`): an editor with the command "view" changes nothing."""
    words = tool_words(call.name)
    if words & _SHELL or not words & CHANGING:
        return words
    verb = next((value for key, value in values if key in _VERBS and len(value) <= SHORT_VERB), "")
    said = tool_words(verb)
    return said if said & _KNOWN else words


def _files_of(call: Call, command: str, commands: Sequence[SimpleCommand]) -> ShellFiles:
    """The files that a shell command names, or a patch changes, as far as the words tell."""
    if files := changed_files(call):
        names = frozenset(files)
        text = "\n".join(value for _, value in arguments(call))
        deleted = frozenset(path.strip() for path in _DELETED.findall(text))
        return ShellFiles(names, names, NO_NAMES, NO_NAMES, deleted)
    return shell_files(command, commands) if command else _NO_FILES


def command_of(call: Call, values: Sequence[tuple[str, str]]) -> str:
    """The command that a call runs in a shell; of a script those that it runs, a line each; "" if there is none."""
    if not tool_words(call.name) & _SHELL:
        return ""
    if len(values) == 1 and not values[0][0]:
        return "\n".join(map(_string_value, _IN_SCRIPT.findall(call.args)))
    given = [value for key, value in values if key in _COMMANDS]
    return given[-1] if given and _is_shell(given[0]) else " ".join(given)


def _is_shell(program: str) -> bool:
    """Whether a program is a shell, whose last argument is then the command."""
    return program.rpartition("/")[2] in {"bash", "sh", "zsh"}


def _string_value(literal: str) -> str:
    """The text of a quoted string; as it is written where it is no valid JSON: JavaScript has other escapes (`\\d`),
    and models write wrong ones."""
    try:
        return str(json.loads(literal, strict=False))
    except ValueError:
        return literal[1:-1]


def changed_files(call: Call) -> tuple[str, ...]:
    """The files that a patch changes ("*** Update File: …"), in a call's arguments or in its command."""
    if "*** " not in call.args or "File: " not in call.args:
        return ()
    text = "\n".join(value for _, value in arguments(call))
    return tuple(dict.fromkeys(path.strip() for path in _PATCHED.findall(text)))


def path_text(path: str) -> str:
    """A path or an id in a few words: of a long path the end, which tells the most."""
    return _shortened([path], SUBJECT)


def one_line(text: str, most: int) -> str:
    """A text in one line of at most `most` characters, cut behind a word, with a mark where it is cut."""
    line = " ".join(text[: 8 * most].split())
    return line if len(line) <= most else cut_at_word(line, most)


def cut_at_word(text: str, most: int) -> str:
    """The beginning of a text, cut behind a word within `most` characters, with a mark that the text goes on."""
    at = max(text.rfind(blank, most // 2, most) for blank in " ,;\n")
    return text[: at if at > 0 else most - 1].rstrip(" ,;\n") + " …"
