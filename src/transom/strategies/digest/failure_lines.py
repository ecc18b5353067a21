"""The lines of a failed test run, build or check that say what failed: the names, the reasons, the count at the end."""

from __future__ import annotations

import re

from transom.core.edit import Span
from transom.strategies.digest.passages import opening
from transom.strategies.text.stubs import SUMMARY

SCANNED = 20_000
"""Characters at the end of an output that are looked at; of a longer one also those at its start."""

LINE = 200
"""Characters of a long line, about."""

_HINT = re.compile(
    r"[Ff]ail|FAIL|rror|RROR|panic|xpected|want|^E  |not ok|[✗✕✘×●]|:\d+:\d+|_test\.go:|xception|fatal", re.MULTILINE
)
_NAME = re.compile(r"\W{0,12}(?:FAILED\b|--- FAIL|FAIL(?:\t|: | {1,3}\S)|not ok\b|[✗✕✘×●] |ERROR (?:\S+::|collecting))")
_REASON = re.compile(
    r"E   \s*\S|\s*[\w./-]{1,200}:\d+(?::\d+)?:? \S"
    r"|\s*(?:[\w.]+Error|[\w.]*Exception|panic|fatal|error(?:\[\w+\])?)\b: ?"
    r"|.{0,200}\berror (?:TS)?\d+:|\s*(?:[Ee]xpected|[Rr]eceived|[Ww]ant|[Gg]ot|Error:)\b|.{0,20}\bERROR\b"
)
_DIGIT = re.compile(r"\d")


def failure_spans(text: str, most: int) -> list[Span]:
    """The lines of an output that say what failed, in at most about `most` characters; empty if there is none."""
    counts, names, reasons = _lines(text)
    chosen: list[Span] = []
    left = most

    def take(spans: list[Span], until: int) -> None:
        nonlocal left
        for start, end in spans:
            if (start, end) not in chosen and left - (end - start) >= until:
                left -= end - start
                chosen.append((start, end))

    take(reasons, left // 2)
    take(names, 0)
    take(reasons, 0)
    if not chosen:
        take(counts[-1:], 0)
    return sorted(chosen)


def _lines(text: str) -> tuple[list[Span], list[Span], list[Span]]:
    """The lines that count, that name what failed, and that say why."""
    counts: list[Span] = []
    names: list[Span] = []
    reasons: list[Span] = []
    seen: set[str] = set()
    at = max(0, len(text) - SCANNED)
    hit = _HINT.search(text, at)
    while hit is not None:
        start, stop = text.rfind("\n", 0, hit.start()) + 1, text.find("\n", hit.start())
        stop = len(text) if stop < 0 else stop
        line = text[start : min(stop, start + 3 * LINE)]
        span = (start, start + opening(line, LINE)) if stop - start > LINE else (start, stop)
        if (words := line.strip()) not in seen:
            seen.add(words)
            if _NAME.match(line):
                names.append(span)
            elif _DIGIT.search(words) and SUMMARY.search(words.strip(" =-")) and not _REASON.match(line):
                counts.append(span)
            elif _REASON.match(line):
                reasons.append(span)
        hit = _HINT.search(text, stop)
    return counts, names, reasons
