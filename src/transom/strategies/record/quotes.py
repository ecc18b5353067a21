"""Quotes: the words of chosen spans, without what the line above them says already."""

from __future__ import annotations

from collections.abc import Sequence

from transom.core.edit import Span
from transom.core.message import Call
from transom.strategies.actions.action import Action
from transom.strategies.actions.arguments import DESCRIBES, NUMBER, SETTINGS
from transom.strategies.actions.outcome import HEADER
from transom.strategies.record.passages import Argument, arguments_in_text, quoted_spans
from transom.strategies.text.identifiers import names_of
from transom.strategies.text.one_line import LONGEST_PATH
from transom.strategies.text.spans import joined

LEAST = 3
"""Characters that are quoted of an argument or a result, at least: fewer say nothing alone."""


def text_quotes(text: str, spans: Sequence[Span], *, is_result: bool) -> list[str]:
    """The quote of these spans (at least one) of a message or a result, as a list of one text; empty if nothing is
    left. Left out is the header of a shell's result, and a quote of a result that is too short to say anything. A
    message may be short: a reply of the user may be `1`."""
    header = HEADER.match(text) if is_result and spans[0][0] == 0 else None
    quote = _quote(text, spans, header.end() if header else 0, len(text))
    return [quote] if quote and not (is_result and _says_nothing(quote)) else []


def argument_quotes(call: Call, action: Action, spans: Sequence[Span]) -> list[str]:
    """The quotes of these spans of a call's text (`call_text`), one for each argument that they reach.

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
    """Whether a quote says nothing alone: fewer than 3 characters, `true`, `false`, `null`, or a whole number of fewer
    than 4 digits, because a longer one may be an id. A `…` around it is ignored."""
    words = quote.strip("… \n")
    return len(words) < LEAST or (bool(NUMBER.fullmatch(words)) and not names_of(words))


def _quote(text: str, spans: Sequence[Span], first: int, last: int) -> str:
    clipped = [
        (max(start, first), min(end, last)) for start, end in joined(spans) if min(end, last) > max(start, first)
    ]
    return quoted_spans(text, clipped) if any(text[start:end].strip() for start, end in clipped) else ""
