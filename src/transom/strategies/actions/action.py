"""What a call did, read once from its name and its arguments by the tables of tools and programs."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence

from msgspec import Struct

from transom import texts
from transom.core.message import Call
from transom.strategies.actions.arguments import DESCRIBES, FOLDERS, PATHS, arguments, is_limit, is_name, noun_of
from transom.strategies.actions.commands import Command, commands_in, is_shell, paths_in, text_to_run
from transom.strategies.actions.file_edits import FileEdit, file_edits_in, informative_line
from transom.strategies.actions.tool_table import (
    CHANGING,
    COMMANDS,
    PLAN_TOOLS,
    SHELL,
    TASK_CHANGES,
    TOOLS,
    Kind,
    ToolRow,
    row_of,
    verbs,
)
from transom.strategies.text.one_line import LONGEST_PATH, one_line, values_in_a_line
from transom.strategies.text.stubs import tool_words

ABOUT, TEXT, OUTCOME = 48, 200, 80
"""Characters of what a call was about, of the same at length, and of the line that says how the call ended: about 15,
50 and 20 tokens."""

DESCRIPTION = 80
"""Characters of what stands for a command that is longer: its description, or what it made."""

MOST_ARGUMENTS = 8
"""How many arguments of a tool that no table knows stand in its line."""

NO_NAMES = frozenset[str]()
"""One object for all: each set of its own is one more for Python's garbage collector to look at."""

_RUNS = frozenset(("run", "type"))
"""The kinds of calls that run a command."""
_IN_SCRIPT = re.compile(r'\bcmd"?\s*:\s*("(?:[^"\\]|\\.)*+")')
"""A command inside of a script that runs it."""
_SAYS_WHAT_IT_IS = re.compile(r"\S\s+\S|[^\W\d_][\w.]*[/@_-]\w|\d-\d|://")
"""In a value that needs no name: several words, a path, an address, a date, an id of several parts."""


class Action(Struct, frozen=True, gc=False):
    """What a call did, as its name and its arguments say. Whether it succeeded is in its `Outcome`.

    - `tool`: the name of the tool, cut to `ABOUT` characters. `kind`: what the tool does (see `ToolRow`).
    - `about`: what the call was about, in one line of at most `ABOUT` (48) characters; "" for a plan. A command that
      makes something, or is longer, is described by the title of what it makes or by the call's own description, in at
      most `DESCRIPTION` (80) characters. `text`: all of the command, or the same at length, in at most `TEXT` (200).
    - `names`: the files and objects that the call names. `changes`: those that it changes if it succeeds, as the call
      writes them. `is_changing`: the name of the tool says that it changes something, as `create_ticket` does, even if
      no argument names what; False for a shell.
    - `commands`: what the call runs in a shell, in order.
    - `edits`: what the call puts in place of what. `edited_line`: the most informative line of the edits, in at most
      `OUTCOME` (80) characters; `adds_line`: whether they add that line or take it away.
    """

    tool: str
    kind: Kind
    about: str = ""
    text: str = ""
    names: frozenset[str] = NO_NAMES
    changes: frozenset[str] = NO_NAMES
    commands: tuple[Command, ...] = ()
    edits: tuple[FileEdit, ...] = ()
    edited_line: str = ""
    adds_line: bool = True
    is_changing: bool = False

    @property
    def is_run(self) -> bool:
        """Whether the call runs a command, or types into a command that runs."""
        return self.kind in _RUNS

    @property
    def is_edit(self) -> bool:
        """Whether the tool changes files, or writes down a plan. A shell command that changes files is no edit."""
        return self.kind in {"edit", "delete", "plan"}

    @property
    def is_view(self) -> bool:
        """Whether all that the commands of the call do is to print or search files. Commands such as `cd` do not count.
        False without commands."""
        roles = {one.role for one in self.commands} - {"beside"}
        return bool(roles) and roles <= {"shows", "finds"}

    @property
    def finds(self) -> bool:
        """Whether exit code 1 is no failure of the commands: the first or the last of them searches or compares
        (`grep`, `find`, `diff`, `test`). Commands such as `cd` do not count."""
        main = [one for one in self.commands if one.role != "beside"]
        return bool(main) and "finds" in {main[0].role, main[-1].role}

    @property
    def echoes(self) -> bool:
        """Whether the output may have the exit code of a command in it: the call runs `echo` or `printf`, or no table
        knows its tool."""
        return self.kind == "other" or any(one.program in {"echo", "printf"} for one in self.commands)

    @property
    def deleted(self) -> frozenset[str]:
        """The files that are gone after the call, if it succeeds."""
        gone = self.changes if self.kind == "delete" else frozenset(one.file for one in self.edits if one.deletes)
        for one in self.commands:
            gone = gone | one.changes if one.role == "deletes" else gone - one.changes
        return gone


UNKNOWN = Action("", "other")
"""In place of the call of a result whose call is not known."""


def action_of(call: Call, tools: Sequence[ToolRow] = TOOLS) -> Action:
    """Read what a call did from its name and its arguments, which need not be JSON.

    A patch in the arguments is an edit, and the tools of `PLAN_TOOLS` and `TASK_CHANGES` are plans. The kind of any
    other call is that of the first row of the table `tools` that fits (see `row_of`); "other" if none does.
    """
    given = arguments(call)
    values = [(key, value) for key, value in given if value.strip()]
    words = verbs(call.name, values)
    edits = file_edits_in(given)  # an empty new text, too, belongs to an old one
    patched = list(dict.fromkeys(edit.file for edit in edits)) if "File: " in call.args and "*** " in call.args else []
    kind, about = _about(call, values, words, tools, patched)
    shell = command_of(call, values)
    commands = commands_in(shell, next((value for key, value in values if key in FOLDERS), "")) if shell else ()
    made = next((one.title for one in commands if one.title), "")
    named = NO_NAMES.union(paths_in(shell) if shell else (), *(one.changes for one in commands))
    changes = frozenset(patched).union(*(one.changes for one in commands))
    if not patched and words & CHANGING and kind not in {"plan", "type"}:
        changes |= _targets(call, values)
    names = named.union(patched, (value for key, value in values if is_name(key, value)))
    line, adds_line = informative_line(edits) if kind in {"edit", "delete"} else ("", True)
    short = made
    if kind in _RUNS:
        bare = _bare(shell, commands)
        about = [bare] if bare else about
        described = next((value for key, value in values if key in DESCRIBES), "")
        short = made or (described if len(" ".join(about)) > ABOUT else "")
    return Action(
        tool=one_line(call.name, ABOUT) or texts.UNNAMED,
        kind=kind,
        about=one_line(short, DESCRIPTION) if short else values_in_a_line(about, ABOUT),
        text=values_in_a_line([made, *about] if made else about, TEXT),
        names=names or NO_NAMES,
        changes=changes or NO_NAMES,
        commands=commands,
        edits=edits,
        edited_line=one_line(line, OUTCOME),
        adds_line=adds_line,
        is_changing=bool(words & CHANGING) and kind not in {"plan", "type", "run"},
    )


def _about(
    call: Call, values: Sequence[tuple[str, str]], words: set[str], tools: Sequence[ToolRow], patched: list[str]
) -> tuple[Kind, list[str]]:
    """The kind of a call, and the values that say what it is about."""
    if patched:
        return "edit", patched
    if call.name in PLAN_TOOLS:
        return "plan", []
    if call.name in TASK_CHANGES:
        return "plan", [value for key, value in values if key not in DESCRIBES][:2]
    kind, found = row_of(words, values, tools)
    if kind == "delegate":
        return kind, [value for key, value in values if key in DESCRIBES][:1] or found
    if kind == "run" and found and is_shell(found[0]):
        found = found[-1:]  # the command as a list: ["bash", "-lc", "make"]
    if kind == "type":
        values = [(key, repr(value)[1:-1]) for key, value in values]  # keys such as Ctrl-C are no letters
    return kind, list(_named(call, values)) if kind in {"type", "other"} else found


def _named(call: Call, values: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The arguments of a tool that no table knows: `name=value`."""
    given = [(key, value) for key, value in values if not is_limit(key, value)]
    name, before = call.name.lower(), ""
    for key, value in given[:MOST_ARGUMENTS]:
        is_bare = len(given) == 1 or key in {"", before} or (noun_of(key) and noun_of(key) in name)
        yield value if is_bare or _SAYS_WHAT_IT_IS.search(value[:LONGEST_PATH]) else f"{key}={value}"
        before = key


def command_of(call: Call, values: Sequence[tuple[str, str]]) -> str:
    """The command that a call runs in a shell: the values of its arguments `COMMANDS`. "" if the tool is no shell, or
    has no such argument. `values`: what `arguments` gives for the call.

    The words of a list are joined as a shell would quote them; of `["bash", "-lc", "make"]` only "make" is returned.
    Arguments that are not JSON are a program (JavaScript): the result has each command that it gives as `cmd: "…"`, one
    in a line.
    """
    if not tool_words(call.name) & SHELL:
        return ""
    if len(values) == 1 and not values[0][0]:
        return "\n".join(map(_string_value, _IN_SCRIPT.findall(call.args)))
    given = [(key, value) for key, value in values if key in COMMANDS]
    words = [value for _, value in given]
    if len(words) < 2:
        return "".join(words)
    if given[0][0] != given[-1][0]:  # no list, but several arguments: one may be the shell and one the text
        return words[-1] if is_shell(words[0]) else " ".join(words)
    if len(words[0].split()) > 1:  # a list of commands, not of words
        return " ".join(words)
    text = text_to_run(words[1:]) if is_shell(words[0]) else None
    return shlex.join(words) if text is None else text


def _string_value(literal: str) -> str:
    """The text of a quoted string; as it is written where it is no valid JSON: JavaScript has other escapes (`\\d`),
    and models write wrong ones."""
    try:
        return str(json.loads(literal, strict=False))
    except ValueError:
        return literal[1:-1]


def _bare(text: str, commands: Sequence[Command]) -> str:
    """A command without the folder, variables and time limit it runs with, and without a cut of its output."""
    main = [one for one in commands if one.role != "beside"]
    while len(main) > 1 and main[-1].program in {"tail", "head"}:
        main.pop()
    return text[main[0].start : main[-1].stop].strip() if main else ""


def _targets(call: Call, values: Sequence[tuple[str, str]]) -> frozenset[str]:
    """What a changing call changes: the files it names, else the id whose name stands first in the tool's name
    (`update_reservation_flights` changes a `reservation_id`), else the first id."""
    named = [(key, value) for key, value in values if is_name(key, value)]
    paths = frozenset(value for key, value in named if key in PATHS)
    name = call.name.lower()
    by_noun = [(name.find(noun), value) for key, value in named if (noun := noun_of(key)) and noun in name]
    return paths or frozenset([min(by_noun)[1]] if by_noun else [value for _, value in named[:1]])
