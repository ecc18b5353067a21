"""The terminal: one console, one way to put a foreign text on one line of it."""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from transom.core.codec import plain

STYLES = {
    "kept": "green",
    "shortened": "yellow",
    "folded": "cyan",
    "dropped": "red",
    "": "dim",
}
"""One colour for each state a fact can be in."""


class Terminal(Console):
    """Leaves a broken pipe to whoever tells errors; rich would end the process silently."""

    def on_broken_pipe(self) -> None:
        """Nothing is swallowed."""
        raise BrokenPipeError


def terminal() -> Terminal:
    """Stdout as it is now; a file or a pipe is 150 columns wide.

    Nothing is highlighted, and no text of a log is taken for markup or an emoji.
    """
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 150
    return Terminal(highlight=False, markup=False, emoji=False, width=wide)


def one_line(text: str) -> str:
    """A foreign text that cannot move the cursor, ring or recolour anything."""
    return "".join(c if c.isprintable() else " " for c in text).strip()


def put(console: Console, *pieces: tuple[str, str]) -> None:
    """Pieces with their styles on one line; what does not fit is cut off, not wrapped."""
    line = Text()
    for piece, style in pieces:
        line.append(piece, style=style)
    console.print(line, no_wrap=True, overflow="ellipsis", crop=True)


def put_json(value: Any) -> None:
    """One object, on one line."""
    sys.stdout.write(plain(value).decode("utf-8") + "\n")
