"""What a shell command was about, in a few words: the commit it made, what it installed, else the command itself
without what only says where and how it is run."""

from __future__ import annotations

import re
from collections.abc import Iterable

from transom.strategies.digest.command_output import SCANNED
from transom.strategies.digest.shell_words import SimpleCommand

_CD = re.compile(r"^\s*cd [^&;|\n]{1,200}(?:&&|;)\s*")
_BEFORE = re.compile(
    r"\s*(?:cd [^&;|\n]{1,200}(?:&&|;|\n)"
    r"|(?:export )?[A-Za-z_]\w*=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|\"'$()]*)\s*(?:&&|;|\s)"
    r"|g?timeout (?:-\S+ )*\d+\w?\s|set -[a-z]+\s*(?:;|&&|\n)|#[^\n]*\n)\s*"
)
_BEHIND = re.compile(
    r"(?:\s*2>&1|\s*\|\s*(?:tail|head)(?: -n)?(?: ?-?\d+)?|\s*;\s*echo [^;|&\n]{0,60}\$[^;|&\n]{0,40})+\s*\Z"
)
_MESSAGE = re.compile(
    r"""\bgit (?:-C \S+ )?commit\b[^\n;|]{0,200}?\s(?:-[a-z]*m|--message)[ =]"""
    r"""(?:"\$\(cat <<-?\s*['"]?\w+['"]?\n\s*(?P<here>[^\n]+)|"(?P<double>(?:[^"\\\n]|\\.)+)|'(?P<single>[^'\n]+))"""
)
_TITLE = re.compile(
    r"""\bgh (?:pr|issue|release) create\b.{0,400}?\s(?:-t|--title)[ =](?:"([^"\n]+)|'([^'\n]+))""", re.DOTALL
)
_INSTALLS = re.compile(
    r"(?:uv (?:add|pip install)|pip3? install|python3? -m pip install|npm (?:install|i|add)|pnpm add|yarn add|bun add"
    r"|cargo add|go get|poetry add|brew install|apt(?:-get)? install)\s"
)


def without_folder(command: str) -> str:
    """A command without the folder it is run in."""
    return _CD.sub("", command)


def bare_command(command: str) -> str:
    """A command without the folder and the variables it is run with, a time limit, and a cut of its output."""
    while match := _BEFORE.match(command):
        if match.end() >= len(command):
            break
        command = command[match.end() :]
    return _BEHIND.sub("", command) if len(command) <= SCANNED else command


def deed_of(command: str, commands: Iterable[SimpleCommand]) -> str:
    """What a command did that lasts: a commit with its message, a pull request with its title, what it installed; ""
    for any other."""
    text = command[:SCANNED]
    if "git" in text and (found := _MESSAGE.search(text)):
        words = found["here"] or found["double"] or found["single"]
        pushed = ", push" if re.search(r"\bgit push\b", text) else ""
        return f'git commit "{words.strip()}"{pushed}'
    if "gh " in text and (found := _TITLE.search(text)):
        return f'{" ".join(found[0].split()[:3])} "{(found[1] or found[2]).strip()}"'
    lines = (" ".join(one.words) + " " for one in commands)
    return next((line.strip() for line in lines if _INSTALLS.match(line)), "")
