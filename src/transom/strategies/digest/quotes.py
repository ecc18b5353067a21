"""Quotes: the words of chosen spans, without what the line above them says already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from transom.core.edit import Span
from transom.core.message import Call
from transom.strategies.digest.passages import arguments, quoted_spans
from transom.strategies.digest.tool_lines import SETTINGS, SUBJECT, one_line
from transom.strategies.digest.tool_outcomes import HEADER
from transom.strategies.text.spans import joined


class ArgumentQuote(Struct, frozen=True):
    """A quote of one argument of a call. `name`: of the argument, if the call has several that may be quoted: an edit
    says which side of the change it quotes."""

    text: str
    name: str = ""


class _Argument(Struct, frozen=True):
    """An argument in the text of its call (`call_text`): its value, and where that begins."""

    name: str
    value: str
    start: int


def text_quote(text: str, spans: Sequence[Span], *, is_result: bool) -> str:
    """The quote of these spans of a message or a result; "" if nothing of it is left. Of a shell's result not its
    header."""
    header = HEADER.match(text) if is_result and spans[0][0] == 0 else None
    return _quote(text, spans, header.end() if header else 0, len(text))


def argument_quotes(call: Call, said: str, spans: Sequence[Span]) -> list[ArgumentQuote]:
    """The quotes of these spans of a call's text (`call_text`), one for each argument. Not of arguments that are `said`
    in the line above."""
    quotable = [one for one in _arguments(call) if not _is_said(one, said)]
    found: list[ArgumentQuote] = []
    for one in quotable:
        inside = [(start - one.start, end - one.start) for start, end in spans]
        if quote := _quote(one.value, inside, 0, len(one.value)):
            found.append(ArgumentQuote(quote, one_line(one.name, SUBJECT) if len(quotable) > 1 else ""))
    return found


def _arguments(call: Call) -> Iterator[_Argument]:
    at = len(call.name) + 1
    for name, value in arguments(call):
        start = at + (len(name) + 2 if name else 0)
        yield _Argument(name, value, start)
        at = start + len(value) + 1


def _is_said(one: _Argument, said: str) -> bool:
    """Whether an argument needs no quote: its value stands in the line, or it is a setting without words."""
    line = " ".join(one.value[: 2 * len(said)].split())
    return line in said or (one.name in SETTINGS and " " not in line)


def _quote(text: str, spans: Sequence[Span], first: int, last: int) -> str:
    clipped = [
        (max(start, first), min(end, last)) for start, end in joined(spans) if min(end, last) > max(start, first)
    ]
    return quoted_spans(text, clipped) if any(text[start:end].strip() for start, end in clipped) else ""
