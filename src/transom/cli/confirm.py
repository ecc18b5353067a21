"""Asks before something is removed for good."""

from __future__ import annotations

import sys

from transom.errors import InvalidSetting


def confirmed(question: str, *, yes: bool, why: str) -> bool:
    """Whether the answer is yes; `yes`: it was given with the command. Asked on stderr, since stdout is for results.

    Raises InvalidSetting where nobody can be asked: it begins with `why`.
    """
    if yes:
        return True
    if sys.stdin is None or not sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        raise InvalidSetting(f"{why}: there is no terminal to ask at, so say --yes")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
