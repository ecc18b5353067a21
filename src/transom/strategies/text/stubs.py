"""Stubs that tell: how it ended, the lines that matter, and with the room they leave the start and the end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

from transom import texts
from transom.core.edit import Span, Trim
from transom.core.message import Text, ToolResult
from transom.core.policy import Target
from transom.core.tokens import trimmed_text
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.digest.passages import joined
from transom.strategies.text.truncation import Counts, Form, Spot, halves, shorten

FILES = frozenset(("read", "view", "cat", "open"))  # words in the names of tools that show files
ENDS = 1_000  # characters at either end of a result in which it says how it ended
SHARE = 2 / 3  # of a stub's room, for lines that matter
LINE = 160  # characters kept of a long line

# literals, and in each case: this one runs over every character of a result, the others over the lines it finds
_HINT = re.compile("rror|RROR|fail|Fail|FAIL|xcept|atal|FATAL|panic|denied|not f|No such|annot|passed|arn|WARN|Ran ")
_MATTERS = re.compile(
    r"(?i)(?:error|fail(?:ed|ure)?|xception|fatal|panic|denied|not found|such|annot|passed|warn(ing)?|ran)s?\b(?!\()"
)
_CODE = re.compile(r"[{};,(]\s*$|^[\s\d:>+→-]*(?:except|catch|return|if|raise|throw|func|def|class|import|from)\b")
_SUMMARY = re.compile(
    r"\b\d+ (?:\w+ )?(?:passed|failed|errors?|failures?|warnings?|skipped|tests?|problems?)\b"
    r"|^[\w.]*(?:Error|Exception)\b|^(?:FAIL|Tests?:|Ran |BUILD |fatal)"
)
_MINOR = re.compile(r"(?i)warn|passed")
_EXIT = re.compile(r'(?im)(?:^\W{0,9}(process |command )?|")exit(ed with)?[ _](code|status)[\s":=]{0,4}(-?\d{1,9})')
_FAILS = re.compile(
    r"(?i)\s*(?:<tool_use_error>|traceback \(most|[\w.]*(?:error|exception|fatal)\b\s*[:(\[]|[\w ]{1,40}failed\s*:"
    r'|\{\s*"error"\s*:(?!\s*(?:null|false|""|\[\]|\{\})))'
)


def tool_words(name: str) -> set[str]:
    """The words of a tool's name: read_file, readFile and fs.Read-File all read."""
    return {word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def ending(result: ToolResult) -> tuple[int | None, bool]:
    """The exit code that a result names near its start or its end, and whether the tool failed: it says so, the exit
    code does, or the text begins like an error."""
    text = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    found = _EXIT.search(text[:ENDS]) or _EXIT.search(text, max(0, len(text) - ENDS))
    if found is not None:
        return (code := int(found[4])), result.failed or code != 0
    return None, result.failed or bool(_FAILS.match(text[:ENDS]))


def outcome(result: ToolResult) -> str:
    """How a tool's work ended, in a word or two; empty if nothing tells."""
    code, failed = ending(result)
    return "failed" if failed and not code else "" if code is None else f"exit code {code}"


def stubbed(view: View, unit: Unit, target: Target, spot: Spot, preview: int, why: str) -> Trim:
    """The trim that shows a stub in place of a result's text: a marker, and `preview` tokens of what tells most.

    Of a file, or where all went well, "error" is a word like others: of a success only the summaries tell.
    """
    ref, call = target.reference(spot.entry), view.call_of(unit, spot.entry)
    result = view.entries_of(unit)[unit.seqs.index(spot.entry)].body
    assert isinstance(result, ToolResult)
    name = call.name if call is not None else ""
    marker = texts.stub(ref, name, spot.tokens, spot.text.count("\n") + 1, outcome(result))
    cap = preview + target.counter.count(marker)
    ranks = 0 if tool_words(name) & FILES else 1 if ending(result)[0] == 0 else 3
    keep, note = told(spot, cap, target.counter, marker, texts.bare(ref), chain(*_lines(spot.text)[:ranks]))
    return Trim(entry=spot.entry, part=spot.part, keep=keep, note=note, why=why)


def told(spot: Spot, cap: int, counter: Counts, note: str, bare: str, lines: Iterable[Span]) -> Form:
    """The form of a text that shows those of `lines` that fit into `SHARE` of the room, in order of rank, and with the
    rest its ends: at most `cap` tokens, marker included."""
    text, room = spot.text, cap - counter.count(note)
    left, chosen = SHARE * room, list[Span]()
    for a, b in lines:
        left -= counter.count(text[a:b])
        if left < 0:
            break
        chosen.append((a, b))
    keep = len(text) * max(0, room - sum(counter.count(text[a:b]) for a, b in chosen)) / max(1, spot.tokens)
    for share in (1.0, 0.85, 0.7, 0.5, 0.25, 0.0) if chosen else ():
        spans = joined([*chosen, *halves(text, int(keep * share))])
        if counter.count(trimmed_text(text, spans, note)) <= cap:
            return tuple(spans), note
    return shorten(spot, cap, counter, lambda _: note, bare)


def _lines(text: str) -> tuple[list[Span], ...]:
    """The lines that matter, by rank: summaries and exceptions, errors, the rest."""
    ranked: tuple[list[Span], ...] = ([], [], [])
    hit = _HINT.search(text)
    while hit is not None:
        a, b = _line(text, hit.start())
        line = text[a:b]
        if _MATTERS.search(line) and not _CODE.search(line):
            ranked[0 if _SUMMARY.search(line) else 2 if _MINOR.search(line) else 1].append((a, b))
        end = text.find("\n", b - 1)
        hit = _HINT.search(text, end) if end >= 0 else None
    return ranked


def _line(text: str, at: int) -> Span:
    """The line around a place, with its end; of a long one what stands around that place."""
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at) + 1 or len(text)
    start = max(start, at - LINE // 2)
    return start, min(end, start + LINE)
