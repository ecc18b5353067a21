"""Makes stdin, stdout and stderr usable, which may be closed, broken, full, or unable to encode a log's characters; and
makes text ready for them.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from datetime import datetime
from typing import TextIO, cast

from transom.errors import ConversationBusy, InvalidSetting, TransomError


def prepare_streams() -> None:
    """Make stdin, stdout and stderr usable: a closed one is replaced by the null device, under its own file number.

    Otherwise the next file to be opened, such as a store, would get that number, and with it whatever is printed. On
    stdout and stderr, characters that the terminal cannot encode (a tool's output may have any) are written as "?".
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # by number: a file gets the lowest free one
        if getattr(sys, name) is None:
            setattr(sys, name, _null_stream(mode))
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="replace")


def one_line(text: str) -> str:
    """Return a text from outside as one line that cannot move the cursor, ring the bell or change colours: each
    unprintable character (line ends and tabs too) becomes a blank, and the blanks at both ends are cut. The line may be
    of any length."""
    return "".join(c if c.isprintable() else " " for c in text).strip()


def counted(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun: "1 entry", "1,200 entries". `plural`: the noun with an "s" if not given."""
    return f"1 {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def error_text(problem: TransomError) -> str:
    """The message of an error. That of a conversation in use does not name arguments, which only the library has."""
    if isinstance(problem, ConversationBusy):
        return str(ConversationBusy(problem.conversation, problem.holder, "try again later"))
    return str(problem)


def minute_of(at: float) -> str:
    """Write a time, in seconds since the epoch, as date, hour and minute in the local time zone; "" if it is out of
    range, as a clock in milliseconds is."""
    try:
        return f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return ""


def is_confirmed(question: str, *, yes: bool, why: str) -> bool:
    """Ask a question before something that cannot be taken back, and return whether the user answers "y" or "yes". The
    question is printed on stderr, as stdout is for results; " [y/N]" follows it.

    `yes`: do not ask, and return True, because the command line has --yes. If stdin is no terminal, nobody can be
    asked: raises InvalidSetting, with a message that begins with `why`.
    """
    if yes:
        return True
    if sys.stdin is None or not sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        raise InvalidSetting(f"{why}: there is no terminal to ask at, so add --yes")
    sys.stderr.write(f"{one_line(question)} [y/N] ")
    sys.stderr.flush()
    forget_typed_input()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def may_forget(what: str, name: str, *, yes: bool, them: str = "it") -> bool:
    """Ask whether to forget something for good, and return whether the user answers yes. If not, a notice says that
    nothing was removed.

    `what`: describes what is forgotten, for the question; `name`: names it in the error; `them`: the pronoun for it.
    `yes`: do not ask, and return True. Without it, raises InvalidSetting if stdin is no terminal. Nothing is removed
    here.
    """
    if is_confirmed(f"{what}. Forget {them} for good?", yes=yes, why=f"forgetting {name} cannot be undone"):
        return True
    print_notice(f"{what}, nothing was removed")
    return False


def forget_typed_input() -> None:
    """Throw away what was typed before now, if stdin is a terminal: only what is typed after a question was shown can
    answer it."""
    with suppress(ImportError, OSError, ValueError):
        import termios  # noqa: PLC0415 - not on every system

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def print_notice(line: str) -> None:
    """Print one line on stderr, behind "transom: ": an error, or what a user should know.

    Line ends and control characters in it become blanks, and several blanks become one. If stderr cannot be written,
    nothing is raised.
    """
    try:
        sys.stderr.write(f"transom: {' '.join(one_line(line).split())}\n")
        sys.stderr.flush()
    except OSError:
        discard_output(sys.stderr)


def discard_output(stream: TextIO) -> None:
    """Flush a stream; if that fails, redirect it to the null device, so that Python does not try again when the process
    ends.
    """
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _null_stream(mode: str) -> TextIO:
    """Open the null device as a standard stream. Like Python's own, it is not closed before the process ends."""
    number = os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY)
    return cast("TextIO", os.fdopen(number, mode, encoding="utf-8", closefd=False))
