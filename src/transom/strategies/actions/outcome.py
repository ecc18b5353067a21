"""How a call ended, read once from its result: whether it failed, and the words that its line has of it.

What the call did decides how its result is read: an error in a file that a command prints is no error of the command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from transom import quoting, texts
from transom.core.message import Text, ToolResult
from transom.strategies.actions.action import OUTCOME, UNKNOWN, Action
from transom.strategies.text.one_line import one_line
from transom.strategies.text.stubs import begins_as_error, key_line, stated_code

Status = Literal["ok", "failed", "refused", "running"]

SCANNED_OUTPUT = 4_000
"""Characters at either end of a result that are looked at."""

SHORT_OUTPUT, SHORT_LINES, SHORT_MATCHES = 160, 4, 120
"""Characters and lines up to which the output of a command is its own outcome, and characters of the matches of a
search."""

ONE_LINER, REFUSAL, RECEIPT = 60, 200, 2_000
"""Characters up to which any other result of a few lines is its own outcome; up to which a result of one line may be
the refusal of a tool; and up to which a result may only say that something runs now."""

MOST_MADE = 3
"""How many objects of one result are named."""

_REFUSED = re.compile(
    r"(?i)\s*(?:the user (?:doesn't|does not|didn't) want|.{0,40}\brejected by (?:the )?user"
    r"|user (?:denied|rejected|declined))"
)
_DENIES = re.compile(
    r"(?i)(?:ENOENT|EISDIR|EACCES|EPERM|ENOTDIR|cannot|can't|could not|couldn't|unable to|failed to|no changes made"
    r"|request failed|file content \([^)\n]{1,60}\) exceeds)"
    r"|(?:(?:(?:the|a|an) )?(?:\w+:? ){0,2}?(?:'[^'\n]{1,160}'|\"[^\"\n]{1,160}\"|`[^`\n]{1,160}`|\S{1,160}) ?:? ?)?"
    r"(?:does not exist|doesn't exist|(?:is |was )?not found|no such|(?:is )?not (?:permitted|allowed)|access denied"
    r"|permission denied|operation not permitted|requested permissions? to|cannot be (?:read|found|opened))"
)
"""How a tool that reads or edits says in one line that it could not: something is not there or not allowed."""

_FAIL = r"FAIL(?:ED)?(?=\W{0,9}$|[^\w\s:]|:(?!\s*0\b)|\t|  |\s+[\[(]|\s+[A-Z]|\s+[^\s\d]\S*[/.:(_]\S)"
"""The word as test runners write it: alone, in front of a colon, or of the name of a test, a package or a file. In
prose (`FAIL rate is 0%`) it is a word like others."""
_ERROR = re.compile(
    rf"^[^\w\n]{{0,20}}(?:(?P<test>--- FAIL|{_FAIL})"
    r"|panic:|error(?:\[\w+\])?:|fatal:|failed to |[\w.]*(?:Error|Exception)(?::(?! \(none\))|$)|make: \*\*\*"
    r"|npm (?:ERR!|error) |\[[\w:.-]{1,40}\] ERROR\b"
    r"|[\w./-]{1,200}:\d+:\d+: (?:error|fatal|undefined|undeclared|cannot|syntax|expected|unused|missing)\b"
    r"|[^\s:]{1,40}:(?: line)?(?: \d+:)? ?command not found)"
    r"|\[(?:build|setup) failed\]|\berror TS\d+:",
    re.MULTILINE,
)
"""A line that begins like the error of a command, or of a build or a test run. Gemini CLI and qwen-code write "Error:
(none)" behind the output of each command."""
_COUNT = re.compile(
    r"\b(\d+)\s+(?:(?!of\b|in\b|at\b)\w+\s+)?(?:(passed|passing)|failed|failing|failures?|errors?)\b(?![/.]\w)"
)
_RAN_NOTHING = re.compile(r"(?i)\b(?:\d+ deselected|no tests? (?:ran|to run|(?:were )?(?:found|collected)))\b")
"""What a run says that tested nothing."""
_PASSED = re.compile(
    r"^(?:ok\s+[\w./-]+\s+(?:\d|\(cached\))(?!.*no test)|(?:PASS|OK)\Z|All checks passed|Success: no issues"
    r"|Successfully \w)"
)
_ECHOED = re.compile(r"(?im)^\W{0,9}(?:\w{1,40}_)?exit(?:[ _]?(?:code|status))?\s?[=:]\s?(\d{1,3})\W{0,9}$")
"""What `echo "exit=$?"` prints, as agents have it behind a pipe that hides the exit code."""
HEADER = re.compile(r"\A(?:[^\n]{0,200}\n){1,6}?Output:\n")
"""What clients put in front of the output of a command: a few lines, the last of which is "Output:"."""
_RUNNING = re.compile(
    r"^Process running with session ID (\w{1,40})$"
    r"|\A\s*Command (?:is )?running in (?:the )?background with ID: (\w{1,40})",
    re.MULTILINE,
)
_LAUNCHED = re.compile(
    r"\s*(?:\w+ )?(?:sub-?)?(?:agent|task|monitor|workflow|command|job|process)s?(?: \w+){0,3} "
    r"(?:launched|started|spawned|queued|running in (?:the )?background)\b|\s*(?:launched|started|spawned) \w",
    re.IGNORECASE,
)
_RESET = "Shell cwd was reset to "
_NO_OUTPUT = re.compile(r"\s*\(?(?:\w{1,20} completed with no output|Tool ran without output or errors\.?)\)?\s*")
"""How the line begins that clients put behind an output, and how they say that there was none."""
_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"
"""Between these a client puts what it wants to tell the model behind a result."""
_MADE = re.compile(
    r"^\[[^\]\n]{1,100} ([0-9a-f]{7,40})\] |^ [ *+=-] ((?:\[new (?:branch|tag)\]|[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40})"
    r" +\S+ -> \S+)|^(https://\S{1,200}/(?:pull|issues)/\d{1,9})\s*$",
    re.MULTILINE,
)
"""A commit, a push, a pull request."""
_TAG = re.compile(r"\A\s*<[a-zA-Z][\w-]{0,40}>\s*")
"""A tag in front of an error, as in "<tool_use_error>File does not exist"."""
_OBJECT = re.compile(r'"(status|number|(?:\w{1,40}_)?id)"\s*:\s*(?:"([^"\\\n]{1,60})"|(\d{1,18})\b)')
"""An id, a number or a status in the JSON of a result."""


_CONTROL = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)?|[@-Z\\-_=>])")
_REDRAWN = re.compile(r"^[^\n]*\r(?=[^\n\r])", re.MULTILINE)


class Outcome(Struct, frozen=True, gc=False):
    """How a call ended.

    - `status`: "ok", or "failed" if its flag, its exit code or its words say so; "refused" if somebody did not let it
      run; "running" if it still ran when this result came. `session`: the id under which it runs; else empty.
    - `code`: its exit code; None if that is not known. It need not be 0 in a call that did not fail: `grep` ends with 1
      if it finds nothing.
    - `lines`: how many lines the result has; 0 if it is blank, or if it says in one line that a search found nothing.
    - `says`: the words that its line in a record has of the result, not yet made safe for that line; "" if the number
      of lines says more. If the call was refused, our own words for that.
    - `has_verdict`: only of a call that runs a command, and does not just show a file: its output has the summary of a
      test run, or a line that begins like an error. `ran`: of such a call that did not fail: a summary says that
      something passed and nothing failed.
    - `made`: what was made or changed, with its state: `("HATHAT", "booked")`, `("3f2a1bc", "")` of a commit. At most
      three; none of a call that failed.
    - `receipt`: the result of a "delegate" call only says that an agent was launched.
    """

    status: Status = "ok"
    code: int | None = None
    lines: int = 0
    says: str = ""
    has_verdict: bool = False
    ran: bool = False
    made: tuple[tuple[str, str], ...] = ()
    session: str = ""
    receipt: bool = False

    @property
    def failed(self) -> bool:
        """Whether `status` is "failed". A refused call did not fail."""
        return self.status == "failed"


def outcome_of(result: ToolResult, action: Action = UNKNOWN) -> Outcome:
    """How a call ended, by the texts of its result. `action`: what the call did; `UNKNOWN` if that is not known.

    A call failed by the flag, the exit code or the first words of its result. Some fail by more: a command, unless it
    only prints or searches, by the summary of a test run or, without an exit code, by a line that begins like an error;
    a read or an edit if all that it gave is one line that says what is not there or not allowed. Exit code 1 is no
    failure of commands that search or compare (`Action.finds`).
    """
    text = without_controls("\n".join(part.text for part in result.parts if isinstance(part, Text)))
    if result.failed:  # said by its flag
        text = text.removeprefix(texts.FAILED).lstrip()
    header = HEADER.match(text)
    body = _output(text[header.end() :] if header else text)
    if body.lstrip().startswith(texts.NOT_APPROVED):
        return Outcome("refused", says="not approved")
    if _REFUSED.match(body):
        return Outcome("refused", says="refused by the user")
    is_run = action.is_run and not action.is_view
    code, is_stated = _code(text, header.end() if header else 0, body, action)
    lines = body.strip("\n").count("\n") + 1 if body.strip() else 0
    if action.kind == "search" and lines == 1 and body.lstrip()[:3].lower() in {"no ", "no"}:
        lines = 0
    found = list(_summaries(body)) if is_run or action.kind == "other" else []
    passed = found[-1][1] if found and all(not _failures(line) for line, _ in found) and _passes(found[-1][0]) else 0
    if passed and _error_line(body, "test"):
        passed = 0  # a failed test outweighs a summary that passed
    error = _error_line(body[passed:]) if is_run or action.kind == "other" else ""
    red = found[-1][0] if found and _failures(found[-1][0]) else ""
    found_nothing = action.finds and code == 1
    is_file = action.is_edit or action.kind in {"read", "fetch"}
    is_denied = is_file and lines == 1 and len(body) <= REFUSAL and bool(_DENIES.match(_TAG.sub("", body.strip())))
    is_said = result.failed or (not is_stated and not passed and begins_as_error(text))
    failed = ((is_said or bool(code)) and not found_nothing) or is_denied
    if not failed and is_run:
        failed = bool(red) or error.startswith("Error:") or (bool(error) and (code is None or found_nothing))
    running = None if is_stated or not is_run else _RUNNING.search(header[0] if header else body[:SCANNED_OUTPUT])
    shown = ""
    if failed or result.synthetic:
        shown = red or ("" if is_said or code else error) or key_line(body) or (found[-1][0] if found else "")
        shown = _TAG.sub("", shown if any(map(str.isalnum, shown)) else body)
    says = one_line(shown, OUTCOME)
    if not says and not (running and running[2]):
        says = _says(
            body, lines, action, next((one for one, end in reversed(found) if not passed or end <= passed), error)
        )
    return Outcome(
        status="failed" if failed else "running" if running else "ok",
        code=code,
        lines=lines,
        says=says,
        has_verdict=is_run and bool(found or error),
        ran=is_run and not failed and any(_passes(line) for line, _ in found),
        made=tuple(_made(body, action)) if not failed else (),
        session=(running[1] or running[2]) if running else "",
        receipt=action.kind == "delegate" and len(body) <= RECEIPT and bool(_LAUNCHED.match(body)),
    )


def without_controls(text: str) -> str:
    """A text as a terminal shows it: without control codes; of a line that was written several times (with a carriage
    return), only what was written last."""
    if "\x1b" in text:
        text = _CONTROL.sub("", text)
    return _REDRAWN.sub("", text) if "\r" in text else text


def _code(text: str, header: int, body: str, action: Action) -> tuple[int | None, bool]:
    """The exit code of a call, None if it is not known, and whether the tool states one: not a line of a file."""
    stated = stated_code(text)
    if stated and (action.kind == "other" or (action.is_run and not action.is_view)):
        return stated[0], True
    is_last = stated is not None and action.is_run and "\n" not in text[stated[1][1] :].rstrip()
    if stated and (is_last or stated[1][0] < header or "\n" not in text[: stated[1][0]].lstrip()):
        return stated[0], True
    echoed = [int(one) for one in _ECHOED.findall(body[-SCANNED_OUTPUT:])] if action.echoes else []
    return (next((one for one in echoed if one), 0) if echoed else None), stated is not None


def _output(text: str) -> str:
    """What the tool gave, without what its client says behind it, or in place of no output."""
    if text.rstrip().endswith(_REMINDER_END):
        text = text[: max(0, text.rfind(_REMINDER))]
    before, mark, folder = text.rpartition(_RESET)
    if mark and before[-1:] in {"", "\n"} and "\n" not in folder.rstrip():
        text = before[:-1]
    return "" if _NO_OUTPUT.fullmatch(text) else text


def _summaries(text: str) -> Iterator[tuple[str, int]]:
    """The lines near the end of a text that sum up a test run, each with where it ends."""
    at = max(0, len(text) - SCANNED_OUTPUT)
    for line in text[at:].splitlines(keepends=True):
        at += len(line)
        found = line.strip("\r\n").strip(" =-")
        if not found.startswith("[") and any(one.search(found) for one in (_COUNT, _PASSED, _RAN_NOTHING)):
            yield found, at


def _failures(summary: str) -> int:
    """How much failed, by the summary of a test run."""
    return sum(int(found[1]) for found in _COUNT.finditer(summary) if not found[2])


def _passes(summary: str) -> bool:
    """Whether a line sums up a run in which something passed and nothing failed."""
    return not _failures(summary) and bool(_PASSED.search(summary) or _COUNT.search(summary))


def _error_line(text: str, group: str = "") -> str:
    """The first line that begins like an error, near the end of a text, else near its beginning; else ""."""
    for part in (text[-SCANNED_OUTPUT:], text[:SCANNED_OUTPUT] if len(text) > SCANNED_OUTPUT else ""):
        if found := next((one for one in _ERROR.finditer(part) if not group or one[group]), None):
            return part[part.rfind("\n", 0, found.end()) + 1 :].split("\n", 1)[0].strip()
    return ""


def _says(body: str, lines: int, action: Action, verdict: str) -> str:
    """The words of a result that its line has; "" if the number of lines says more."""
    if action.is_edit:
        return ""
    most = {"search": SHORT_MATCHES, "run": SHORT_OUTPUT, "type": SHORT_OUTPUT}.get(action.kind, ONE_LINER)
    is_short = 0 < lines <= SHORT_LINES and len(body) <= 2 * SHORT_OUTPUT
    short = " ⏎ ".join(" ".join(line.split()) for line in body.splitlines() if line.strip()) if is_short else ""
    if not verdict and 0 < len(short) <= most:
        return short
    if action.kind in {"other", "ask"} or verdict:
        if body.lstrip()[:1] in {"{", "["} and len(body) > OUTCOME:
            states = [one[0] for one in _OBJECT.finditer(body[:SCANNED_OUTPUT]) if one[1] == "status" and one[2]]
            return states[0] if len(states) == 1 else ""
        first = next((line for line in body[:SCANNED_OUTPUT].splitlines() if any(map(str.isalnum, line))), body)
        return one_line(verdict, OUTCOME) if verdict else one_line(first + (" …" if lines > 1 else ""), OUTCOME)
    return ""


def _made(body: str, action: Action) -> Iterator[tuple[str, str]]:
    """What a result shows for the first time: commits and pull requests; of a changing call that is no shell the object
    of its JSON, with its state: the first id that the call did not name, or that it changes."""
    if action.commands:
        if any(one.program in {"git", "git commit", "gh create"} for one in action.commands):
            found = [next(filter(None, one.groups())) for one in _MADE.finditer(body[-SCANNED_OUTPUT:])]
            yield from ((" ".join(one.split()), "") for one in found[:MOST_MADE])
    elif (action.changes or action.is_changing) and not action.is_edit and body.lstrip()[:1] == "{":
        found = [(key, text or number) for key, text, number in _OBJECT.findall(body[:SCANNED_OUTPUT])]
        state = next((value for key, value in found if key == "status"), "")
        ids = (value for key, value in found if key != "status")
        new = (one for one in ids if one in action.changes or one not in action.names)
        made = next(new, min(action.changes, default=""))
        if made and (state or made not in action.changes):
            yield made, state


def outcome_text(action: Action, outcome: Outcome | None, quoted: str = "") -> str:
    """How a call ended, in a few words for a line of a record; empty if the call succeeded and there is nothing else to
    say. `outcome`: None if the call has no result: "no result". `quoted`: the quoted text of the result that will stand
    below this line, without its quotation marks; empty for none. The tool's own words are in quotation marks, made safe
    for the line, and left out if the quote begins with them."""
    if outcome is None:
        return "no result"
    if outcome.status == "refused":
        return outcome.says
    is_below = " ".join(quoted[: 2 * SCANNED_OUTPUT].split()).startswith(outcome.says.removesuffix(" …"))
    own = _own(outcome.says) if outcome.says and not (quoted and is_below) else ""
    if outcome.failed:
        ended = f"exit {outcome.code}" if outcome.code else "failed"
        return f"{ended}: {own}" if own else ended
    if outcome.receipt:
        return "launched"
    if outcome.session:
        is_named = action.kind == "type" and action.about.endswith(outcome.session)
        ended = "still running" if is_named else f"still running, session {outcome.session}"
        return f"{ended}: {own}" if own else ended
    if action.is_edit:
        line = quoting.in_a_line(action.edited_line)
        is_quoted = not line or " ".join(line.removesuffix(" …").split()) in " ".join(quoted.split())
        return "" if is_quoted else f"{texts.ADDED if action.adds_line else texts.TAKEN_AWAY} {_own(line)}"
    if action.commands and outcome.made and outcome.made[0][0] not in quoted:
        return _own(outcome.made[0][0])
    if own or action.kind in {"other", "ask"} or (outcome.says and (outcome.has_verdict or outcome.lines <= 1)):
        return own
    if action.kind == "search":
        return _number(outcome.lines, "match", "matches") if outcome.lines else "no matches"
    return _number(outcome.lines, "line", "lines") if outcome.lines else "no output"


def _own(words: str) -> str:
    """Words of the tool itself, in quotation marks."""
    return f"{quoting.OPEN}{quoting.in_a_line(words)}{quoting.CLOSE}"


def _number(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
