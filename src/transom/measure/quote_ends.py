"""Finds where quotes begin and end in the text they are taken from: at a line, at a sentence, between words, or inside
a word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from transom.texts import CLOSE, OPEN

End = Literal["line", "sentence", "between words", "inside a word"]
_WORST: tuple[End, ...] = ("line", "sentence", "between words", "inside a word")

ESCAPED_LINE = "\\n"
"""How a line ends in a text that is a string of JSON or of code."""

GAP = re.compile("\n…\n| …\n")
"""Separates two passages of one quote."""

MOST = 16
"""The most places of a passage in a text that are looked at; the best one counts."""

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
    texts = [text.translate(_MARKS) for text in originals]
    found: list[QuotedPassage] = []
    for at, piece in enumerate(pieces):
        found += _found(piece, texts, first=at == 0, last=at == len(pieces) - 1, joined=joined)
    return found


def _found(piece: str, texts: Sequence[str], *, first: bool, last: bool, joined: bool) -> Iterator[QuotedPassage]:
    """Find one passage, as it is, without the ellipses that mark a cut, or without the escapes of a record.

    If `joined`, a passage that is in no text is also tried as the ends of two texts. A passage that is not found has no
    ends.
    """
    cut = (piece[1:] if first and piece[0] == "…" else piece).strip("\n")
    if last and cut.endswith("…"):
        cut = cut[:-1]
    for variant in dict.fromkeys((piece, cut, _ESCAPED.sub(r"\1", piece), _ESCAPED.sub(r"\1", cut))):
        if best := _best_place(variant, texts):
            yield QuotedPassage(variant, *best)
            return
    if "\\" in cut and (best := _best_place(cut.replace("\\", ""), [text.replace("\\", "") for text in texts])):
        yield QuotedPassage(cut, *best)
        return
    for split in range(len(cut)) if joined else ():
        if cut[split] == "\n" and _best_place(cut[:split], texts):
            later = list(_found(cut[split + 1 :], texts, first=False, last=last, joined=True))
            if later and all(passage.starts is not None for passage in later):
                yield from _found(cut[:split], texts, first=first, last=False, joined=False)
                yield from later
                return
    yield QuotedPassage(piece, None, None)


def _best_place(piece: str, texts: Sequence[str]) -> tuple[End, End] | None:
    piece = piece.translate(_MARKS)
    places: list[tuple[End, End]] = [
        (start_of(text, at), end_of(text, at + len(piece))) for text in texts for at in _occurrences(piece, text)
    ]
    return min(places, key=lambda place: sum(map(_WORST.index, place)), default=None)


def _occurrences(piece: str, text: str) -> Iterable[int]:
    at = text.find(piece)
    for _ in range(MOST):
        if at < 0:
            return
        yield at
        at = text.find(piece, at + 1)


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
