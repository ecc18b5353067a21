"""Asks the user before something that cannot be taken back: removing for good, or paying for requests."""

from __future__ import annotations

import sys

from transom.cli.streams import forget_typed_input, one_line
from transom.errors import InvalidSetting


def is_confirmed(question: str, *, yes: bool, why: str) -> bool:
    """Ask a question, and return whether the user answers yes. It is printed on stderr, as stdout is for results.

    `yes`: do not ask, and return True, because the command line has --yes. Raises InvalidSetting if stdin is no
    terminal; the message begins with `why`.
    """
    if yes:
        return True
    if sys.stdin is None or not sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        raise InvalidSetting(f"{why}: there is no terminal to ask at, so add --yes")
    sys.stderr.write(f"{one_line(question)} [y/N] ")
    sys.stderr.flush()
    forget_typed_input()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
