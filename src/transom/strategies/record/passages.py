"""Passages: the pieces of original text of which a record is made, how they are quoted, and what is never quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from transom.core.edit import Span
from transom.core.message import Call, Fact, Note, Recalled, Text, addressed_parts, own_text
from transom.strategies.actions.action import Action
from transom.strategies.actions.arguments import DESCRIBES, NUMBER, REPLACED, SETTINGS, arguments, is_limit
from transom.strategies.actions.outcome import HEADER
from transom.strategies.text.identifiers import names_of
from transom.strategies.text.one_line import LONGEST_PATH
from transom.strategies.text.spans import joined
from transom.texts import CUT_LINE, GAP_IN_LINE, gap_mark

WHOLE = 480
"""Characters up to which a text is one passage."""

CORE = 160
"""Characters of a passage of a longer text, at least: short lines are joined until then."""

MARGIN = 60
"""Characters shown on either side of a passage, about, so that its first and last names keep their surroundings: those
up to the end of the line or sentence that is `NEAR` to `FAR` characters away."""

NEAR, FAR = 40, 160
"""The fewest and the most characters of a margin that ends with a line or a sentence."""

MOST = 200_000
"""Characters of a text that are split into passages: half of them from its start, half from its end."""

DENSE = 0.3
"""In scripts with about one token a character, so much of the usual number of characters makes a passage."""

SENTENCE = 80
"""Characters of a sentence that is a passage of a message, at least: shorter ones are joined."""

_LINE = re.compile(r"\n|\\n")
"""The end of a line: in text within a string of JSON or of code it is escaped."""
_STOP = r"(?<![\s(]\d)(?<![\s(]\d\d)[.!?…]+[\"'”’)\]*_`]*\s|[。！？]+[”’）」』]*"
_SENTENCE = re.compile(rf"{_STOP}|,\s?(?=[\"{{\[])")
"""The end of a sentence, or of an element of JSON. The number of a list ends nothing."""
_OF_MESSAGE = re.compile(rf"\n\s*|(?:{_STOP})\s*")
_BLANK = re.compile(r"[\s,;，、]")
_BREAKS = _LINE, _SENTENCE, _BLANK
"""Where a margin may end, the best places first."""


class Passage(Struct, frozen=True, order=True, gc=False):
    """A span of one text of an entry.

    `entry`: its seq. `text`: which of its texts (see `readable`). `start`, `end`: in characters of that text. `tokens`:
    of the span alone. `margin`: the tokens that are quoted of each neighbour, so that the names keep their
    surroundings. `names`: those that begin in the span. `first`, `last`: whether it is the first or last of its text,
    and so has no neighbour on that side.
    """

    entry: int
    text: int
    start: int
    end: int
    tokens: float
    margin: float
    names: tuple[str, ...]
    first: bool
    last: bool


def readable(fact: Fact) -> list[tuple[str, int]]:
    """The texts of a fact as a person would read them, in order, with the position of each in the token counts of its
    entry (`Entry.tokens`). A call has one text, `call_text`.

    Reasoning, images and files are left out. Empty for what comes again or stands elsewhere (see `is_repeated`).
    """
    if is_repeated(fact):
        return []
    if own := own_text(fact):
        return [(own, 0)]
    texts: list[tuple[str, int]] = []
    for position, (_, part) in enumerate(addressed_parts(fact), start=1):
        if isinstance(part, Text):
            texts.append((part.text, position))
        elif isinstance(part, Call):
            texts.append((call_text(part), position))
    return texts


def is_repeated(fact: Fact) -> bool:
    """Whether a fact says nothing of its own: announced state is announced again when a fold hides it, and what was
    recalled from the log is in the log."""
    return (isinstance(fact, Note) and bool(fact.key)) or (isinstance(fact, Recalled) and bool(fact.refs))


def call_text(call: Call) -> str:
    """A call with its arguments decoded: the tool's name, a blank, and a line for each value ("path: a.py"), without
    the escapes of JSON."""
    return f"{call.name} " + "\n".join(f"{key}: {value}" if key else value for key, value in arguments(call))


class Argument(NamedTuple):
    """An argument in the text of its call (`call_text`). `begin`: where its name begins. `start`, `end`: where its
    value begins and ends. No name in what comes before the value counts, because it stands in every call of the
    tool."""

    name: str
    value: str
    begin: int
    start: int
    end: int

    @property
    def is_unquoted(self) -> bool:
        """Whether the argument is never quoted: an edit takes its text away, or it only says how long or how much."""
        return self.name in REPLACED or is_limit(self.name, self.value)


def arguments_in_text(call: Call) -> Iterator[Argument]:
    """The arguments of a call, with their places in its text."""
    at = len(call.name) + 1
    for name, value in arguments(call):
        start = at + (len(name) + 2 if name else 0)
        yield Argument(name, value, at, start, start + len(value))
        at = start + len(value) + 1


def split(text: str, rate: float = 0.25) -> Iterator[Span]:
    """The spans into which a text is split, in order. They cover all of it, or of a text of more than `MOST` (200,000)
    characters as many, half of them at each end. Short lines are joined; long ones end at a sentence's end, a blank or
    a comma. `rate`: tokens a character; above 0.5 the spans are shorter."""
    scale = DENSE if rate > 0.5 else 1.0
    core, stop = int(CORE * scale), len(text)
    if 0 < stop <= WHOLE * scale:
        yield 0, stop
    elif stop <= MOST:
        yield from _split(text, 0, stop, core)
    else:
        yield from _split(text, 0, MOST // 2, core)
        yield from _split(text, stop - MOST // 2, stop, core)


def sentences(text: str, rate: float = 0.25, *, least: int = SENTENCE) -> Iterator[Span]:
    """The sentences and lines of a message; those of fewer than `least` characters are joined to the next one, and long
    ones are split. Together they are the whole text. `rate`: tokens a character."""
    scale = DENSE if rate > 0.5 else 1.0
    at, stop, least, most = 0, len(text), int(least * scale), int(WHOLE * scale)
    while at < stop:
        end = _first(_OF_MESSAGE, text, at + least, stop - least) or stop
        yield from ((at, end),) if end - at <= most else _split(text, at, end, int(CORE * scale))
        at = end


def _split(text: str, at: int, stop: int, core: int) -> Iterator[Span]:
    while at < stop:
        low, high = at + core, at + 2 * core
        end = _first(_LINE, text, low, at + 3 * core) or _first(_SENTENCE, text, at + core // 2, high)
        end = end or _last(_BLANK, text, low, high) or high
        if stop - end < core // 2:
            end = stop
        yield at, end
        at = end


def _first(pattern: re.Pattern[str], text: str, low: int, high: int) -> int:
    """The end of the first match between two places; 0 if there is none."""
    return found.end() if (found := pattern.search(text, low, high)) else 0


def _last(pattern: re.Pattern[str], text: str, low: int, high: int) -> int:
    """The end of the last match between two places; 0 if there is none."""
    return max((found.end() for found in pattern.finditer(text, max(0, low), high)), default=0)


def with_margins(text: str, start: int, end: int) -> Span:
    """A span with a margin on each side: `NEAR` (40) to `FAR` (160) characters, to where a line or sentence begins or
    ends; where none does, about `NEAR` characters, so that no word is cut. Never beyond the text."""
    first, last = 0, len(text)
    if (before := start - NEAR) > 0:
        breaks = (_last(one, text, start - FAR, before) for one in _BREAKS)
        first = next(filter(None, breaks), 0) or between_words(text, before)
    if (after := end + NEAR) < len(text):
        breaks = (_first(one, text, after, end + FAR) for one in _BREAKS)
        last = next(filter(None, breaks), 0) or max(end, between_words(text, after))
    return first, last


def between_words(text: str, at: int) -> int:
    """The last place up to `at` that is not inside a word; `at` itself if that is `FAR` characters away."""
    start = at
    while 0 < start < len(text) and at - start < FAR and text[start - 1 : start + 1].replace("_", "x").isalnum():
        start -= 1
    return start if at - start < FAR else at


def quoted_spans(text: str, spans: list[Span]) -> str:
    """These spans of a text as one quote, with a mark in each gap, and also at the beginning and at the end if the line
    there is cut. The spans must be in order and must not overlap. Empty without spans."""
    if not spans:
        return ""
    inner = text[spans[0][0] : spans[0][1]].strip("\n")
    for (_, before), (start, end) in pairwise(spans):
        ends_line = text[before - 1] == "\n" or text[before] == "\n"
        begins_line = text[start - 1] == "\n"
        is_next_line = begins_line and "\n" not in text[before:start].rstrip()
        if is_next_line and text[before - 1] != "\n":
            mark = CUT_LINE
        else:
            mark = gap_mark("") if ends_line or begins_line else GAP_IN_LINE
        inner += mark + text[start:end].strip("\n")
    first, last = spans[0][0], spans[-1][1]
    gap_before = "…" if first > 0 and text[first - 1] != "\n" else ""
    return gap_before + inner + ("…" if last < len(text) and "\n" not in text[last - 1 : last + 1] else "")


# ---- quotes: the words of chosen spans, without what the line above them says already

LEAST_QUOTED = 3
"""Characters that are quoted of an argument or a result, at least: fewer say nothing alone."""


def text_quotes(text: str, spans: Sequence[Span], *, is_result: bool) -> list[str]:
    """The quote of these spans (at least one, in any order) of a message or a result, as a list of one text without
    quotation marks; empty if nothing is left. Left out is the header of a shell's result, and a quote of a result that
    is too short to say anything. A message may be short: a reply of the user may be `1`."""
    header = HEADER.match(text) if is_result and min(spans)[0] == 0 else None
    quote = _quote(text, spans, header.end() if header else 0, len(text))
    return [quote] if quote and not (is_result and _says_nothing(quote)) else []


def argument_quotes(call: Call, action: Action, spans: Sequence[Span]) -> list[str]:
    """The quotes of these spans of a call's text (`call_text`), one for each argument that they reach, in the order of
    the arguments, without quotation marks. `action`: what `action_of` gives for the call.

    Three kinds of arguments are not quoted: those that the line of the call says at length, those that are never quoted
    (`Argument.is_unquoted`), and the words that describe a command. A command that changes no file has no quote: what
    is longer than its line is a script that ran once.
    """
    found: list[str] = []
    is_command = bool(action.commands)
    if is_command and not action.changes:
        return []
    for one in arguments_in_text(call):
        if (
            one.is_unquoted
            or _is_said(one, action.text, is_command=is_command)
            or (is_command and one.name in DESCRIBES)
        ):
            continue
        inside = [(start - one.start, end - one.start) for start, end in spans]
        quote = _quote(one.value, inside, 0, len(one.value))
        if quote and not _says_nothing(quote):
            found.append(quote)
    return found


def _is_said(one: Argument, said: str, *, is_command: bool) -> bool:
    """Whether an argument needs no quote: its value stands in the line, or is a setting without words."""
    value = one.value[: 2 * len(said) + LONGEST_PATH]
    line = " ".join(value.split())
    is_in_line = line in said or (is_command and bool(said) and line.endswith(said))
    return is_in_line or (one.name in SETTINGS and " " not in line)


def _says_nothing(quote: str) -> bool:
    """Whether a quote says nothing alone: fewer than 3 characters, or a short number (a longer one may be an id)."""
    words = quote.strip("… \n")
    return len(words) < LEAST_QUOTED or (bool(NUMBER.fullmatch(words)) and not names_of(words))


def _quote(text: str, spans: Sequence[Span], first: int, last: int) -> str:
    clipped = [
        (max(start, first), min(end, last)) for start, end in joined(spans) if min(end, last) > max(start, first)
    ]
    return quoted_spans(text, clipped) if any(text[start:end].strip() for start, end in clipped) else ""


# ---- what nobody reads in the output of tools, and is never quoted

SCANNED_FOR_NOISE = 200_000
"""Characters at the start of a text that are looked at."""

READABLE = 40
"""Data has fewer quotation marks and slashes than one in this many characters; JSON and paths have more."""

_NO_BLANKS = re.compile(r"(?<![!-~])(?:[!-~]{160,}+|(?:[A-Za-z0-9+/=_-]{40,}+\s++){4,})")
_FRAME = re.compile(r"[\x1b\x08\u2800-\u28ff](?:(?<!\x1b)|\[(?![\d;]{0,20}m))")


def unreadable(text: str) -> list[Span]:
    """The spans of a text that nobody reads, such as encoded data and progress bars, in order, without overlaps. Only
    the first `SCANNED_FOR_NOISE` (200,000) characters are looked at, in time that is linear in their number."""
    text = text[:SCANNED_FOR_NOISE]
    spans = [found.span() for found in _NO_BLANKS.finditer(text) if _is_data(found[0])]
    end = 0
    for found in _FRAME.finditer(text):
        if found.start() >= end:  # else its line is known
            start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end()) + 1 or len(text)
            spans.append((start, end))
    return joined(spans)


def _is_data(run: str) -> bool:
    return "://" not in run and READABLE * sum(run.count(mark) for mark in "\"'/") < len(run)
