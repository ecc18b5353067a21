"""Stubs of tool results: a marker with the outcome, the lines that matter, and the start and the end if there is room.

And what the words of a result say of how its call ended: `ending` and `outcome`, by which selectors and stubs judge it.
Records judge it more closely, by what the call did: `strategies/actions/outcome.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import chain

from transom import texts
from transom.core.edit import Span, Trim
from transom.core.message import Text, ToolResult
from transom.core.policy import Target
from transom.core.trims import trimmed_text
from transom.core.view import View
from transom.strategies.text.shown_parts import ShownPart
from transom.strategies.text.spans import joined
from transom.strategies.text.truncation import Shortened, halves, shorten

SHOW_FILES = frozenset(("read", "view", "cat", "open"))
"""Words in the names of tools that show files."""
_QUOTE_FILES = frozenset(("read", "view", "cat", "edit", "write"))
"""Words in the names of tools whose results have lines of files."""
NEAR_ENDS = 1_000
"""Characters at either end of a result in which it may name its exit code."""
KEY_LINES_SHARE = 2 / 3
"""The share of a stub's room for lines that matter."""
MAX_LINE = 160
"""Characters that are kept of a long line."""
SCANNED = 20_000
"""Characters of a failure in which its first error is looked for."""

# Literals, in both cases of letters: this pattern runs over every character of a result, the next ones only over the
# lines that it finds.
_HINT = re.compile("rror|RROR|fail|Fail|FAIL|xcept|atal|FATAL|panic|denied|not f|No such|annot|passed|arn|WARN|Ran ")
_MATTERS = re.compile(
    r"(?i)(?:error|fail(?:ed|ure)?|xception|fatal|panic|denied|not found|such|annot|passed|warn(ing)?|ran)s?\b(?!\()"
)
_CODE = re.compile(r"[{};,(]\s*$|^[\s\d:>+→-]*(?:except|catch|return|if|raise|throw|func|def|class|import|from)\b")
SUMMARY = re.compile(
    r"\b\d+ (?:(?!of\b|in\b|at\b)\w+ )?"
    r"(?:passed|failed|errors?|failures?|warnings?|skipped|tests?|problems?)\b(?![/.]\w)"
    r"|^[\w.]*(?:Error|Exception)\b|^(?:FAIL|Tests?:|Ran |BUILD |fatal)"
)
_MINOR = re.compile(r"(?i)warn|passed")
_EXIT = re.compile(
    r'(?im)(?:^\W{0,9}(?:process |command )?exit(?:ed with)? |\A\W{0,9}exit_|"exit[ _])(?:code|status)'
    r'[\s":=]{0,4}(-?\d{1,9})'
)
"""An exit code as tools state it. `exit_code: 2` on a line further down is a line of a file."""
_FAILS = re.compile(
    r"(?i)\s*(?:<tool_use_error>|traceback \(most|[\w.]*(?:error|exception|fatal)\b\s*[:(\[]|[\w ]{1,40}failed\s*:"
    r"|string to replace not found|found \d+ matches of the string to replace\b|no changes to make\b"
    r"|file has not been read yet|no such file|permission denied"
    r'|\{\s*"error"\s*:(?!\s*(?:null|false|""|\[\]|\{\})))'
)


def tool_words(name: str) -> set[str]:
    """The words of a tool's name, in small letters: "read_file", "readFile" and "fs.Read-File" all contain "read".
    Words are letters from A to Z; anything else only separates them."""
    return {word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def ending(result: ToolResult, tool: str = "") -> tuple[int | None, bool]:
    """The exit code that a result names near its start or its end (None if it names none), and whether the call failed.

    The call failed if the result is marked as failed, if its exit code is not 0, or, without an exit code, if its text
    begins like an error. `tool`: if its name says that it reads or edits files, an exit code counts only in the first
    line: on others it is a line of the file.
    """
    text = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    found = stated_code(text)
    if found is not None and not (tool_words(tool) & _QUOTE_FILES and "\n" in text[: found[1][0]].lstrip()):
        return found[0], result.failed or found[0] != 0
    return None, result.failed or begins_as_error(text)


def stated_code(text: str) -> tuple[int, Span] | None:
    """The exit code that a text names within 1,000 characters of its start or its end, and the span that names it; None
    if it names none."""
    found = _EXIT.search(text[:NEAR_ENDS])
    if found is None and len(text) > NEAR_ENDS:
        found = _EXIT.search(text, len(text) - NEAR_ENDS)
    return None if found is None else (int(found[1]), found.span())


def begins_as_error(text: str) -> bool:
    """Whether a text begins as tools report a failure: with "Traceback (most recent call last)", "Permission denied" or
    the like; an error word before ":", "(" or "["; or a JSON object whose first key is "error", not empty. Upper case
    and blanks in front do not matter."""
    return bool(_FAILS.match(text[:NEAR_ENDS]))


def key_line(text: str) -> str:
    """The line that tells most of a failure, without blanks around it: the first line with a summary or an exception,
    else with an error, else the first that is not blank; empty if there is none. Only the first 20,000 characters are
    read; of a long line only a part is given."""
    for lines in _lines(text[:SCANNED])[:2]:
        if lines:
            return text[slice(*lines[0])].strip()
    return next((line.strip() for line in text[:SCANNED].splitlines() if line.strip()), "")


def outcome(result: ToolResult, tool: str = "") -> str:
    """How a call ended, in a word or two: its exit code, also of a success ("exit code 0"); "failed" if it failed
    without an exit code, or with 0; empty if nothing is known."""
    code, failed = ending(result, tool)
    return "failed" if failed and not code else "" if code is None else f"exit code {code}"


def stub(view: View, target: Target, part: ShownPart, preview: int) -> Trim:
    """The trim that leaves of a result's text a marker and `preview` tokens: lines that matter, its start and its end.
    `part`: a text of a tool result; anything else fails an assertion. Whether the stub is shorter is not checked.

    In a file no line matters more than others ("error" is a word there), and of a success only summaries matter.
    """
    reference, result = target.reference(part.entry), view.fetch(part.entry).body
    call = view.call_of(view.unit(view.unit_of[part.entry]), part.entry)
    assert isinstance(result, ToolResult)
    name = call.name if call is not None else ""
    marker = texts.stub_marker(reference, name, part.tokens, part.text.count("\n") + 1, outcome(result, name))
    count = target.counter.count
    most = preview + count(marker)
    ranks = 0 if tool_words(name) & SHOW_FILES else 1 if ending(result, name)[0] == 0 else 3
    lines = chain(*_lines(part.text)[:ranks])
    keep, note = shorten_to_lines(part, most, count, marker, texts.bare_marker(reference), lines)
    return Trim(entry=part.entry, part=part.part, keep=keep, note=note)


def shorten_to_lines(
    part: ShownPart, most: int, count: Callable[[str], int], note: str, bare: str, lines: Iterable[Span]
) -> Shortened:
    """Shorten a text to some of its lines, its start and its end, in at most `most` tokens, the marker `note` included.

    The lines are taken from `lines`, in their order, until two thirds of the room are full. The start and the end of
    the text get the rest. If no line fits, this does what `shorten` does; `bare` is its shorter marker.
    """
    text, room = part.text, most - count(note)
    left, chosen = KEY_LINES_SHARE * room, list[Span]()
    for a, b in lines:
        left -= count(text[a:b])
        if left < 0:
            break
        chosen.append((a, b))
    keep = len(text) * max(0, room - sum(count(text[a:b]) for a, b in chosen)) / max(1, part.tokens)
    for share in (1.0, 0.85, 0.7, 0.5, 0.25, 0.0) if chosen else ():
        spans = joined([*chosen, *halves(text, int(keep * share))])
        if count(trimmed_text(text, spans, note)) <= most:
            return tuple(spans), note
    return shorten(part, most, count, lambda _: note, bare)


def _lines(text: str) -> tuple[list[Span], ...]:
    """The lines that matter, in three lists: summaries and exceptions; errors; warnings and what passed."""
    ranked: tuple[list[Span], ...] = ([], [], [])
    hit = _HINT.search(text)
    while hit is not None:
        a, b = _line(text, hit.start())
        line = text[a:b]
        if _MATTERS.search(line) and not _CODE.search(line):
            ranked[0 if SUMMARY.search(line) else 2 if _MINOR.search(line) else 1].append((a, b))
        end = text.find("\n", b - 1)
        hit = _HINT.search(text, end) if end >= 0 else None
    return ranked


def _line(text: str, at: int) -> Span:
    """The line around a position, with its line end; of a long line only what is near the position."""
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at) + 1 or len(text)
    start = max(start, at - MAX_LINE // 2)
    return start, min(end, start + MAX_LINE)
