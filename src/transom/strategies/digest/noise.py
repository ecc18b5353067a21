"""Noise in the output of tools: what nobody reads, and lines that all say the same.

Data without blanks (base64, minified code, long rows of digits) and what a terminal draws (control codes, spinners,
lines that are drawn again) are never quoted for their names. Lines of one shape (progress, dependencies) are
worth less, since they can be made again.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence

from msgspec import Struct

from transom.core.edit import Span
from transom.strategies.text.spans import joined
from transom.strategies.text.terminal import CONTROL, REDRAWN

SCANNED_FOR_NOISE = 200_000
"""Characters at the start of a text that are looked at."""

RUN, SHORT_RUN, SHORT_RUNS = 160, 40, 4
"""From this length on, characters without a blank may be data. Shorter ones may be data if this many stand in adjacent
lines."""

LONG_LINE, FEW_BLANKS = 400, 16
"""From this length on, a line may be minified code, if it has fewer blanks than one in this many characters."""

LINES, BEFORE = 12, 6
"""From this many adjacent lines on, lines count as repeated. Each has the shape of one of the few before it."""

CODES = 0.2
"""The share of a line that is control codes, from which it is noise."""

_NO_BLANKS = re.compile(rf"(?<![!-~])(?:[!-~]{{{RUN},}}+|(?:[A-Za-z0-9+/=_-]{{{SHORT_RUN},}}+\s++){{{SHORT_RUNS},}})")
_MIXED = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])|[0-9a-fA-F]{80}")
_ENCODED = re.compile(r"[A-Za-z0-9+=_/-]{40,}")
_OF_CODE = re.compile(r"[;(){}=&|?!,:]")
_FRAME = re.compile(r"(?!\x1b\[[\d;]{0,20}m)\x1b\[|[\u2800-\u28ff\x08]")
_DIFFERS = re.compile(r"[\d/\\.@]")
"""In a word that differs between lines of one shape: numbers, paths, versions."""

_CODE_ENDS = ("{", "}", ";", ",", "(", "[", ":", ")", "]", ">")
"""Ends of lines of code, which have the same shape more often. (`[ 41%]` is none.)"""


class Noise(Struct, frozen=True, gc=False):
    """The spans of a text that are `unreadable`, and those with lines that are `repeated`."""

    unreadable: tuple[Span, ...] = ()
    repeated: tuple[Span, ...] = ()

    def is_unreadable(self, start: int, end: int) -> bool:
        """Whether most of a span is."""
        return bool(self.unreadable) and _share(self.unreadable, start, end) > 0.5

    def is_repeated(self, start: int, end: int) -> bool:
        """Whether most of a span is."""
        return bool(self.repeated) and _share(self.repeated, start, end) > 0.5


QUIET = Noise()


def noise_of(text: str, *, is_result: bool = True) -> Noise:
    """The noise in a text, in time that grows with its length. Repeated lines are looked for in the result of a tool
    only (`is_result`)."""
    if len(text) < RUN:
        return QUIET
    text = text[:SCANNED_FOR_NOISE]
    spans = sorted((*_data(text), *_frames(text)))
    repeated = tuple(_repeated(text)) if is_result and text.lstrip()[:1] not in {"{", "["} else ()
    return Noise(tuple(joined(spans)), repeated) if spans or repeated else QUIET


def _data(text: str) -> Iterator[Span]:
    """Encoded data and minified code, in lines without blanks."""
    for found in _NO_BLANKS.finditer(text):
        if "://" not in found[0][:80] and _is_data(found[0]):
            yield found.span()
    for start, end in _lines(text) if len(text) >= LONG_LINE else ():
        is_dense = end - start >= LONG_LINE and FEW_BLANKS * text.count(" ", start, end) < end - start
        if is_dense and _is_minified(text[start:end]):
            yield start, end


def _is_data(run: str) -> bool:
    """Whether a run of characters with hardly a blank is data: it is no path, no URL and no JSON."""
    if len(run.split()) > 1:
        return bool(_MIXED.match(run))
    encoded = (one for one in _ENCODED.findall(run) if _MIXED.match(one) and 40 * one.count("/") < len(one))
    numbers = sum(run.count(one) for one in "0123456789.,+-")
    return 2 * sum(map(len, encoded)) > len(run) or 10 * numbers > 8 * len(run) or _is_minified(run)


def _is_minified(text: str) -> bool:
    """Whether a text with few blanks is code: neither JSON, which is full of quotes, nor a URL, which has no braces."""
    quotes, braces = text.count('"') + text.count("'"), text.count(";") + text.count("{") + text.count("}")
    return 8 * len(_OF_CODE.findall(text)) > len(text) > 25 * quotes and 50 * braces > len(text)


def _frames(text: str) -> Iterator[Span]:
    """The lines that a terminal draws: spinners, lines that are drawn again, and those that are mostly codes."""
    has_codes = "\x1b" in text or "\r" in text or "\x08" in text
    if not has_codes and (text.isascii() or not _FRAME.search(text)):
        return
    for start, end in _lines(text):
        line = text[start:end]
        codes = sum(len(code) for code in CONTROL.findall(line)) if "\x1b" in line else 0
        if codes > CODES * len(line) or _FRAME.search(line):
            yield start, end
        elif found := REDRAWN.match(line):
            yield start, start + found.end()


def _repeated(text: str) -> Iterator[Span]:
    """The spans of many lines that have the shape of one just before."""
    shapes: deque[tuple[int, str, str, str]] = deque(maxlen=BEFORE)
    first = last = count = 0
    for start, end in _lines(text):
        words = text[start:end].split()
        if not words:
            continue
        shape = _shape(words)
        if shape in shapes:
            first = first if count else start
            last, count = end, count + 1
        else:
            if count >= LINES:
                yield first, last
            count = 0
        if shape:
            shapes.append(shape)
    if count >= LINES:
        yield first, last


def _shape(words: Sequence[str]) -> tuple[int, str, str, str] | None:
    """What lines have in common that differ in numbers and paths: how many words, the first two and the last of them;
    None of code, and of lines that have no word in common: a list of files is full of names that are needed later."""
    last = words[-1]
    if len(words) == 1 or (last.endswith(_CODE_ENDS) and not last.endswith("%]")):
        return None
    first, second, last = ("#" if _DIFFERS.search(word) else word for word in (*words[:2], last))
    return (len(words), first, second, last) if any(map(str.isalpha, (first, second, last))) else None


def _lines(text: str) -> Iterator[Span]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1


def _share(spans: Sequence[Span], start: int, end: int) -> float:
    """The share of a span that is in others, which are in order."""
    at = bisect_left(spans, start, key=lambda span: span[1])
    covered = 0
    while at < len(spans) and spans[at][0] < end:
        covered += min(end, spans[at][1]) - max(start, spans[at][0])
        at += 1
    return covered / max(1, end - start)
