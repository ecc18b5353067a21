"""Prints on the terminal: lines with styles, and JSON."""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from transom.core.codec import plain

STYLES = {"kept": "green", "shortened": "yellow", "folded": "cyan", "dropped": "red"}
"""The colour of each state of an entry."""

Piece = str | tuple[str, str]
"""A text, or a text with its style."""


class Terminal(Console):
    """A console of rich that raises BrokenPipeError, which is then handled with all other errors.

    Rich would end the process.
    """

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


def print_wrapped(console: Console, *pieces: Piece, indent: int = 0) -> None:
    """Print pieces, wrapped to several lines if needed. All lines have the same indent."""
    console.print(Padding(Text.assemble(*pieces), (0, 0, 0, indent), expand=False))


def print_json(value: Any, *, aside: bool = False) -> None:
    """Print a value as JSON on one line of stdout, or with `aside` of stderr."""
    (sys.stderr if aside else sys.stdout).write(plain(value).decode("utf-8") + "\n")
