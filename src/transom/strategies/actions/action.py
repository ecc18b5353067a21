"""What a call did, read once from its name and its arguments by the tables of tools and programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from transom import texts
from transom.core.message import Call
from transom.strategies.actions.arguments import (
    ADDED,
    DESCRIBES,
    FOLDERS,
    NUMBER,
    PATHS,
    REPLACED,
    SETTINGS,
    arguments,
    is_limit,
    is_name,
    is_plan,
    noun_of,
)
from transom.strategies.actions.commands import Command, commands_in, paths_in
from transom.strategies.actions.edits import FileEdit, file_edits_in, informative_line
from transom.strategies.actions.programs import is_shell
from transom.strategies.actions.tools import (
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
from transom.strategies.text.identifiers import names_in
from transom.strategies.text.one_line import LONGEST_PATH, one_line, values_in_a_line
from transom.strategies.text.stubs import tool_words

ABOUT, TEXT, OUTCOME = 48, 200, 80
"""Characters of what a call was about, of the same at length, and of the line that says how the call ended: about 15,
50 and 20 tokens."""

DESCRIPTION = 80
"""Characters of what stands for a command that is longer: its description, or what it made."""

MOST_ARGUMENTS = 8
"""How many arguments of a tool that no table knows stand in its line."""

TYPED = ("chars", "input", "keys", "text", "data")
"""Arguments that hold what is typed into a running command."""

NO_NAMES = frozenset[str]()
"""One object for all: each set of its own is one more for Python's garbage collector to look at."""

_RUNS = frozenset(("run", "type"))
"""The kinds of calls that run a command."""
_IN_SCRIPT = re.compile(r'\bcmd"?\s*:\s*("(?:[^"\\]|\\.)*+")')
"""A command inside of a script that runs it."""
_SAYS_WHAT_IT_IS = re.compile(r"\S\s+\S|[^\W\d_][\w.]*[/@_-]\w|\d-\d|://")
"""In a value that needs no name: several words, a path, an address, a date, an id of several parts."""
_ECHOES = re.compile(r"\$\?|PIPESTATUS|EXIT_?CODE|RETURNCODE", re.IGNORECASE)


class Action(Struct, frozen=True, gc=False):
    """What a call did.

    - `tool`: its name. `kind`: what it does (see `ToolRow`). `about`: to what, in a few words; `text`: the same at
      length. `complete`: `text` has every name of the arguments, so no quote of them is needed.
    - `names`: the files and objects that it names. `shown`: those whose text its result is. `changes`: those that it
      changes if it succeeds; `first`: those of them that are changed also if only its last command fails. `restored`:
      those that it puts back as they were; `deleted`: those that are gone.
    - `commands`: what it runs in a shell; `is_view`: they only print files; `finds`: they end with exit code 1 where
      they find nothing; `echoes`: they print the exit code of another one. `deed`: what they made, such as a commit.
    - `edits`: what it puts in place of what. `did`: the most informative line of them; `added`: whether they added it.
    """

    tool: str
    kind: Kind
    about: str = ""
    text: str = ""
    complete: bool = False
    names: frozenset[str] = NO_NAMES
    shown: frozenset[str] = NO_NAMES
    changes: frozenset[str] = NO_NAMES
    first: frozenset[str] = NO_NAMES
    restored: frozenset[str] = NO_NAMES
    deleted: frozenset[str] = NO_NAMES
    commands: tuple[Command, ...] = ()
    is_view: bool = False
    finds: bool = False
    echoes: bool = False
    deed: str = ""
    edits: tuple[FileEdit, ...] = ()
    did: str = ""
    added: bool = True

    @property
    def is_run(self) -> bool:
        """Whether it runs a command, or types into one that runs."""
        return self.kind in _RUNS

    @property
    def is_edit(self) -> bool:
        """Whether it changes files, or says what is to be done."""
        return self.kind in {"edit", "delete", "plan"}


UNKNOWN = Action("", "other")
"""In place of the call of a result whose call is not known."""


def action_of(call: Call, tools: Sequence[ToolRow] = TOOLS) -> Action:
    """What a call did, by the first row of the table that fits."""
    values = [(key, value) for key, value in arguments(call) if value.strip()]
    words = verbs(call.name, values)
    edits = file_edits_in(values)
    patched = list(dict.fromkeys(edit.file for edit in edits)) if "File: " in call.args and "*** " in call.args else []
    kind, about = _about(call, values, words, tools, patched)
    shell = command_of(call, values)
    commands = commands_in(shell, next((value for key, value in values if key in FOLDERS), "")) if shell else ()
    deed = next((one.title for one in commands if one.title), "") if shell else ""
    if deed and any(one.program == "git" and "push" in str(one.targets) for one in commands):
        deed += ", push"
    named = NO_NAMES.union(paths_in(shell) if shell else (), *(one.changes for one in commands))
    changes = frozenset(patched).union(*(one.changes for one in commands))
    if not patched and words & CHANGING and kind not in {"plan", "type"}:
        changes |= _targets(call, values)
    names = named.union(patched, (value for key, value in values if is_name(key, value)))
    is_run = kind in _RUNS
    about_names = names if kind in {"read", "fetch", "search", "other"} else NO_NAMES
    deleted = {edit.file for edit in edits if edit.deletes}.union(changes if _deletes(words, values) else ())
    for one in commands:
        deleted = deleted | one.changes if one.role == "deletes" else deleted - one.changes
    did, added = informative_line(edits) if kind in {"edit", "delete"} else ("", True)
    start = next((one.start for one in commands if one.role != "beside"), 0)
    if start and is_run:
        about = [shell[start:]]
    text, complete = _at_length(values, [deed, *about] if deed else about)
    short = deed
    if is_run:
        bare = _bare(shell, commands) if shell else ""
        about = [bare] if bare else about
        described = next((value for key, value in values if key in DESCRIBES), "")
        short = deed or (described if len(" ".join(about)) > ABOUT else "")
    return Action(
        tool=one_line(call.name, ABOUT) or texts.UNNAMED,
        kind=kind,
        about=one_line(short, DESCRIPTION) if short else values_in_a_line(about, ABOUT),
        text=text,
        complete=complete,
        names=names or NO_NAMES,
        shown=(_shown(commands, names) if is_run else about_names) or NO_NAMES,
        changes=changes or NO_NAMES,
        first=NO_NAMES.union(*(one.changes for one in commands[:-1])) or NO_NAMES,
        restored=NO_NAMES.union(*(one.changes for one in commands if one.role == "restores")) or NO_NAMES,
        deleted=frozenset(deleted) or NO_NAMES,
        commands=commands,
        is_view=_is_view(commands),
        finds=_finds(commands),
        echoes=(is_run and bool(_ECHOES.search(shell))) or (kind == "other" and bool(_ECHOES.search(call.args))),
        deed=one_line(deed, DESCRIPTION),
        edits=edits,
        did=one_line(did, OUTCOME),
        added=added,
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
        return kind, list(_typed(values))
    return kind, found if kind != "other" else list(_named(call, values))


def _typed(values: Sequence[tuple[str, str]]) -> Iterator[str]:
    """What was typed into a running command, if anything, and the session."""
    for key, value in values:
        if key in TYPED:
            yield "".join(one if one.isprintable() else repr(one)[1:-1] for one in value)
    yield from (f"session {value}" for key, value in values if key.startswith("session"))


def _named(call: Call, values: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The arguments of a tool that no table knows: `name=value`; without the name if there is only one, if the tool's
    name says what it is the id of, or if the value says what it is. The name of a list stands once. Left out is what
    only says how long or how much. Of a plan nothing is named: it is quoted."""
    given = [(key, value) for key, value in values if not is_limit(key, value)]
    name, before = call.name.lower(), ""
    for key, value in given[:MOST_ARGUMENTS] if not any(is_plan(*one) for one in values) else ():
        is_bare = len(given) == 1 or key in {"", before} or (noun_of(key) and noun_of(key) in name)
        yield value if is_bare or _SAYS_WHAT_IT_IS.search(value[:LONGEST_PATH]) else f"{key}={value}"
        before = key


def command_of(call: Call, values: Sequence[tuple[str, str]]) -> str:
    """The command that a call runs in a shell; of a script those that it runs, a line each; "" if there is none."""
    if not tool_words(call.name) & SHELL:
        return ""
    if len(values) == 1 and not values[0][0]:
        return "\n".join(map(_string_value, _IN_SCRIPT.findall(call.args)))
    given = [value for key, value in values if key in COMMANDS]
    return given[-1] if given and is_shell(given[0]) else " ".join(given)


def _string_value(literal: str) -> str:
    """The text of a quoted string; as it is written where it is no valid JSON: JavaScript has other escapes (`\\d`),
    and models write wrong ones."""
    try:
        return str(json.loads(literal, strict=False))
    except ValueError:
        return literal[1:-1]


def _bare(text: str, commands: Sequence[Command]) -> str:
    """A command without the folder and the variables it is run with, a time limit, and a cut of its output; "" if
    nothing is left."""
    main = [one for one in commands if one.role != "beside"]
    if not main:
        return ""
    last = main[-1]
    while len(main) > 1 and last.program in {"tail", "head"}:
        last = main[main.index(last) - 1]
        main = main[: main.index(last) + 1]
    return text[main[0].start : last.stop].strip()


def _targets(call: Call, values: Sequence[tuple[str, str]]) -> frozenset[str]:
    """What a changing call changes: the files it names, else the id whose name stands first in the tool's name
    (`update_reservation_flights` changes a `reservation_id`), else the first id."""
    named = [(key, value) for key, value in values if is_name(key, value)]
    paths = frozenset(value for key, value in named if key in PATHS)
    name = call.name.lower()
    by_noun = [(name.find(noun), value) for key, value in named if (noun := noun_of(key)) and noun in name]
    return paths or frozenset([min(by_noun)[1]] if by_noun else [value for _, value in named[:1]])


def _deletes(words: set[str], values: Sequence[tuple[str, str]]) -> bool:
    """Whether a call deletes files; whether a record is gone then, the name of the tool does not say."""
    return bool(words & {"delete", "remove"}) and any(key in PATHS for key, _ in values)


def _shown(commands: Sequence[Command], names: frozenset[str]) -> frozenset[str]:
    """The files whose text commands print; all of the `names` if a variable stands for them."""
    shows = [one for one in commands if one.role in {"shows", "finds"}]
    return names if any("$" in str(one.targets) for one in shows) else NO_NAMES.union(*(one.shows for one in shows))


def _is_view(commands: Sequence[Command]) -> bool:
    """Whether all that commands do is to print files."""
    roles = {one.role for one in commands}
    return roles <= {"shows", "finds", "beside"} and bool(roles - {"beside"})


def _finds(commands: Sequence[Command]) -> bool:
    """Whether commands end with exit code 1 where they find nothing."""
    main = [one for one in commands if one.role != "beside"]
    return bool(main) and "finds" in {main[0].role, main[-1].role}


def _at_length(values: Sequence[tuple[str, str]], about: Sequence[str]) -> tuple[str, bool]:
    """What a call was about at length, and whether that has every name of its arguments. If some are not in it, but all
    arguments are short, then all are shown."""
    left_out = SETTINGS | REPLACED | ADDED  # an edit's text is in `did`, and in quotes
    given = [value for key, value in values if key not in left_out and not NUMBER.fullmatch(value)]
    text, names = values_in_a_line(about, TEXT), _names(given)
    if not names <= _names([text]) and sum(len(value) + 2 for value in given) <= TEXT:
        stated = {one for shown in about for one in (shown, shown.partition("=")[2])}
        more = [value for value in given if value not in stated]
        text = values_in_a_line([*(one for one in about if not any(one in value for value in more)), *more], TEXT)
    return text, names <= _names([text]) and not any(key in ADDED for key, _ in values)


def _names(values: Iterable[str]) -> set[str]:
    return {name for value in values for _, found in names_in(value) for name in found}
