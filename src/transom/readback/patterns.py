"""Finding a pattern in time that grows with the text alone, whatever the pattern.

Python's own regular expressions backtrack, and a pattern comes from a model. RE2 never does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from transom.core.tokens import replace_surrogates
from transom.errors import InvalidSetting

LONGEST = 1_000
"""Characters of the longest pattern."""
LARGEST = 1_000
"""Instructions of the largest compiled pattern: one step through all of them is what a byte costs at worst."""
MEMORY = 1 << 20
"""Bytes that a compiled pattern may use."""


class Pattern(NamedTuple):
    """How to find a pattern, from a place on and within one line."""

    search: Callable[[bytes, int], re.Match[bytes] | None]


class Hit(NamedTuple):
    """A line that matches: its number from 1, where it stands, and where in it the first match begins."""

    line: int
    begin: int
    end: int
    at: int


def compiled(pattern: str) -> Pattern:
    """The pattern, ready to find. Raises InvalidSetting, in one line, for one that is none or is too large."""
    source = replace_surrogates(pattern)
    if not source or len(source) > LONGEST:
        raise InvalidSetting(f"a pattern has 1 to {LONGEST:,} characters, not {len(source):,}")
    if "\n" in source:
        raise InvalidSetting("a pattern is looked for within each line: it cannot hold a line end")
    engine: Any = import_module("re2")  # here: only a search pays for loading it
    options = engine.Options()
    options.log_errors = False
    options.never_nl = True  # no match goes on in the next line: so a search ends where its line does
    options.never_capture = True
    options.max_mem = MEMORY
    try:
        found = engine.compile("(?m)" + source, options)
    except engine.error as problem:
        why = problem.args[0]
        said = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        hint = "no look-around and no back-references in RE2's syntax"
        raise InvalidSetting(f"pattern {source[:100]!r}: {said.replace('(?m)', '', 1)[:200]} ({hint})") from None
    if found.programsize > LARGEST:
        raise InvalidSetting(f"pattern {source[:100]!r}: it is too large once its repetitions are written out")
    return Pattern(found.search)


def hits(data: bytes, pattern: Pattern, line: int = 1, at: int = 0) -> Iterator[Hit]:
    """The lines that match, each once, from `line`, which begins at `at`, on. Linear in the data."""
    while at <= len(data) and (match := pattern.search(data, at)) is not None:
        begin = data.rfind(b"\n", at, match.start()) + 1 or at
        end = data.find(b"\n", match.end())
        end = len(data) if end < 0 else end
        line += data.count(b"\n", at, begin)
        yield Hit(line, begin, end, match.start())
        line, at = line + 1, end + 1
