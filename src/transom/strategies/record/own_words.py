"""Somebody's own words in a message: without what clients put in, and of a long one without what was pasted."""

from __future__ import annotations

import re

from msgspec import Struct

from transom.core.edit import Span
from transom.strategies.text.spans import joined, without

PASTED_LINE, LETTERS = 400, 0.72
"""Characters from which a line counts as pasted, and the share of letters and blanks below which a shorter one does."""

SHORTEST_PASTED = 20
"""Characters up to which no line counts as pasted."""

FEW_LINES = 8
"""Lines of a message up to which nothing of it counts as pasted, unless it is as long as three pasted lines."""

_PUT_IN = re.compile(
    r"<(system-reminder|ide_\w{1,40}|environment_\w{1,40}|(?:local-)?command-\w{1,40}|user_instructions|INSTRUCTIONS)"
    r"\b[^<>]{0,200}>"
)
"""The beginning of what clients put into a message of the user."""

_BY_PROGRAM = re.compile(r"\s*(?:<[a-zA-Z][\w-]{0,60}[ >].*</[\w-]{1,60}>|\{\s*\".*\})\s*", re.DOTALL)
"""A message between tags, or JSON."""

_REPORT = re.compile(r"<(results?|reports?|findings|response|answer)>\s*(\S.*?)\s*</\1>", re.DOTALL)
"""What another agent found, in a message that a program wrote."""

_REASON = re.compile(r"(?i)(?:the user said|reason for the rejection|call was not approved): *\s?")
_BEHIND_REASON = "\n\nNote: "
"""What stands before and behind the words of a user who refuses a call, in the result of the call: as Claude Code and
Transom write it."""

_SKILL = "Base directory for this skill: "
_ARGUMENTS = "\nARGUMENTS: "
"""How the text of a skill begins that a client puts in the user's place, and where in it the user's own words begin."""

_FENCES = ("```", "~~~")


class OwnWords(Struct, frozen=True, gc=False):
    """The words that the author of an entry wrote, in one of its texts. `entry`: its seq. `number`: which of its texts.
    `spans`: where in that text, in order. `rate`: tokens for each character. `same`: a hash of the words, equal for
    equal words."""

    entry: int
    number: int
    spans: tuple[Span, ...]
    rate: float
    same: int

    @property
    def length(self) -> int:
        """The number of characters of the words."""
        return sum(end - start for start, end in self.spans)


def is_by_program(text: str) -> bool:
    """Whether a message in the user's place looks like one that a program wrote: all of it is between tags, or a JSON
    object, or it is a skill that was called without words of the user."""
    return bool(_BY_PROGRAM.fullmatch(text)) or (_is_skill(text) and _ARGUMENTS not in text)


def skill_arguments(text: str) -> Span | None:
    """The span of the user's words behind the text of a skill; None if the message is no skill, or has none."""
    at = text.rfind(_ARGUMENTS) if _is_skill(text) else -1
    return (at + len(_ARGUMENTS), len(text)) if at >= 0 else None


def _is_skill(text: str) -> bool:
    return text.lstrip().startswith(_SKILL)


def report_span(text: str) -> Span | None:
    """The span of what another agent reports in a message that a program wrote; None if it has no report."""
    found = _REPORT.search(text)
    return found.span(2) if found else None


def refusal_reason(text: str) -> list[Span]:
    """The span of a user's reason for refusing a call, in the text of the call's result, as a list of one; empty if
    there is no reason."""
    found = _REASON.search(text)
    stop = text.find(_BEHIND_REASON, found.end()) if found else -1
    return [(found.end(), stop if stop >= 0 else len(text))] if found and text[found.end() :].strip() else []


def own_words(text: str) -> list[Span]:
    """The spans of a message that are its author's own words, in order: without what clients put in between tags, the
    text of a skill, and, in a long message, blocks of code and lines of data. Empty if nothing is left."""
    put_in = [
        (begin.start(), end)
        for begin in _PUT_IN.finditer(text)
        if (end := text.find(f"</{begin[1]}>", begin.end()) + len(begin[1]) + 3) > begin.end()
    ]
    spans = without(skill_arguments(text) or (0, len(text)), put_in)
    own = [span for start, stop in spans for span in _without_pasted(text, start, stop)]
    return [span for span in own if text[slice(*span)].strip()]


def _without_pasted(text: str, start: int, stop: int) -> list[Span]:
    """A long span without fenced blocks and lines that are no prose."""
    if text.count("\n", start, stop) < FEW_LINES and stop - start < 3 * PASTED_LINE:
        return [(start, stop)]
    found: list[Span] = []
    at, is_fenced = start, False
    while at < stop:
        end = text.find("\n", at, stop) + 1 or stop
        is_fence = text[at:end].lstrip().startswith(_FENCES)
        if not (is_fenced or is_fence or _is_pasted(text[at:end].strip())):
            found.append((at, end))
        is_fenced ^= is_fence
        at = end
    return joined(found) or [(start, stop)]


def _is_pasted(line: str) -> bool:
    """Whether a line is data or code rather than prose."""
    letters = sum(char.isalpha() or char == " " for char in line)
    return len(line) > PASTED_LINE or (len(line) > SHORTEST_PASTED and letters < LETTERS * len(line))
