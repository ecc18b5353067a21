"""Stdout and stderr, which may be closed, broken, full, or unable to encode what a log contains; and text for them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO


def prepare_streams() -> None:
    """Make stdout and stderr writable. A closed one is replaced by the null device.

    The null device takes the file number of the closed stream. Otherwise the next file to be opened, such as a store,
    would get that number, and then everything that is printed.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - None if it was closed
        sys.stdout = _null_stream()
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - as above
        sys.stderr = _null_stream()
    for stream in (sys.stdout, sys.stderr):  # the output of a tool may have characters that the terminal cannot encode
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="replace")


def one_line(text: str) -> str:
    """A text from outside as one line that cannot move the cursor, ring the bell or change colours."""
    return "".join(c if c.isprintable() else " " for c in text).strip()


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: "1 entry", "2 entries"."""
    return f"1 {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def print_notice(line: str) -> None:
    """Print one line on stderr: an error, or what a user should know. It may contain ids and names from outside."""
    try:
        sys.stderr.write(f"transom: {' '.join(one_line(line).split())}\n")
        sys.stderr.flush()
    except OSError:
        discard_output(sys.stderr)


def discard_output(stream: TextIO) -> None:
    """Drop what could not be written, so that Python does not try it again when the process ends."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _null_stream() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")
