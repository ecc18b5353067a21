"""What a tool call was about and how it ended, in a few words: the tables behind the lines of a record.

A table entry (`ToolLine`) says for a family of tools which argument is the subject of a call, and what to say of its
result. The first entry that fits is used: a word of the tool's name is among its `words`, and the call has one of its
arguments. A tool without an entry is described by its arguments and the first line of its result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from transom import texts
from transom.core.message import Call, Text, ToolResult
from transom.strategies.digest.passages import arguments
from transom.strategies.text.identifiers import MOST, names_in, names_of
from transom.strategies.text.stubs import SUMMARY, ending, key_line, tool_words

SUBJECT, FULL, OUTCOME = 48, 200, 80
"""Characters of the subject of a call, of one that stands in for a quote, and of the line that says how the call ended:
about 15, 50 and 20 tokens."""

LONGEST_PATH = 400
"""Characters up to which a value may be a path."""

SHORT_OUTPUT, SHORT_LINES = 160, 4
"""Characters and lines up to which the output of a command is its own outcome."""

SCANNED = 4_000
"""Characters of a result, at its end, in which a summary of tests is looked for."""

ONE_LINER = 60
"""Characters up to which a result of one line is its own outcome."""

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
_ERROR_LINE = re.compile(
    r"^[^\w\n]{0,20}(?:--- FAIL|FAIL\b|FAILED\b|panic:|error(?:\[\w+\])?:|fatal:|failed to |[\w.]*Error:|make: \*\*\*"
    rf"|npm (?:ERR!|error) |\[[\w:.-]{{1,40}}\] ERROR\b|{TRACEBACK}\b"
    r"|[\w./-]{1,200}:\d+:\d+: (?:error|fatal|undefined|undeclared|cannot|syntax|expected|unused|missing)\b"
    r"|[^\s:]{1,40}:(?: line)?(?: \d+:)? ?command not found)"
    r"|\[(?:build|setup) failed\]|\berror TS\d+:",
    re.MULTILINE,
)
"""A line that begins like the error of a command, or of a build or a test run."""
_RED = re.compile(
    r"\b[1-9]\d*\s+(?:\w+\s+)?(?:failed|failing|failures?|errors?)\b"
    r"|^\W*(?:FAIL|panic|fatal)|[\w.]*Error:|\[(?:build|setup) failed\]"
)
_PASSED = re.compile(r"^(?:ok\s+[\w./-]+\s+(?:\d|\(cached\))|PASS\Z|All checks passed|Success: no issues found)")
_ECHOED = re.compile(r"(?im)^\W{0,9}\w{0,40}exit(?:[ _]?(?:code|status))?\s?[=:]\s?(\d{1,3})\W{0,9}$")
"""`echo "exit=$?"`, as agents have it behind a pipe that hides the exit code."""
_RUNNING = re.compile(r"^Process running with session ID (\w{1,40})$", re.MULTILINE)
_FINDS = re.compile(r"\s*(?:git (?:diff|grep)|grep|rg|egrep|diff|find|which|test)\b")
_SHOWS = re.compile(
    r"\s*(?:(?:cat|sed -n|head|tail|nl|less|awk|jq|ls|find|grep|egrep|rg"
    r"|git (?:--no-pager )?(?:diff|show|log|grep|blame)|gh \w+ (?:view|list|diff)|gh api"
    r"|echo|printf|wc|sort|cd|pwd|true)\b(?!\s*[<>])|\Z)"
)
_AND_THEN = re.compile(r"&&|\|\||[;\n]")
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
    in which "error" is a word like others. `about`: the files and objects it names. `changes`: those of them that it
    changes, if it succeeds.
    """

    tool: str
    subject: str
    says: Says
    full: str
    complete: bool
    finds: bool
    shows: bool
    about: frozenset[str]
    changes: frozenset[str]


class ResultFacts(Struct, frozen=True, gc=False):
    """What the line of a call needs of its result: whether it failed, its exit code, its most telling line, and how
    many lines it has. `summary`: that line sums up a test run. `error`: that line is an error. `text`: all of it, if
    that is short. `refused`: somebody did not let the tool run. `session`: it still ran when this came, under this
    name."""

    failed: bool
    code: int | None
    line: str
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
    is_command = says == "summary"
    return CallFacts(
        tool=one_line(call.name, SUBJECT) or texts.UNNAMED,
        subject=_shortened(subject, SUBJECT),
        says=says,
        full=full,
        complete=complete,
        finds=is_command and any(map(_FINDS.match, subject[:1])),
        shows=is_command and all(map(_SHOWS.match, _AND_THEN.split(" ".join(subject)[:SCANNED]))),
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
    code, failed = ending(result)
    header = HEADER.match(text)
    body = text[header.end() :] if header else text
    running = _RUNNING.search(header[0]) if header else None
    if code is None and (echoed := _ECHOED.findall(body[-SCANNED:])):
        code = next((int(one) for one in echoed if int(one)), 0)
        failed = failed or code != 0
    lines = body.strip("\n").count("\n") + 1 if body.strip() else 0
    summaries = [
        found
        for line in body[-SCANNED:].splitlines()
        if (found := line.strip(" =-")) and (SUMMARY.search(found) or _PASSED.search(found))
    ]
    error = _error_line(body)
    if _JSON.match(body) and len(body) > OUTCOME and not failed:
        line, error = _status(body), ""
    elif failed or result.synthetic:
        line = key_line(body) or (summaries[-1] if summaries else "")
        line = line if _LETTERS.search(line) else body
    else:
        lines_of = body[:SCANNED].splitlines()
        line = summaries[-1] if summaries else next((line for line in lines_of if _LETTERS.search(line)), "")
        line = error or line or next((line for line in lines_of if line.strip()), "")
    short = len(body) <= SHORT_OUTPUT and 1 < lines <= SHORT_LINES
    return ResultFacts(
        failed=failed,
        code=code,
        line=one_line(line, OUTCOME),
        lines=lines,
        summary=bool(summaries) or bool(error),
        error=bool(error),
        text=" ⏎ ".join(filter(None, map(str.strip, body.splitlines()))) if short else "",
        refused=bool(_REFUSED.match(body)),
        session=running[1] if running and code is None else "",
    )


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
    if result.session and not result.lines:
        return f"still running, session {result.session}"
    line = texts.in_a_line(result.line)
    is_below = " ".join(quoted[: 2 * SCANNED].split()).startswith(line.removesuffix(" …"))
    own = f"{texts.OPEN}{line}{texts.CLOSE}" if line and not is_below else ""
    if is_failure(call, result):
        ended = f"exit {result.code}" if result.code else "failed"
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
    if result.failed:
        return not (call.finds and result.code == 1)
    if call.says != "summary" or call.shows:
        return False
    return (result.error and result.code is None) or (result.summary and bool(_RED.search(result.line)))


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
