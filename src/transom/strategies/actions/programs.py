"""The table of programs: what a command of a shell does, by its program, its verb and its options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Role = Literal["check", "shows", "finds", "beside", "writes", "edits", "copies", "deletes", "makes", "other"]
"""What a command does:

- "check": tests, checks or builds what its words name; without any, everything.
- "shows": prints files, or what another command prints of them; an error in its output is not its own.
- "finds": as "shows"; it ends with exit code 1 where it finds nothing, or finds a difference.
- "beside": stands beside the command that a line is about.
- "writes", "deletes": does that to the files that its words name; "edits": its first word is a script;
  "copies": only its last word is written.
- "makes": makes something that has a title: a commit, a pull request.
"""

PROGRAMS: dict[str, Role] = {
    **dict.fromkeys(
        (
            *("pytest", "unittest", "jest", "vitest", "mocha", "rspec", "tox", "tsc", "tsgo"),
            *("pyright", "basedpyright", "mypy", "eslint", "ruff check", "ruff format", "golangci-lint run"),
            *("npm test", "pnpm test", "yarn test", "bun test", "go test", "go vet", "go build"),
            *("cargo test", "cargo check", "cargo clippy", "cargo build"),
            *("mvn test", "dotnet test", "dotnet build"),
        ),
        "check",
    ),
    **dict.fromkeys(
        (
            *("cat", "head", "tail", "nl", "awk", "jq", "ls", "sed", "wc", "sort", "uniq", "cut"),
            *("tr", "tee", "xxd", "od", "git show", "git log", "git blame", "gh view"),
            *("gh list", "gh diff", "gh api"),
        ),
        "shows",
    ),
    **dict.fromkeys(("grep", "rg", "diff", "find", "which", "test", "[", "[[", "git diff", "git grep"), "finds"),
    **dict.fromkeys(
        (
            *("cd", "echo", "printf", "pwd", "true", "sleep", "export", "source", "set", "kill", "pkill", ".", ":"),
            *("fi", "done", "esac", "return", "exit", "git restore --staged"),
        ),
        "beside",
    ),
    **dict.fromkeys(
        (
            *("mv", "touch", "mkdir", "gofmt -w", "goimports -w", "prettier --write"),
            *("git mv", "git checkout --", "git restore"),
        ),
        "writes",
    ),
    **dict.fromkeys(("sed -i", "perl -pi", "perl -0pi", "perl -i"), "edits"),
    **dict.fromkeys(("cp", "ln"), "copies"),
    **dict.fromkeys(("rm", "rmdir", "git rm"), "deletes"),
    **dict.fromkeys(("git commit", "gh create"), "makes"),
    **dict.fromkeys(("find -exec", "find -delete", "git rm --cached"), "other"),
}
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

SHOWS_ONLY = frozenset(("--tb", "--no-header", "--color", "--quiet", "--verbose", "-count", "-n", "--numprocesses"))
"""Options of a check that do not narrow it, without their values."""
SHOWS_ONLY_LETTERS = frozenset("qvsx")
"""Likewise, options of one letter, which may stand together: `-xvs`."""

VERB_WITHIN = 4
"""The verb of a command is one of its first words: `git -C folder diff`."""

_ROWS: dict[str, list[tuple[str, list[str]]]] = {}
for _row in sorted(PROGRAMS, key=lambda row: -len(row.split())):
    _ROWS.setdefault(_row.split()[0], []).append((_row, _row.split()[1:]))


def is_shell(program: str) -> bool:
    """Whether a program is a shell. Its last argument is then a command."""
    return program.rpartition("/")[2] in {"bash", "sh", "zsh"}


def narrows(option: str) -> bool:
    """Whether an option of a check, or another word of it, says what the check covers."""
    name = option.partition("=")[0].rstrip("0123456789")
    letters = option.startswith("-") and len(option) > 1 and SHOWS_ONLY_LETTERS.issuperset(option[1:])
    return not (letters or name in SHOWS_ONLY)


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
