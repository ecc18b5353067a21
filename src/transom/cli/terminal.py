"""The terminal: one console, and what is put on it."""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from transom.core.codec import plain

STYLES = {"kept": "green", "shortened": "yellow", "folded": "cyan", "dropped": "red"}
"""One colour for each state a fact can be in."""


class Terminal(Console):
    """Leaves a broken pipe to whoever tells errors; rich would end the process silently."""

    def on_broken_pipe(self) -> None:
        """Nothing is swallowed."""
        raise BrokenPipeError


def terminal(*, aside: bool = False) -> Terminal:
    """Stdout as it is now, or `aside` stderr; a file or a pipe is 150 columns wide.

    Nothing is highlighted, and no text of a log is taken for markup or an emoji.
    """
    stream = sys.stderr if aside else sys.stdout
    wide = None if stream.isatty() or "COLUMNS" in os.environ else 150
    return Terminal(stderr=aside, highlight=False, markup=False, emoji=False, width=wide)


def put(console: Console, *pieces: tuple[str, str]) -> None:
    """Pieces with their styles on one line; what does not fit is cut off, not wrapped."""
    console.print(Text.assemble(*pieces), no_wrap=True, overflow="ellipsis", crop=True)


def put_whole(console: Console, *pieces: tuple[str, str], indent: int = 0) -> None:
    """Pieces with their styles; what does not fit goes on in the next line, indented alike."""
    console.print(Padding(Text.assemble(*pieces), (0, 0, 0, indent), expand=False))


def put_json(value: Any, *, aside: bool = False) -> None:
    """One object, on one line of stdout, or `aside` of stderr."""
    (sys.stderr if aside else sys.stdout).write(plain(value).decode("utf-8") + "\n")
