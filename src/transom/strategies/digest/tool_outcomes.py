"""How a tool call ended, in a few words: what its result says of exit codes, errors, test runs and JSON.

`result_facts` reads a result once. `outcome_text` makes the words for a record, and `is_failure` decides whether the
call failed. Both also need the call (`tool_lines.py`): an error in a file that a command prints is no error of the
command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from transom import texts
from transom.core.message import Text, ToolResult
from transom.strategies.digest.command_output import SCANNED
from transom.strategies.digest.noise import without_controls
from transom.strategies.digest.program_messages import receipt
from transom.strategies.digest.tool_lines import OUTCOME, CallFacts, one_line
from transom.strategies.text.stubs import SUMMARY, begins_as_error, key_line, stated_code

SHORT_OUTPUT, SHORT_LINES, SHORT_MATCHES = 160, 4, 120
"""Characters and lines up to which the output of a command is its own outcome, and characters of the matches of a
search."""

ONE_LINER, REFUSAL = 60, 200
"""Characters up to which a result of one line is its own outcome, and may be the refusal of a tool."""

CodeAt = Literal["", "before", "inside", "behind"]
_REFUSED = re.compile(
    r"(?i)\s*(?:the user (?:doesn't|does not|didn't) want|.{0,40}\brejected by (?:the )?user"
    r"|user (?:denied|rejected|declined))"
)
_DENIES = re.compile(
    r"(?i)(?:ENOENT|EISDIR|EACCES|EPERM|ENOTDIR|cannot|can't|could not|couldn't|unable to|failed to|permission denied"
    r"|access denied|operation not permitted|no such|no changes made|not found|request failed"
    r"|file content \([^)\n]{1,60}\) exceeds|\S+ requested permissions? to )"
    r"|(?:(?:the|a|an) )?(?:\w+:? ){0,2}?(?:'[^'\n]{1,160}'|\"[^\"\n]{1,160}\"|`[^`\n]{1,160}`|\S{1,160}) ?:? ?"
    r"(?:does not exist|doesn't exist|(?:is |was )?not found|no such file|(?:is )?not (?:permitted|allowed)"
    r"|permission denied|cannot be (?:read|found|opened))"
)
"""How a tool that reads or edits says in one line that it could not: something is not there or not allowed."""

TRACEBACK = "Traceback"
_RAISED = re.compile(r"^[\w.]*(?:Error|Exception)\b", re.MULTILINE)
_FAIL = r"FAIL(?:ED)?(?=\W{0,9}$|[^\w\s:]|:(?!\s*0\b)|\t|  |\s+[\[(]|\s+[A-Z]|\s+[^\s\d]\S*[/.:(_]\S)"
"""The word as test runners write it: alone, in front of a colon, or of the name of a test, a package or a file. In
prose (`FAIL rate is 0%`) it is a word like others."""
_NO_SUMMARY = re.compile(rf"(?!{_FAIL})FAIL|[\w.]*(?:Error|Exception)\b(?!:)|\[[^\]]{{1,100}} [0-9a-f]{{7,40}}\] ")
"""What begins like a summary and is none: prose, the name of an exception, the title of a commit."""

_ERROR = r"[\w.]*Error:(?! \(none\))"
"""The name of an error. Gemini CLI and qwen-code write "Error: (none)" behind the output of each command."""

_FAIL_LINE = re.compile(rf"^[^\w\n]{{0,20}}(?:--- FAIL|{_FAIL})", re.MULTILINE)
_ERROR_LINE = re.compile(
    rf"^[^\w\n]{{0,20}}(?:--- FAIL|{_FAIL}"
    rf"|panic:|error(?:\[\w+\])?:|fatal:|failed to |{_ERROR}|make: \*\*\*"
    rf"|npm (?:ERR!|error) |\[[\w:.-]{{1,40}}\] ERROR\b|{TRACEBACK}\b"
    r"|[\w./-]{1,200}:\d+:\d+: (?:error|fatal|undefined|undeclared|cannot|syntax|expected|unused|missing)\b"
    r"|[^\s:]{1,40}:(?: line)?(?: \d+:)? ?command not found)"
    r"|\[(?:build|setup) failed\]|\berror TS\d+:",
    re.MULTILINE,
)
"""A line that begins like the error of a command, or of a build or a test run."""
_GREEN = re.compile(r"\b[1-9]\d*\s+(?:\w+\s+)?(?:passed|passing)\b")
_NOTHING = re.compile(r"\b0 (?:errors?|failed|failures?|problems?|issues?)\b")
_RED_COUNT = re.compile(r"\b[1-9]\d*\s+(?:\w+\s+)?(?:failed|failing|failures?|errors?)\b")
_RED = re.compile(
    rf"{_RED_COUNT.pattern}"
    rf"|^\W*(?:{_FAIL}|panic|fatal)|{_ERROR}|\[(?:build|setup) failed\]"
)
_PASSED = re.compile(
    r"^(?:ok\s+[\w./-]+\s+(?:\d|\(cached\))|PASS\Z|All checks passed|Success: no issues found|Successfully \w)"
)
_ECHOED = re.compile(
    r"(?im)^\W{0,9}(?:(?:\w{1,40}_)?exit(?:[ _]?(?:code|status))?\s?=|exit(?:[ _]?(?:code|status))?\s?:)"
    r"\s?(\d{1,3})\W{0,9}$"
)
"""What `echo "exit=$?"` prints, as agents have it behind a pipe that hides the exit code."""
_RUNNING = re.compile(r"^Process running with session ID (\w{1,40})$", re.MULTILINE)
_IN_BACKGROUND = re.compile(r"\s*Command (?:is )?running in (?:the )?background with ID: (\w{1,40})")
_REMARK = re.compile(r"(?:\A|\n)Shell cwd was reset to [^\n]*\s*\Z")
"""What a tool says behind the output of a command that went to another folder."""

_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"
"""Between these a tool puts what its client wants to tell the model behind a result."""

_NO_OUTPUT = re.compile(r"\s*\(?(?:\w{1,20} completed with no output|Tool ran without output or errors\.?)\)?\s*")
"""How tools say that there was no output."""

_FOUND = re.compile(r"Found \d+ (?:files?|lines?|matches|results?):?")
_COMMITTED = re.compile(r"^\[[^\]\n]{1,100} ([0-9a-f]{7,40})\] ", re.MULTILINE)
_PUSHED = re.compile(
    r"^ [ *+=-] (?:\[new (?:branch|tag|reference)\]|[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}) +\S+ -> \S+", re.MULTILINE
)
_MAKES = frozenset(f"git {verb}" for verb in ("commit", "push", "merge", "rebase", "cherry-pick", "revert"))
"""Commands whose outcome is the commit that they made, or what they pushed."""

_LETTERS = re.compile(r"[^\W\d_]{3}|\d")
_TAG = re.compile(r"\A\s*<[a-zA-Z][\w-]{0,40}>\s*")
"""A tag in front of an error, as in "<tool_use_error>File does not exist"."""
_JSON = re.compile(r'\{\s*["}]|\[\s*(?:[\[{"\]-]|\d+\s*[,\]])')
_STATUS = re.compile(r'"status" ?: ?"[^"\\]{1,60}"')
HEADER = re.compile(r"\A(?:[^\n]{0,200}\n){1,6}?Output:\n")


class ResultFacts(Struct, frozen=True, gc=False):
    """What the line of a call needs of its result, read without the call: what it means, the call decides.

    `failed`: the caller says so, or the text begins like an error. `code`, `code_at`: an exit code as tools state it,
    and where it stands: in front of the output, in it or behind it. `echoed`: one as a command may echo it. `line`: the
    most telling line, and how many `lines` there are. `failure`: the most telling line if the call failed. `summary`:
    `line` sums up a test run. `error`: `line` is an error. `text`: all of it, if that is short. `refused`: somebody did
    not let the tool run. `session`: it still ran when this came, under this name. `receipt`: it only says that
    something was launched."""

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
    passed: str = ""
    denies: bool = False
    made: str = ""
    receipt: str = ""


def result_facts(result: ToolResult) -> ResultFacts:
    """How a call ended, read from its result."""
    text = without_controls("\n".join(part.text for part in result.parts if isinstance(part, Text)))
    header = HEADER.match(text)
    body = _output(text[header.end() :] if header else text)
    found = stated_code(text)
    passed = _passed(body)
    failed = result.failed or (found is None and not passed and begins_as_error(text))
    running = _RUNNING.search(header[0]) if header else _IN_BACKGROUND.match(body)
    echoed = _ECHOED.findall(body[-SCANNED:])
    lines = body.strip("\n").count("\n") + 1 if body.strip() else 0
    if lines > 1 and _FOUND.fullmatch(body.lstrip("\n").split("\n", 1)[0].strip()):
        lines -= 1  # that line counts the others
    summaries = [line for line, _ in summary_lines(body)]
    error = _error_line(body[passed:])
    red = summaries[-1] if summaries and _RED_COUNT.search(summaries[-1]) else ""
    failure = red or key_line(body) or (summaries[-1] if summaries else "")
    failure = _TAG.sub("", failure if _LETTERS.search(failure) else body)
    if failed or result.synthetic:
        line = failure
    elif _JSON.match(body) and len(body) > OUTCOME:
        line, error = _status(body), ""
    else:
        lines_of = body[:SCANNED].splitlines()
        line = summaries[-1] if summaries else next((line for line in lines_of if _LETTERS.search(line)), "")
        line = red or error or line or next((line for line in lines_of if line.strip()), "")
    denies = not failed and lines == 1 and len(body) <= REFUSAL and bool(_DENIES.match(_TAG.sub("", body.strip())))
    short = len(body) <= SHORT_OUTPUT and 0 < lines <= SHORT_LINES
    passed_line = next((one for one in reversed(summaries) if _is_green(one)), "") if error and not red else ""
    return ResultFacts(
        failed=failed,
        code=found[0] if found else None,
        code_at=_code_at(text, *found[1], len(text) - len(body)) if found else "",
        echoed=next((int(one) for one in echoed if int(one)), 0) if echoed else None,
        line=one_line(line, OUTCOME),
        failure=one_line(failure, OUTCOME) if failed or denies or echoed or (found and found[0]) else "",
        lines=lines,
        summary=bool(summaries) or bool(error),
        error=bool(error),
        text=_in_short(body) if short else "",
        refused=bool(_REFUSED.match(body)),
        session=running[1] if running and found is None else "",
        passed=one_line(passed_line, OUTCOME),
        denies=denies,
        made=_made(body),
        receipt=receipt(body),
    )


def _output(text: str) -> str:
    """What the tool gave: without what its client says behind it, and nothing if that only says that it gave
    nothing."""
    output = _REMARK.sub("", text)
    end = len(output)
    while (closed := _end_of_reminder(output, end)) and (at := output.rfind(_REMINDER, 0, closed)) >= 0:
        end = at
    output = output[:end]
    return "" if len(output) <= SHORT_OUTPUT and _NO_OUTPUT.fullmatch(output) else output


def _end_of_reminder(text: str, end: int) -> int:
    """Where a reminder ends that is the last thing before `end`, blanks aside; 0 if there is none."""
    while end > 0 and text[end - 1].isspace():
        end -= 1
    return end if text.endswith(_REMINDER_END, 0, end) else 0


def _in_short(text: str) -> str:
    """The lines of a short text in one line, without one that only counts the others."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return " ⏎ ".join(lines[1:] if len(lines) > 1 and _FOUND.fullmatch(lines[0]) else lines)


def _code_at(text: str, start: int, end: int, header: int) -> CodeAt:
    """Where an exit code stands: in the header or in the first line, in the last line, or in between."""
    if start < header or "\n" not in text[:start].lstrip():
        return "before"
    return "inside" if "\n" in text[end:].rstrip() else "behind"


def summary_lines(text: str) -> Iterator[tuple[str, int]]:
    """The lines near the end of a text that sum up a test run, each with where it ends."""
    at = max(0, len(text) - SCANNED)
    for line in text[at:].splitlines(keepends=True):
        at += len(line)
        found = line.strip("\r\n").strip(" =-")
        is_summary = SUMMARY.search(found) and not _NO_SUMMARY.match(found)
        if is_summary or _PASSED.search(found):
            yield found, at


def _is_green(summary: str) -> bool:
    """Whether a line sums up a run in which nothing failed."""
    green = _GREEN.search(summary) or _PASSED.search(summary) or _NOTHING.search(summary)
    return bool(green) and not _RED_COUNT.search(summary)


def _made(text: str) -> str:
    """The commit that the output of git names first, else the line of a branch that it pushed; "" if there is none."""
    if "] " in text and (found := _COMMITTED.search(text[:SCANNED])):
        return found[1]
    found = _PUSHED.search(text[-SCANNED:]) if " -> " in text else None
    return one_line(found[0].strip(" *+=-"), OUTCOME) if found else ""


def _passed(text: str) -> int:
    """Where the summary of a passed test run ends, if it is the last one and nothing says that a test failed; else 0.
    What looks like an error before it was a part of the run."""
    found = list(summary_lines(text))
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
    line = texts.in_a_line((result.failure if is_failed else result.passed) or result.line)
    is_below = " ".join(quoted[: 2 * SCANNED].split()).startswith(line.removesuffix(" …"))
    own = _own(line) if line and not is_below else ""
    if is_failed:
        ended = f"exit {code}" if code else "failed"
        return f"{ended}: {own}" if own else ended
    if call.says == "answer" and result.receipt:
        return texts.in_a_line(result.receipt)
    if result.session:
        is_named = call.subject.endswith(f"session {result.session}")
        ended = "still running" if is_named else f"still running, session {result.session}"
        return f"{ended}: {own}" if own else ended
    if call.says == "nothing":
        return _edited(call, quoted)
    if result.made and result.made not in quoted and any(run.program in _MAKES for run in call.runs):
        return _own(result.made)
    if call.says in {"first line", "reply"} or (call.says == "summary" and result.summary and not call.shows):
        return own
    if call.says == "matches":
        none = not result.lines or (result.lines == 1 and result.line[:3].lower() in {"no ", "no"})
        few = not quoted and 0 < len(result.text) <= SHORT_MATCHES and not result.text.startswith(("{", "["))
        matches = _own(result.text) if few else _number(result.lines, "match", "matches")
        return "no matches" if none else matches
    if result.lines <= 1 and len(result.line) <= ONE_LINER:
        return own or ("" if result.lines else "no output")
    if call.says == "summary" and result.text and not quoted:
        return _own(result.text)
    return _number(result.lines, "line", "lines")


def _own(words: str) -> str:
    """Words of the tool itself, in quotation marks."""
    return f"{texts.OPEN}{texts.in_a_line(words)}{texts.CLOSE}"


def _edited(call: CallFacts, quoted: str) -> str:
    """What an edit did: a line that it added, or took away, unless that is `quoted` below."""
    line = texts.in_a_line(call.did)
    if not line or " ".join(line.removesuffix(" …").split()) in " ".join(quoted.split()):
        return ""
    return f"{texts.ADDED if call.added else texts.TAKEN_AWAY} {_own(line)}"


def is_failure(call: CallFacts, result: ResultFacts) -> bool:
    """Whether a call failed: by its exit code or its first words; of a command, by the summary of a test run, or, where
    no exit code is known, by a line that begins like an error; of a read or an edit, also if all that it gave
    is a line which says that something is not there or not allowed."""
    code = exit_code(call, result)
    found_nothing = call.finds and code == 1
    if (result.failed or code) and not found_nothing:
        return True
    if result.denies and call.says in {"lines", "nothing"}:
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


def _number(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
