"""What a tool call was about and how it ended, in a few words: the tables behind the lines of a record.

A table entry (`ToolLine`) says for a family of tools which argument is the subject of a call, and what to say of its
result. The first entry that fits is used: a word of the tool's name is among its `words`, and the call has one of its
arguments. A tool without an entry is described by its arguments and the first line of its result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from transom import texts
from transom.core.message import Call, Text, ToolResult
from transom.strategies.digest.commands import SCANNED, echoes_code, finds, shows_files
from transom.strategies.digest.passages import arguments
from transom.strategies.text.identifiers import MOST, names_in, names_of
from transom.strategies.text.stubs import SUMMARY, begins_as_error, key_line, stated_code, tool_words

SUBJECT, FULL, OUTCOME = 48, 200, 80
"""Characters of the subject of a call, of one that stands in for a quote, and of the line that says how the call ended:
about 15, 50 and 20 tokens."""

LONGEST_PATH = 400
"""Characters up to which a value may be a path."""

SHORT_OUTPUT, SHORT_LINES = 160, 4
"""Characters and lines up to which the output of a command is its own outcome."""

ONE_LINER = 60
"""Characters up to which a result of one line is its own outcome."""

CodeAt = Literal["", "before", "inside", "behind"]
Says = Literal["lines", "matches", "summary", "first line", "nothing"]


class ToolLine(Struct, frozen=True):
    """One family of tools. `words`: of the names of its tools. `subject`: the arguments that may say what a call is
    about, the best first. `says`: what the line says of a result that is not a failure:

    "lines" or "matches" their number; "summary" that of a test run, else the text if it is one short line, else the
    number of lines; "first line" its first line; "nothing" no more than that it did not fail.
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
    ToolLine(frozenset(("read", "view", "open", "cat", "get", "show", "load")), PATHS, "lines"),
)
"""The families that come with the package: shells and test runs, databases, searches, the web, edits, reads."""

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

PLAN_TOOLS = ("TodoWrite", "manage_todo_list", "todo_write", "update_plan", "write_todos")
"""Tools with which agents write down their plan: the newest call of each is the state of the work."""

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
"""Words in the names of tools that change what they are called with."""

_OTHER = ToolLine(frozenset(), (), "first line")
_SHELL = TOOL_LINES[0].words

_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (\S[^\n]{0,300})", re.MULTILINE)
_CD = re.compile(r"^\s*cd [^&;|\n]{1,200}(?:&&|;)\s*")
_PATH = re.compile(r"(?<![\w./~-])[~./]{0,3}[\w@-][\w.@/-]{0,200}(?:/[\w.@-]{1,100}|\.[A-Za-z]\w{0,7})(?![\w/])")
_WRITES = re.compile(
    r"(?:^|[\s;&|(])(sed -i|perl -pi|mv|rm|tee|cp|touch|git (?:checkout [^;&|\n]{0,200}?--|restore|mv|rm))"
    r"\s([^;&|\n]{1,1000})"
)
_INTO = re.compile(r">>?\s*([^\s>&;|]{2,200})")
_BLANK = re.compile(r"\s")
_NO_NAME = re.compile(r"\s|\A\d{0,6}\Z|\A\d{4}-\d\d-\d\d")
_REFUSED = re.compile(
    r"(?i)\s*(?:the user (?:doesn't|does not|didn't) want|.{0,40}\brejected by (?:the )?user"
    r"|user (?:denied|rejected|declined))"
)
TRACEBACK = "Traceback"
_RAISED = re.compile(r"^[\w.]*(?:Error|Exception)\b", re.MULTILINE)
_FAIL = r"FAIL(?:ED)?(?=\W{0,9}$|[^\w\s:]|:(?!\s*0\b)|\t|  |\s+[\[(]|\s+[A-Z]|\s+[^\s\d]\S*[/.:(_]\S)"
"""The word as test runners write it: alone, in front of a colon, or of the name of a test, a package or a file. In
prose (`FAIL rate is 0%`) it is a word like others."""
_PROSE = re.compile(rf"(?!{_FAIL})FAIL")
_FAIL_LINE = re.compile(rf"^[^\w\n]{{0,20}}(?:--- FAIL|{_FAIL})", re.MULTILINE)
_ERROR_LINE = re.compile(
    rf"^[^\w\n]{{0,20}}(?:--- FAIL|{_FAIL}"
    r"|panic:|error(?:\[\w+\])?:|fatal:|failed to |[\w.]*Error:|make: \*\*\*"
    rf"|npm (?:ERR!|error) |\[[\w:.-]{{1,40}}\] ERROR\b|{TRACEBACK}\b"
    r"|[\w./-]{1,200}:\d+:\d+: (?:error|fatal|undefined|undeclared|cannot|syntax|expected|unused|missing)\b"
    r"|[^\s:]{1,40}:(?: line)?(?: \d+:)? ?command not found)"
    r"|\[(?:build|setup) failed\]|\berror TS\d+:",
    re.MULTILINE,
)
"""A line that begins like the error of a command, or of a build or a test run."""
_GREEN = re.compile(r"\b[1-9]\d*\s+(?:\w+\s+)?(?:passed|passing)\b")
_RED_COUNT = re.compile(r"\b[1-9]\d*\s+(?:\w+\s+)?(?:failed|failing|failures?|errors?)\b")
_RED = re.compile(
    rf"{_RED_COUNT.pattern}"
    rf"|^\W*(?:{_FAIL}|panic|fatal)|[\w.]*Error:|\[(?:build|setup) failed\]"
)
_PASSED = re.compile(r"^(?:ok\s+[\w./-]+\s+(?:\d|\(cached\))|PASS\Z|All checks passed|Success: no issues found)")
_ECHOED = re.compile(
    r"(?im)^\W{0,9}(?:(?:\w{1,40}_)?exit(?:[ _]?(?:code|status))?\s?=|exit(?:[ _]?(?:code|status))?\s?:)"
    r"\s?(\d{1,3})\W{0,9}$"
)
"""What `echo "exit=$?"` prints, as agents have it behind a pipe that hides the exit code."""
_RUNNING = re.compile(r"^Process running with session ID (\w{1,40})$", re.MULTILINE)
_LETTERS = re.compile(r"[^\W\d_]{3}|\d")
_NUMBER = re.compile(r"\s*(?:-?\d{1,9}|true|false|null)\s*")
_JSON = re.compile(r'\{\s*["}]|\[\s*(?:[\[{"\]-]|\d+\s*[,\]])')
_STATUS = re.compile(r'"status" ?: ?"[^"\\]{1,60}"')
HEADER = re.compile(r"\A(?:[^\n]{0,200}\n){1,6}?Output:\n")


NO_NAMES = frozenset[str]()
"""One object for all: each set of its own is one more for Python's garbage collector to look at."""


class CallFacts(Struct, frozen=True, gc=False):
    """What the line of a call needs: the tool's name, what the call was about (`subject`, and at length `full`), and
    what its result is to say. `complete`: `full` has every name of the arguments, so no quote is needed. `finds`: a
    command that ends with exit code 1 where it finds nothing, or a difference. `shows`: a command that prints files,
    in which "error" is a word like others. `echoes`: a command that prints the exit code of another one. `about`: the
    files and objects it names. `changes`: those of them that it changes, if it succeeds.
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


class ResultFacts(Struct, frozen=True, gc=False):
    """What the line of a call needs of its result, read without the call: what it means, the call decides.

    `failed`: the caller says so, or the text begins like an error. `code`, `code_at`: an exit code as tools state it,
    and where it stands: in front of the output, in it or behind it. `echoed`: one as a command may echo it. `line`: the
    most telling line, and how many `lines` there are. `failure`: the most telling line if the call failed. `summary`:
    `line` sums up a test run. `error`: `line` is an error. `text`: all of it, if that is short. `refused`: somebody did
    not let the tool run. `session`: it still ran when this came, under this name."""

    failed: bool
    code: int | None
    code_at: CodeAt
    echoed: int | None
    line: str
    failure: str
    lines: int
    summary: bool
    error: bool = False
    text: str = ""
    refused: bool = False
    session: str = ""


def call_facts(call: Call, table: Sequence[ToolLine] = TOOL_LINES) -> CallFacts:
    """What a call was about, by the first entry of the table that fits."""
    values = [(key, value) for key, value in arguments(call) if value.strip()]
    subject, says = _subject(call, values, table)
    subject_values = [value for key, value in values if key not in SETTINGS and not _NUMBER.fullmatch(value)]
    full = _shortened(subject, FULL)
    names = _names(subject_values)
    if not names <= _names([full]) and sum(len(value) + 2 for value in subject_values) <= FULL:
        full = _shortened([*subject, *(value for value in subject_values if value not in subject)], FULL)
    complete = names <= _names([full])
    paths, changes = subjects(call)
    if tool_words(call.name) & CHANGING and call.name not in PLAN_TOOLS:
        changes |= targets(call)
    is_command, command = says == "summary", " ".join(subject)
    return CallFacts(
        tool=one_line(call.name, SUBJECT) or texts.UNNAMED,
        subject=_shortened(subject, SUBJECT),
        says=says,
        full=full,
        complete=complete,
        finds=is_command and finds(command),
        shows=is_command and shows_files(command),
        echoes=says in {"summary", "first line"} and echoes_code(command),
        about=paths.union(value for key, value in values if is_name(key, value)) or NO_NAMES,
        changes=changes or NO_NAMES,
    )


def _names(values: Iterable[str]) -> set[str]:
    return {name for value in values for _, found in names_in(value) for name in found}


def _subject(call: Call, values: Sequence[tuple[str, str]], table: Sequence[ToolLine]) -> tuple[list[str], Says]:
    """The values that say what a call was about, and what its result is to say."""
    if files := changed_files(call):
        return list(files), "nothing"
    if call.name in PLAN_TOOLS:
        return [], "nothing"
    words = tool_words(call.name)
    for entry in table:
        for wanted in entry.subject if words & entry.words else ():
            if found := [value for key, value in values if key == wanted]:
                shell = found[0] in {"bash", "sh", "zsh", "/bin/bash"}
                return ([_CD.sub("", found[-1])] if shell or wanted not in PATHS else found), entry.says
    return [value for _, value in values[:8]], _OTHER.says


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


def result_facts(result: ToolResult) -> ResultFacts:
    """How a call ended, read from its result."""
    text = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    header = HEADER.match(text)
    body = text[header.end() :] if header else text
    found = stated_code(text)
    passed = _passed(body)
    failed = result.failed or (found is None and not passed and begins_as_error(text))
    running = _RUNNING.search(header[0]) if header else None
    echoed = _ECHOED.findall(body[-SCANNED:])
    lines = body.strip("\n").count("\n") + 1 if body.strip() else 0
    summaries = [line for line, _ in _summaries(body)]
    error = _error_line(body[passed:])
    failure = key_line(body) or (summaries[-1] if summaries else "")
    failure = failure if _LETTERS.search(failure) else body
    if failed or result.synthetic:
        line = failure
    elif _JSON.match(body) and len(body) > OUTCOME:
        line, error = _status(body), ""
    else:
        lines_of = body[:SCANNED].splitlines()
        line = summaries[-1] if summaries else next((line for line in lines_of if _LETTERS.search(line)), "")
        line = error or line or next((line for line in lines_of if line.strip()), "")
    short = len(body) <= SHORT_OUTPUT and 1 < lines <= SHORT_LINES
    return ResultFacts(
        failed=failed,
        code=found[0] if found else None,
        code_at=_code_at(text, *found[1], len(text) - len(body)) if found else "",
        echoed=next((int(one) for one in echoed if int(one)), 0) if echoed else None,
        line=one_line(line, OUTCOME),
        failure=one_line(failure, OUTCOME) if failed or echoed or (found and found[0]) else "",
        lines=lines,
        summary=bool(summaries) or bool(error),
        error=bool(error),
        text=" ⏎ ".join(filter(None, map(str.strip, body.splitlines()))) if short else "",
        refused=bool(_REFUSED.match(body)),
        session=running[1] if running and found is None else "",
    )


def _code_at(text: str, start: int, end: int, header: int) -> CodeAt:
    """Where an exit code stands: in the header or in the first line, in the last line, or in between."""
    if start < header or "\n" not in text[:start].lstrip():
        return "before"
    return "inside" if "\n" in text[end:].rstrip() else "behind"


def _summaries(text: str) -> Iterator[tuple[str, int]]:
    """The lines near the end of a text that sum up a test run, each with where it ends."""
    at = max(0, len(text) - SCANNED)
    for line in text[at:].splitlines(keepends=True):
        at += len(line)
        found = line.strip("\r\n").strip(" =-")
        if (SUMMARY.search(found) and not _PROSE.match(found)) or _PASSED.search(found):
            yield found, at


def _passed(text: str) -> int:
    """Where the summary of a passed test run ends, if it is the last one and nothing says that a test failed; else 0.
    What looks like an error before it was a part of the run."""
    found = list(_summaries(text))
    if not found or not _GREEN.search(found[-1][0]) or _FAIL_LINE.search(text[-SCANNED:]):
        return 0
    return 0 if any(_RED_COUNT.search(line) for line, _ in found) else found[-1][1]


def _error_line(text: str) -> str:
    """The first line that begins like an error, near the end of a text, else near its beginning; "" if there is
    none."""
    for part in (text[-SCANNED:], text[:SCANNED] if len(text) > SCANNED else ""):
        if found := _ERROR_LINE.search(part):
            start = part.rfind("\n", 0, found.end()) + 1
            if raised := _RAISED.search(part, start) if found[0].endswith(TRACEBACK) else None:
                start = raised.start()
            return part[start:].split("\n", 1)[0].strip()
    return ""


def _status(json_text: str) -> str:
    """The status that a JSON object names, if it names exactly one."""
    found = _STATUS.findall(json_text[:SCANNED])
    return found[0] if len(found) == 1 else ""


def outcome_text(call: CallFacts, result: ResultFacts | None, quoted: str = "") -> str:
    """How a call ended, in a few words; empty where that it did not fail is all there is to say. What the tool itself
    said is in quotation marks, unless what is `quoted` of it below begins with that."""
    if result is None:
        return "no result"
    if result.refused:
        return "refused by the user"
    is_failed, code = is_failure(call, result), exit_code(call, result)
    line = texts.in_a_line((is_failed and result.failure) or result.line)
    is_below = " ".join(quoted[: 2 * SCANNED].split()).startswith(line.removesuffix(" …"))
    own = f"{texts.OPEN}{line}{texts.CLOSE}" if line and not is_below else ""
    if is_failed:
        ended = f"exit {code}" if code else "failed"
        return f"{ended}: {own}" if own else ended
    if result.session:
        ended = f"still running, session {result.session}"
        return f"{ended}: {own}" if own else ended
    if call.says == "nothing":
        return ""
    if call.says == "first line" or (call.says == "summary" and result.summary and not call.shows):
        return own
    if call.says == "matches":
        none = not result.lines or (result.lines == 1 and result.line[:3].lower() in {"no ", "no"})
        return "no matches" if none else _number(result.lines, "match", "matches")
    if result.lines <= 1 and len(result.line) <= ONE_LINER:
        return own or ("" if result.lines else "no output")
    if call.says == "summary" and result.text and not quoted:
        return f"{texts.OPEN}{texts.in_a_line(result.text)}{texts.CLOSE}"
    return _number(result.lines, "line", "lines")


def is_failure(call: CallFacts, result: ResultFacts) -> bool:
    """Whether a call failed: by its exit code or its first words; of a command, by the summary of a test run, or, where
    no exit code is known, by a line that begins like an error."""
    code = exit_code(call, result)
    found_nothing = call.finds and code == 1
    if (result.failed or code) and not found_nothing:
        return True
    if call.says != "summary" or call.shows:
        return False
    return (result.error and (code is None or found_nothing)) or (result.summary and bool(_RED.search(result.line)))


def exit_code(call: CallFacts, result: ResultFacts) -> int | None:
    """The exit code of a call: the one of its tool, else one that its command echoes."""
    own = own_code(call, result)
    return result.echoed if own is None and call.echoes else own


def own_code(call: CallFacts, result: ResultFacts) -> int | None:
    """The exit code that a tool states of a call. What shows files may show such a line of theirs: of a command that
    does, only one in front of the output or behind it counts; of a tool that is no shell, only one in front."""
    if result.code_at == "before" or (call.says == "summary" and not (call.shows and result.code_at == "inside")):
        return result.code
    return result.code if call.says == "first line" else None


def targets(call: Call) -> frozenset[str]:
    """What a changing call changes: the files it names, else the first id."""
    values = [(key, value) for key, value in arguments(call) if is_name(key, value)]
    paths = frozenset(value for key, value in values if key in PATHS)
    return paths or frozenset(value for _, value in values[:1])


def is_name(key: str, value: str) -> bool:
    """Whether an argument names a file or an object: it is one name, not a text, a number or a setting."""
    return key not in SETTINGS and not _NO_NAME.search(value) and value in names_of(value[:MOST] or " ")


def subjects(call: Call) -> tuple[frozenset[str], frozenset[str]]:
    """The files that a shell command names, or a patch changes; and those of them that it changes, as far as its words
    tell."""
    if files := changed_files(call):
        return frozenset(files), frozenset(files)
    if not tool_words(call.name) & _SHELL:
        return frozenset(), frozenset()
    command = " ".join(value for _, value in arguments(call))[:SCANNED]
    paths = frozenset(_PATH.findall(command))
    changes = {path for path in _INTO.findall(command) if path in paths and not path.startswith("/dev/")}
    for verb, rest in _WRITES.findall(command):
        found = [path for path in _PATH.findall(rest) if not path.startswith(("s/", "/dev/"))]
        changes.update(found[-1:] if verb in {"cp", "tee"} else found)
    return paths, frozenset(changes)


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
    return line if len(line) <= most else one_line_end(line, most)


def one_line_end(text: str, most: int) -> str:
    """The beginning of a text up to a blank, with a mark that it goes on."""
    at = max(text.rfind(blank, most // 2, most) for blank in " ,;\n")
    return text[: at if at > 0 else most - 1].rstrip(" ,;\n") + " …"


def _number(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
