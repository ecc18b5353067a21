"""Quotes: the words of chosen spans, without what the line above them says already."""

from __future__ import annotations

from collections.abc import Sequence

from transom.core.edit import Span
from transom.core.message import Call
from transom.strategies.digest.command_subjects import without_folder
from transom.strategies.digest.named_arguments import LONGEST_PATH
from transom.strategies.digest.passages import REPLACED, Argument, arguments, arguments_in_text, quoted_spans
from transom.strategies.digest.tool_lines import DESCRIBES, FULL, OUTCOME, SETTINGS, CallFacts, command_of
from transom.strategies.digest.tool_outcomes import HEADER
from transom.strategies.text.spans import joined

CUT = " …"
"""The end of a line that has not all of what a call was about."""


def text_quote(text: str, spans: Sequence[Span], *, is_result: bool) -> str:
    """The quote of these spans of a message or a result; "" if nothing of it is left. Of a shell's result not its
    header."""
    header = HEADER.match(text) if is_result and spans[0][0] == 0 else None
    return _quote(text, spans, header.end() if header else 0, len(text))


def titled_quotes(call: Call, facts: CallFacts, spans: Sequence[Span]) -> tuple[str, list[str]]:
    """What stands in the line of a call of which these spans are quoted, and the quotes. The line is at length, unless
    a quote begins with what it could hold of that: then it is short."""
    quotes = argument_quotes(call, facts.full, spans)
    shown = facts.full.removesuffix(CUT)
    if shown != facts.full and any(shown[:OUTCOME] in " ".join(quote[: 2 * FULL].split()) for quote in quotes):
        return facts.subject, argument_quotes(call, facts.subject, spans)
    return facts.full, quotes


def argument_quotes(call: Call, said: str, spans: Sequence[Span]) -> list[str]:
    """The quotes of these spans of a call's text (`call_text`), one for each argument. Not of arguments that are `said`
    in the line above, not of what an edit replaces, and not of the words that describe a command."""
    found: list[str] = []
    is_command = bool(command_of(call, list(arguments(call))))
    for one in arguments_in_text(call):
        if one.name in REPLACED or _is_said(one, said) or (is_command and one.name in DESCRIBES):
            continue
        inside = [(start - one.start, end - one.start) for start, end in spans]
        if quote := _quote(one.value, inside, 0, len(one.value)):
            found.append(quote)
    return found


def _is_said(one: Argument, said: str) -> bool:
    """Whether an argument needs no quote: its value stands in the line, or it is a setting without words."""
    value = one.value[: 2 * len(said) + LONGEST_PATH]
    line = " ".join(value.split())
    is_in_line = line in said or " ".join(without_folder(value).split()) in said
    return is_in_line or (one.name in SETTINGS and " " not in line)


def _quote(text: str, spans: Sequence[Span], first: int, last: int) -> str:
    clipped = [
        (max(start, first), min(end, last)) for start, end in joined(spans) if min(end, last) > max(start, first)
    ]
    return quoted_spans(text, clipped) if any(text[start:end].strip() for start, end in clipped) else ""
