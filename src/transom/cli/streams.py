"""Stdout and stderr as they may be: closed, broken, full, or unable to show what a log holds."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO


def open_streams() -> None:
    """Make both fit to be written to. One that was closed takes everything and forgets it.

    Its number is taken by that; else the next file to be opened would get it, and what is printed.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - None if it was closed
        sys.stdout = _nowhere()
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - as above
        sys.stderr = _nowhere()
    for stream in (sys.stdout, sys.stderr):  # a tool's output may hold what this terminal cannot show
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="replace")


def one_line(text: str) -> str:
    """A foreign text that cannot move the cursor, ring or recolour anything."""
    return "".join(c if c.isprintable() else " " for c in text).strip()


def say(line: str, code: int) -> int:
    """One line on stderr, if anybody listens; the exit code. It may hold an id, a file's name or what stands in it."""
    try:
        sys.stderr.write(f"transom: {' '.join(one_line(line).split())}\n")
        sys.stderr.flush()
    except OSError:
        drop(sys.stderr)
    return code


def drop(stream: TextIO) -> None:
    """What could not be written must not be tried again when the process ends."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")
