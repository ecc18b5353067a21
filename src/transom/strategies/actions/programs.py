"""The table of programs: what a command of a shell does, by its program, its verb and its options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Role = Literal["shows", "finds", "beside", "writes", "edits", "copies", "deletes", "makes", "other"]
"""What a command does:

- "shows": prints files, or what another command prints of them; an error in its output is not its own.
- "finds": as "shows"; it ends with exit code 1 where it finds nothing, or finds a difference.
- "beside": stands beside the command that a line is about.
- "writes", "deletes": does that to the files that its words name; "edits": its first word is a script;
  "copies": only its last word is written.
- "makes": makes something that has a title: a commit, a pull request.
"""

_TABLE: dict[Role, str] = {
    "shows": (
        "cat, head, tail, nl, awk, jq, ls, sed, wc, sort, uniq, cut, tr, tee, xxd, od, git show, git log, git blame, "
        "gh view, gh list, gh diff, gh api"
    ),
    "finds": "grep, rg, diff, find, which, test, [, [[, git diff, git grep",
    "beside": (
        "cd, echo, printf, pwd, true, sleep, export, source, set, kill, pkill, ., :, fi, done, esac, return, exit, "
        "git restore --staged"
    ),
    "writes": ("mv, touch, mkdir, gofmt -w, goimports -w, prettier --write, git mv, git checkout --, git restore"),
    "edits": "sed -i, perl -pi, perl -0pi, perl -i",
    "copies": "cp, ln",
    "deletes": "rm, rmdir, git rm",
    "makes": "git commit, gh create",
    "other": "find -exec, find -delete, git rm --cached",
}
PROGRAMS: dict[str, Role] = {program: role for role, programs in _TABLE.items() for program in programs.split(", ")}
"""What each program does. A row is a program, or a program with a word or an option that its command must have: "git
commit", "sed -i". The word must be one of the first words of the command. The option may stand anywhere, and its
beginning is enough: "sed -i.bak". Of several rows that fit, the one with the most words is used."""

RUNNERS = ("uv run", "poetry run", "pdm run", "hatch run", "npx", "bunx", "uvx", "python -m", "python3 -m")
"""Programs that only run another one."""

PREFIXES = frozenset(
    (
        *("sudo", "env", "command", "time", "nohup", "nice", "then", "do", "else", "if", "while", "!", "{"),
        *("timeout", "gtimeout", "xargs"),
    )
)
"""Words in front of a program, with their options and numbers."""

VERB_WITHIN = 4
"""The verb of a command is one of its first words: `git -C folder diff`."""

_ROWS: dict[str, list[tuple[str, list[str]]]] = {}
for _row in sorted(PROGRAMS, key=lambda row: -len(row.split())):
    _ROWS.setdefault(_row.split()[0], []).append((_row, _row.split()[1:]))


def is_shell(program: str) -> bool:
    """Whether a program is a shell. Its last argument is then a command."""
    return program.rpartition("/")[2] in {"bash", "sh", "zsh"}


def program_of(words: Sequence[str]) -> tuple[str, Role]:
    """Return the row of `PROGRAMS` that a command fits, and its role. If none fits, return the program and "other".

    `words`: those of the command, at least one; the first is the program.
    """
    program = words[0].rpartition("/")[2]
    for row, rest in _ROWS.get(program, ()):
        if all(_has(words, one) for one in rest):
            return row, PROGRAMS[row]
    return program, "other"


def _has(words: Sequence[str], wanted: str) -> bool:
    """Whether a command has this verb, or an option that begins so. `--` alone is the end of options."""
    if wanted == "--" or not wanted.startswith("-"):
        return wanted in words[1 : None if wanted == "--" else VERB_WITHIN]
    return any(word.startswith(wanted) for word in words[1:])
