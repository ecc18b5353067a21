"""Searches lines for a regular expression that may come from a model, in time that is linear in the text.

Python's own regular expressions backtrack, so some patterns take for ever. RE2 never backtracks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from transom.errors import InvalidSetting

MAX_CHARACTERS = 1_000
"""The most characters of a pattern."""
MAX_QUOTED = 40
"""The most characters of a refused pattern that its error repeats with backslashes."""
MAX_INSTRUCTIONS = 1_000
"""The most instructions of a compiled pattern.

In the worst case each byte of the text costs one step through all of them.
"""
MAX_MEMORY = 1 << 20
"""The most bytes that a compiled pattern may use."""


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


Pattern = Callable[[bytes, int], re.Match[bytes] | None]
"""The search for a compiled pattern: finds its first match in a text in UTF-8 from a byte on, or returns None."""


class MatchingLine(NamedTuple):
    """A line that matches. `line`: its number, from 1. `begin`, `end`: the bytes of the text at which it begins and
    ends, without its line end. `match_begin`: the byte at which its first match begins."""

    line: int
    begin: int
    end: int
    match_begin: int


def compile_pattern(pattern: str) -> Pattern:
    """Compile a pattern in the syntax of RE2. It matches within lines: `^` and `$` are the ends of a line. It is
    case-sensitive, unless it begins with `(?i)`.

    Raises InvalidSetting, with a message of one line, for an empty pattern, a line end, bad syntax (RE2 has no
    look-around and no back-references), more than 1,000 characters, or a compiled pattern of more than 1,000
    instructions or 1 MiB (`MAX_INSTRUCTIONS`, `MAX_MEMORY`).
    """
    # A lone surrogate in a text is stored as "?", which is an operator in a pattern.
    source = _LONE_SURROGATE.sub(r"\\?", pattern)
    if not source or len(source) > MAX_CHARACTERS:
        raise InvalidSetting(f"a pattern has 1 to {MAX_CHARACTERS:,} characters, not {len(source):,}")
    if "\n" in source:
        raise InvalidSetting("a pattern is searched for within each line: it cannot contain a line end")
    engine: Any = import_module("re2")  # imported here, so that only a search pays for loading it
    options = engine.Options()
    options.log_errors = False
    options.never_nl = True  # no match continues in the next line, so a search ends where its line ends
    options.never_capture = True
    options.max_mem = MAX_MEMORY
    try:
        compiled = engine.compile("(?m)" + source, options)
    except engine.error as problem:
        argument = problem.args[0]
        why = argument.decode("utf-8", "replace") if isinstance(argument, bytes) else str(argument)
        why = _visible(why.replace("(?m)", "", 1)[:200])
        raise InvalidSetting(f"pattern {source[:100]!r}: {why} ({_hint(source)})") from None
    if compiled.programsize > MAX_INSTRUCTIONS:
        raise InvalidSetting(f"pattern {source[:100]!r}: it is too large once its repetitions are expanded")
    return compiled.search


def _hint(source: str) -> str:
    """What to do about a pattern that is refused: what it is, and how it would find its own text."""
    itself = "".join(map(_escaped, source)) if len(source) <= MAX_QUOTED else ""
    literal = f"give '{itself}'" if itself else "put a backslash before each of .^$*+?()[]{}|\\"
    return f"it is a regular expression, without look-around and back-references; to find the text itself, {literal}"


def _escaped(character: str) -> str:
    """A pattern that matches this character and has no control character."""
    return _visible(character) if _CONTROL.match(character) else re.escape(character)


def _visible(text: str) -> str:
    """The text with an escape sequence, as patterns have them, for each control character: a terminal obeys some."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def matching_lines(data: bytes, pattern: Pattern, line: int = 1, begin: int = 0) -> Iterator[MatchingLine]:
    """Yield the lines of a text in UTF-8 that match, each once, in time that is linear in the text.

    The search starts at byte `begin`, where the line with the number `line` begins.
    """
    while begin <= len(data) and (match := pattern(data, begin)) is not None:
        line_begin = data.rfind(b"\n", begin, match.start()) + 1 or begin
        line_end = data.find(b"\n", match.end())
        line_end = len(data) if line_end < 0 else line_end
        line += data.count(b"\n", begin, line_begin)
        yield MatchingLine(line, line_begin, line_end, match.start())
        line, begin = line + 1, line_end + 1
