"""The lines of a failed test run, build or check that say what failed: the names, the reasons, the count at the end."""

from __future__ import annotations

import re

from transom.core.edit import Span
from transom.strategies.text.stubs import SUMMARY

SCANNED = 20_000
"""Characters at the end of an output that are looked at; of a longer one also those at its start."""

LINE = 200
"""Characters of a long line, about."""

_NAME = re.compile(r"\W{0,12}(?:FAILED\b|--- FAIL|FAIL(?:\t|: | {1,3}\S)|not ok\b|[✗✕✘×●] |ERROR (?:\S+::|collecting))")
_REASON = re.compile(
    r"E   \s*\S|\s*[\w./-]{1,200}:\d+(?::\d+)?:? \S"
    r"|\s*(?:[\w.]+Error|[\w.]*Exception|panic|fatal|error(?:\[\w+\])?)\b: ?"
    r"|.{0,200}\berror (?:TS)?\d+:|\s*(?:[Ee]xpected|[Rr]eceived|[Ww]ant|[Gg]ot|Error:)\b|.{0,20}\bERROR\b"
)


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
    start = max(0, len(text) - SCANNED)
    for whole in text[start:].splitlines(keepends=True):
        line, words = whole[: 3 * LINE], whole.strip()
        span = (start, start + min(len(whole.rstrip("\n")), LINE))
        start += len(whole)
        if words and words not in seen:
            seen.add(words)
            if _NAME.match(line):
                names.append(span)
            elif _REASON.match(line):
                reasons.append(span)
            elif ("fail" in line or "error" in line) and SUMMARY.search(words.strip(" =-")):
                counts.append(span)
    return counts, names, reasons
