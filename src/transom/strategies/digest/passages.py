"""Passages: the pieces of original text of which a digest is made."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from transom.core.edit import Span
from transom.core.message import Call, Fact, Note, Recalled, Text, addressed_parts, own_text
from transom.strategies.actions.arguments import REPLACED, arguments
from transom.texts import cut_line_mark, gap_in_line, gap_mark

WHOLE = 480
"""Characters up to which a text is one passage."""

CORE = 160
"""Characters of a passage of a longer text, at least: short lines are joined until then."""

MARGIN = 60
"""Characters shown on either side of a passage, about, so that its first and last names keep their surroundings: those
up to the end of the line or sentence that is `NEAR` to `FAR` characters away."""

NEAR, FAR = 40, 160

MOST = 200_000
"""Characters of a text that are split into passages: half of them from its start, half from its end."""

DENSE = 0.3
"""In scripts with about one token a character, so much of the usual number of characters makes a passage."""

SENTENCE = 80
"""Characters of a sentence that is a passage of a message, at least: shorter ones are joined."""

LINE = 300
"""Characters up to which a line is quoted to its end, rather than cut in it."""

_LINES = ("\n", "\\n")
"""Ends of lines: in text within a string of JSON or of code they are escaped."""

_JSON = re.compile(r"\s*[{\[]")
_IN_JSON = re.compile(r'"(?:[^"\\]|\\.)*+"|,\s*')
"""A string, or a comma between two elements."""

_LIST_NUMBER = re.compile(r"(?:^|[\s*#>-]|\\n)\(?\d{1,3}\. \Z")
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]*_`]*\s+|[。！？]+[”’）」』]*\s*|\n\s*")
_OF_WORD = re.compile(r"\w")
_INSIDE = re.compile(r"\w{0,160}\Z")
"""The beginning of the word that a place is in."""

_ENDS = ((". ", "? ", "! ", "。", "？", "！"), (" ", ",", ";", "，", "、"))


class Passage(Struct, frozen=True, order=True, gc=False):
    """A span of one text of an entry.

    `text`: which text of the entry. `tokens`: of the span alone. `margin`: the tokens that are quoted of each
    neighbour, so that the names keep their surroundings. `names`: those that begin in it. `first`, `last`: whether it
    is the first or last of its text, and so has no neighbour on that side.
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
    """The texts of a fact as a person would read them, with the position of each in its entry's token counts.

    Not its reasoning, and nothing that comes again or stands elsewhere (see `is_repeated`).
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
    """A call with its arguments decoded: a line for each value, without the escapes of JSON."""
    return f"{call.name} " + "\n".join(f"{key}: {value}" if key else value for key, value in arguments(call))


class Argument(Struct, frozen=True):
    """An argument in the text of its call (`call_text`): its value, and where that begins."""

    name: str
    value: str
    start: int


def arguments_in_text(call: Call) -> Iterator[Argument]:
    """The arguments of a call, with their places in its text."""
    at = len(call.name) + 1
    for name, value in arguments(call):
        start = at + (len(name) + 2 if name else 0)
        yield Argument(name, value, start)
        at = start + len(value) + 1


def lasting_spans(call: Call, length: int) -> list[Span]:
    """The spans of a call's text without what it replaces."""
    if not any(f'"{name}"' in call.args for name in REPLACED):
        return [(0, length)]
    spans: list[Span] = []
    start = 0
    for one in arguments_in_text(call):
        if one.name in REPLACED:
            spans.append((start, one.start))
            start = min(length, one.start + len(one.value) + 1)
    return [span for span in (*spans, (start, length)) if span[0] < span[1]]


def split(text: str, rate: float = 0.25) -> Iterator[Span]:
    """The spans into which a text is split; together they are the whole text. Short lines are joined; long ones end at
    the end of a sentence, at a blank or at a comma. `rate`: tokens a character."""
    scale = DENSE if rate > 0.5 else 1.0
    core, stop = int(CORE * scale), len(text)
    ends = json_elements(text) if stop > WHOLE * scale else ()
    if 0 < stop <= WHOLE * scale:
        yield 0, stop
    elif stop <= MOST:
        yield from _split(text, 0, stop, core, ends)
    else:
        yield from _split(text, 0, MOST // 2, core, ends)
        yield from _split(text, stop - MOST // 2, stop, core, ends)


def sentences(text: str, rate: float = 0.25, *, least: int = SENTENCE) -> Iterator[Span]:
    """The sentences and lines of a message; those of fewer than `least` characters are joined to the next one, and long
    ones are split. Together they are the whole text. `rate`: tokens a character."""
    scale = DENSE if rate > 0.5 else 1.0
    least, most = int(least * scale), int(WHOLE * scale)
    start, stop = 0, len(text)
    ends = (found.end() for found in _SENTENCE_END.finditer(text, 0, stop - least))
    for end in (*ends, stop):
        is_number = _LIST_NUMBER.search(text, max(0, end - 8), end)
        if end == stop or (end - start >= least and not is_number):
            yield from ((start, end),) if end - start <= most else _split(text, start, end, int(CORE * scale), ())
            start = end


def _split(text: str, at: int, stop: int, core: int, ends: Sequence[int]) -> Iterator[Span]:
    while at < stop:
        end = _element_end(ends, at + core // 2, at + 2 * core) or _end(text, at, core)
        if stop - end < core // 2:
            end = stop
        yield at, end
        at = end


def _end(text: str, at: int, core: int) -> int:
    """The end of the passage that begins here: at the end of a line if there is one near, else of a sentence, else at a
    comma or a blank."""
    if (end := text.find("\n", at + core, at + 3 * core) + 1) > 0:
        return end
    if (end := text.rfind("\n", at + core // 3, at + core) + 1) > 0:
        return end
    for marks in _ENDS:
        end = max(text.rfind(mark, at + core, at + 2 * core) + len(mark) for mark in marks)
        if end > at + core:
            return end
    return at + 2 * core


def json_elements(text: str) -> tuple[int, ...]:
    """Where the elements of a JSON text begin, the first one of each list aside: behind a comma that is not in a
    string. Empty for other text, and for JSON of several lines: they are what it is split at."""
    if not _JSON.match(text) or "\n" in text.strip():
        return ()
    return tuple(found.end() for found in _IN_JSON.finditer(text) if found[0][0] == ",")


def _element_end(ends: Sequence[int], low: int, high: int) -> int:
    """The end of the first JSON element that ends between two places; 0 if there is none."""
    at = bisect_left(ends, low)
    return ends[at] if at < len(ends) and ends[at] <= high else 0


def _last_element_end(ends: Sequence[int], low: int, high: int) -> int:
    """As `_element_end`, of the last one."""
    at = bisect_right(ends, high) - 1
    return ends[at] if at >= 0 and ends[at] >= low else 0


def with_margins(text: str, start: int, end: int, ends: Sequence[int]) -> Span:
    """A span with its margins, each up to the end of a line or sentence; of a word where there is none near. `ends`:
    the text's `json_elements`."""
    return _margin_before(text, start, ends), _margin_after(text, end, ends)


def _margin_before(text: str, start: int, ends: Sequence[int]) -> int:
    low, high = max(0, start - FAR), start - NEAR
    if high <= 0:
        return 0
    if found := _last_element_end(ends, low, high) or _last_element_end(ends, high, start):
        return found
    if (found := _last_end(text, low, high, _LINES)) or (found := _last_end(text, low, high, _ENDS[0])):
        return found
    if start <= LINE:
        return 0
    for first, last, marks in ((start - LINE, low, _LINES), (high, start, _LINES), (low, high, _ENDS[1])):
        if found := _last_end(text, first, last, marks):
            return found
    return between_words(text, high)


def _margin_after(text: str, end: int, ends: Sequence[int]) -> int:
    low, high, last = end + NEAR, end + FAR, len(text)
    if low >= last:
        return last
    if found := _element_end(ends, low, high) or _element_end(ends, end, low):
        return found
    if (found := _first_end(text, low, high, _LINES)) or (found := _first_end(text, low, high, _ENDS[0])):
        return found
    if last - end <= LINE:
        return last
    near = _last_end(text, end - 1, low, _LINES)  # a line that ends before there is a whole margin
    if (
        near
        or (found := _first_end(text, high, end + LINE, _LINES))
        or (found := _first_end(text, low, high, _ENDS[1]))
    ):
        return near or found
    return between_words(text, low)


def _last_end(text: str, low: int, high: int, marks: Sequence[str]) -> int:
    """The end of the last of these marks between two places; 0 if there is none. The number of a list ends nothing."""
    while high > low:
        end = max((at + len(mark) if (at := text.rfind(mark, low, high)) >= 0 else 0) for mark in marks)
        if not end or not _LIST_NUMBER.search(text, max(0, end - 8), end):
            return end
        high = end - 1
    return 0


def _first_end(text: str, low: int, high: int, marks: Sequence[str]) -> int:
    """As `_last_end`, of the first of these marks."""
    while low < high:
        end = min((at + len(mark) if (at := text.find(mark, low, high)) >= 0 else high + 9) for mark in marks)
        if end > high + 8:
            return 0
        if not _LIST_NUMBER.search(text, max(0, end - 8), end):
            return end
        low = end
    return 0


def between_words(text: str, at: int) -> int:
    """The last place up to this one that is not inside a word; itself if the word is longer than anything readable."""
    found = _INSIDE.search(text, max(0, at - FAR), at)
    return at if found is None or not at < len(text) or not _OF_WORD.match(text[at]) else found.start()


def quoted_spans(text: str, spans: list[Span]) -> str:
    """These spans of a text, with a mark in each gap; at the beginning and at the end where a line is cut."""
    if not spans:
        return ""
    inner = text[spans[0][0] : spans[0][1]].strip("\n")
    for (_, before), (start, end) in pairwise(spans):
        ends_line = text[before - 1] == "\n" or text[before] == "\n"
        begins_line = text[start - 1] == "\n"
        is_next_line = begins_line and "\n" not in text[before:start].rstrip()
        if is_next_line and text[before - 1] != "\n":
            mark = cut_line_mark()
        else:
            mark = gap_mark("") if ends_line or begins_line else gap_in_line()
        inner += mark + text[start:end].strip("\n")
    first, last = spans[0][0], spans[-1][1]
    gap_before = "…" if first > 0 and text[first - 1] != "\n" else ""
    return gap_before + inner + ("…" if last < len(text) and "\n" not in text[last - 1 : last + 1] else "")
