"""Prints on the terminal: lines with styles, texts from outside, and JSON.

Everything that a command prints goes through this file, or, if it is a notice or a question on stderr, through
`streams.py`. There it is escaped; `tests/cli/test_hostile_output.py` runs every command on a hostile log.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from transom.core.codec import plain
from transom.quoting import escaped

STYLES = {"kept": "green", "shortened": "yellow", "folded": "cyan", "dropped": "red"}
"""The colour of each state of an entry."""

Piece = str | tuple[str, str]
"""A text, or a text with its style."""


class Terminal(Console):
    """The console through which every command prints. No text that it prints has a character that moves the cursor,
    changes colours or is invisible: such a character is shown as U+FFFD, whoever forgot to escape it before. Only rich
    itself, which draws what we ask for, sends control sequences.

    It raises BrokenPipeError, which is then handled with all other errors; rich would end the process.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of what is to be printed, with U+FFFD in place of each character that is not printable,
        except line ends: the text is laid out already, so its length must stay. Rich calls this for everything that it
        prints; its own control sequences pass as they are."""
        for segment in super().render(renderable, options):
            text = segment.text
            is_clean = segment.control or text.isprintable() or text == "\n"
            yield segment if is_clean else Segment(_cleaned(text), segment.style)

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError: rich calls this when the reader of our output is gone."""
        raise BrokenPipeError


def terminal(*, aside: bool = False) -> Terminal:
    """Make a console for stdout, or with `aside` for stderr.

    If that is a file or a pipe, it has 150 columns (or COLUMNS). Nothing is highlighted, and no text of a log is read
    as markup or as an emoji.
    """
    stream = sys.stderr if aside else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 150
    return Terminal(stderr=aside, highlight=False, markup=False, emoji=False, width=width)


def print_line(console: Console, *pieces: Piece) -> None:
    """Print pieces on one line. What does not fit the terminal is cut off."""
    console.print(Text.assemble(*pieces), no_wrap=True, overflow="ellipsis", crop=True)


def print_row(console: Console, *pieces: Piece, needed: Piece, rest: Piece = "") -> None:
    """Print one line: `pieces`, then `needed`, what a user must be able to read, such as an id, then `rest`. What does
    not fit the terminal is cut off. But if `needed` does not fit, it stands below, wrapped, and `rest` is left out."""
    line, whole = Text.assemble(*pieces), Text.assemble(needed)
    if not whole or line.cell_len + whole.cell_len <= console.width:
        print_line(console, *pieces, needed, rest)
        return
    print_line(console, *pieces)
    print_wrapped(console, needed, indent=8)


def print_wrapped(console: Console, *pieces: Piece, indent: int = 0) -> None:
    """Print pieces, wrapped to several lines if needed. All lines have the same indent."""
    console.print(Padding(Text.assemble(*pieces), (0, 0, 0, indent), expand=False))


def print_text(text: str) -> None:
    """Print a text from outside on stdout, and a line end behind it. Control characters other than line ends and tabs
    are escaped; the rest stays as it is, lines of any length too."""
    for line in text.split("\n"):
        sys.stdout.write("\t".join(map(escaped, line.split("\t"))) + "\n")


def print_json(value: Any, *, aside: bool = False) -> None:
    """Print a value as JSON on one line of stdout, or with `aside` of stderr. Characters that are not printable are
    written as JSON escapes, so that the value is the same."""
    (sys.stderr if aside else sys.stdout).write(json_escaped(plain(value).decode("utf-8")) + "\n")


def json_escaped(text: str) -> str:
    """Return a text that is JSON with an escape for each character that is not printable, so that it means the same.
    Line ends stay: in JSON they are only between values."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def _cleaned(text: str) -> str:
    """Return a text with U+FFFD for each character that is not printable, except line ends. Its length stays, because
    the text is laid out already."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)
