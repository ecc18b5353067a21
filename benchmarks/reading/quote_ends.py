"""Finds where quotes begin and end in the text they are taken from: at a line, at a sentence, between words, or inside
a word.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal

from msgspec import Struct

from transom.quoting import CLOSE, OPEN

End = Literal["line", "sentence", "between words", "inside a word"]
_WORST: tuple[End, ...] = ("line", "sentence", "between words", "inside a word")

ESCAPED_LINE = "\\n"
"""How a line ends in a text that is a string of JSON or of code."""

GAP = re.compile("\n…\n| …\n| … ")
"""Separates two passages of one quote."""

MAX_PLACES = 16
"""The most places of a passage in a text that are looked at; the best one counts."""

_BEST: tuple[End, End] = ("line", "line")
_LINE = re.compile("[^\n]+")
_MARKS = str.maketrans({OPEN: "‹", CLOSE: "›", "·": "."})
_ESCAPED = re.compile(r"(^[^\S\n]*)?\\(?=\[|\d|changed|plan)", re.MULTILINE | re.IGNORECASE)
_SENTENCE = re.compile(r"(?:[.!?…][\"'”’)\]*_`]*\s|[。！？][”’）」』]?\s*)\Z")
_SENTENCE_ENDS = re.compile(r"(?:[.!?…][\"'”’)\]*_`]*|[。！？][”’）」』]?)\Z")
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\S')
_LIST_NUMBER = re.compile(r"(?:^|\s)\(?\d{1,3}[.)]\s*\Z")
_NO_BLANKS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class QuotedPassage(Struct, frozen=True):
    """One passage of a quote, and what it begins and ends at in the original text (`starts`, `ends`: None if it is not
    found there).
    """

    text: str
    starts: End | None
    ends: End | None


def passages_of(quote: str, originals: Sequence[str], *, joined: bool = False) -> list[QuotedPassage]:
    """Split a quote into its passages and find each in one of the original texts.

    `joined`: a passage may also be the end of one of these texts and the beginning of the next.
    """
    pieces = [piece for piece in GAP.split(quote) if piece.strip()]
    texts = _Originals(originals)
    found: list[QuotedPassage] = []
    for at, piece in enumerate(pieces):
        first, last = at == 0, at == len(pieces) - 1
        passage = _found(piece, texts, first=first, last=last)
        if passage is not None:
            found.append(passage)
        else:
            lines = _found_by_lines(piece, texts, first=first, last=last) if joined else []
            found += lines or [QuotedPassage(piece, None, None)]
    return found


class _Originals:
    """The texts that a quote is taken from, one behind the other, so that all are searched at once."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [text.translate(_MARKS) for text in texts]
        self._begins = list(accumulate((len(text) + 1 for text in self._texts), initial=0))
        self._all = "\n".join(self._texts)
        self._longest = max(map(len, self._texts), default=0)

    def without_escapes(self) -> _Originals:
        return _Originals([text.replace("\\", "") for text in self._texts])

    def may_contain(self, piece: str) -> bool:
        """False if a piece is too long for any of the texts, even without its escapes and ellipses."""
        return len(piece) - 2 <= 2 * self._longest

    def best_place(self, piece: str) -> tuple[End, End] | None:
        """Where a piece begins and ends, at the best of the places where it is found; None if there is none."""
        if not piece or len(piece) > self._longest:
            return None
        piece = piece.translate(_MARKS)
        best: tuple[End, End] | None = None
        for text, at in self._places(piece):
            place = start_of(text, at), end_of(text, at + len(piece))
            if place == _BEST:
                return place
            if best is None or _badness(place) < _badness(best):
                best = place
        return best

    def _places(self, piece: str) -> Iterator[tuple[str, int]]:
        """The places of a piece, at most `MAX_PLACES` in each text: the text, and where in it."""
        at, number, count = self._all.find(piece), -1, 0
        while at >= 0:
            found_in = bisect_right(self._begins, at) - 1
            number, count = found_in, count + 1 if found_in == number else 1
            text, begin = self._texts[number], self._begins[number]
            if at + len(piece) <= begin + len(text):
                yield text, at - begin
            at = self._all.find(piece, at + 1 if count < MAX_PLACES else self._begins[number + 1])


def _found(piece: str, texts: _Originals, *, first: bool, last: bool) -> QuotedPassage | None:
    """Find one passage, as it is, without the ellipses that mark a cut, or without the escapes of a record."""
    cut = _cut(piece, first=first, last=last)
    for variant in dict.fromkeys((piece, cut, _ESCAPED.sub(r"\1", piece), _ESCAPED.sub(r"\1", cut))):
        if best := texts.best_place(variant):
            return QuotedPassage(variant, *best)
    if "\\" in cut and (best := texts.without_escapes().best_place(cut.replace("\\", ""))):
        return QuotedPassage(cut, *best)
    return None


def _cut(piece: str, *, first: bool, last: bool) -> str:
    """A passage without the ellipses that mark a cut."""
    cut = (piece[1:] if first and piece[0] == "…" else piece).strip("\n")
    return cut[:-1] if last and cut.endswith("…") else cut


def _found_by_lines(piece: str, texts: _Originals, *, first: bool, last: bool) -> list[QuotedPassage]:
    """Split a passage at line ends so that each part is found, the first ones as short as can be; empty if there is no
    such split.

    From the last line to the first: each needs to know only whether the lines behind it can be split.
    """
    cut = _cut(piece, first=first, last=last).rstrip("\n")
    lines = [(line.start(), line.end()) for line in _LINE.finditer(cut)]
    parts: dict[int, tuple[int, QuotedPassage | None]] = {}  # by the line where a part begins: the next part's, itself
    for at in range(len(lines) - 1, -1, -1):
        begin = lines[at][0]
        rest = cut[begin:] if at and texts.may_contain(cut[begin:]) else ""
        if rest and (whole := _found(rest, texts, first=False, last=last)):
            parts[at] = (len(lines), whole)
            continue
        for next_at in range(at + 1, len(lines)):
            end = lines[next_at - 1][1]
            if not texts.best_place(cut[begin:end]):
                break  # nor is anything longer
            if next_at in parts:
                parts[at] = (next_at, None)
                break
    return list(_passages(cut, lines, parts, texts, first=first))


def _passages(
    cut: str,
    lines: Sequence[tuple[int, int]],
    parts: dict[int, tuple[int, QuotedPassage | None]],
    texts: _Originals,
    *,
    first: bool,
) -> Iterator[QuotedPassage]:
    """The passages of these parts, from the first line on."""
    at = 0
    while at in parts:
        stop, passage = parts[at]
        piece = cut[lines[at][0] : lines[stop - 1][1]]
        yield passage or _found(piece, texts, first=first and at == 0, last=False) or QuotedPassage(piece, None, None)
        at = stop


def _badness(place: tuple[End, End]) -> int:
    return sum(map(_WORST.index, place))


def start_of(text: str, at: int) -> End:
    """Return what begins at a position of a text: a line, a sentence, a word ("between words"), or nothing ("inside a
    word").
    """
    line = text[text.rfind("\n", 0, at) + 1 : at]
    if not line.strip() or line.endswith(ESCAPED_LINE):
        return "line"
    is_sentence = _SENTENCE.search(line) and not _LIST_NUMBER.search(line)
    return "sentence" if is_sentence or _is_between_elements(text, at) else _between(text, at)


def end_of(text: str, at: int) -> End:
    """Return what ends at a position of a text: a line, a sentence, a word ("between words"), or nothing ("inside a
    word").
    """
    stop = text.find("\n", at)
    if (
        text.endswith(("\n", ESCAPED_LINE), 0, at)
        or text.startswith(ESCAPED_LINE, at)
        or not text[at : stop if stop >= 0 else len(text)].strip()
    ):
        return "line"
    line = text[text.rfind("\n", 0, at) + 1 : at]
    ended = line.rstrip()
    closed = len(ended) < len(line) or text[at].isspace() or bool(_NO_BLANKS.match(text[at]))
    is_sentence = closed and _SENTENCE_ENDS.search(ended) and not _LIST_NUMBER.search(ended)
    return "sentence" if is_sentence or _is_between_elements(text, at) else _between(text, at)


def _is_between_elements(text: str, at: int) -> bool:
    """True if a position is behind a comma that separates two elements of a JSON text; in JSON this counts as a
    sentence end.
    """
    comma = len(text[:at].rstrip()) - 1
    if text[:1] not in {"{", "["} or text[comma] != ",":
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return any(token.start() == comma for token in _JSON_TOKEN.finditer(text))


def _between(text: str, at: int) -> End:
    """Return "between words" or "inside a word". In scripts without spaces between words, no place is inside a word."""
    before, after = text[at - 1], text[at]
    joined = _is_of_word(before) and _is_of_word(after)
    return "inside a word" if joined and not (_NO_BLANKS.match(before) or _NO_BLANKS.match(after)) else "between words"


def _is_of_word(char: str) -> bool:
    return char.isalnum() or char == "_"
