"""The commands of a shell: what each runs, on what, and which files it shows and changes, as far as its words tell; and
the table that says what a program does.

Only the words are read: a variable, a pattern such as `*.py` and what a script does when it runs stay unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

# ---- the table of programs

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
    """Whether a program, a name or a path, is a shell: bash, sh or zsh."""
    return program.rpartition("/")[2] in {"bash", "sh", "zsh"}


def text_to_run(words: Sequence[str]) -> str | None:
    """The text that a shell gets with its option `-c`, "" if there is none behind the option; None if the shell runs a
    file (`bash check.sh`), or what it reads. `words`: those behind the name of the shell, without quotation marks."""
    before = ""
    for at, word in enumerate(words):
        names_option = before[:1] in {"-", "+"} and before[-1:] in {"o", "O"}  # `-o pipefail`, `-euo pipefail`
        if not word.startswith(("-", "+")) and not names_option:
            return None
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            return " ".join(words[at + 1 : at + 2])
        before = "" if names_option or word.startswith("--") else word
    return None


def program_of(words: Sequence[str]) -> tuple[str, Role]:
    """Return the row of `PROGRAMS` that a command fits, and its role. If none fits, return the program without its
    folders, and "other".

    `words`: at least one, without quotation marks. The first is the program, also as a path: `PREFIXES` and `RUNNERS`,
    such as `sudo` and `uv run`, are not looked past.
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


# ---- the commands of a text

SCANNED_COMMAND = 16_000
"""Characters of a command that are looked at."""

_MOST_WORDS = 40
"""Words of a command that are looked at."""

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w{1,40})\1([^\n]*)\n(.*?)(?:\n[ \t]*\2(?=\s|$|[)\"'])|\Z)", re.DOTALL)
_TOKEN = re.compile(
    r"""(?P<into>(?:(?<![^\s;&|(])(?P<fd>\d)|&)?>>?\|?(?P<copy>&)?)"""
    r"""|(?P<word>(?:\$\([^()\n]*\)|[^\s;&|<>()'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*+")++)|(?P<end>&&|\|\|?|[;&\n()])|\#[^\n]*|.""",
    re.DOTALL,
)
_QUOTED_PART = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*+)\"|\\(.)""", re.DOTALL)
_PATH = re.compile(r"(?<![\w./~-])[~./]{0,3}[\w@-][\w.@/-]{0,200}(?:/[\w.@-]{1,100}|\.[A-Za-z]\w{0,7})(?![\w/])")
_NO_FILE = frozenset(" \t\n*?{}$`'\"\\;|&<>=")


class Command(Struct, frozen=True, gc=False):
    """What a simple command does.

    - `program`: with its verb ("git commit"), without `sudo`, `uv run` and the like. `role`: what it does (see `Role`).
      If the text only writes a file (`> a.txt`), they are "" and "beside".
    - `folder`: where it runs, as the text names it, often relative to where the shell was; "" if that is not known.
    - `words`: a hash of its words and its input, which tells it from other commands of the program. Another process has
      other hashes.
    - `changes`: the files that it changes, as its words name them: `folder` is not put in front.
    - `title`: what it makes, with its title (`git commit "Mend the sums"`); "" if `role` is not "makes".
    - `end`: the operator behind it ("&&", "|", ";", a line end); "" at the end of the text. `start`, `stop`: from which
      to which character it stands in the text, its input included. Those within `bash -c "…"` have its place.
    """

    program: str
    role: Role
    words: int
    folder: str
    end: str
    changes: frozenset[str]
    title: str
    start: int
    stop: int


class _Simple(Struct):
    """One command as it is written: its `words`, what its output goes `into`, and the text that is its input."""

    words: list[str]
    into: list[str]
    body: str = ""
    end: str = ""
    start: int = 0
    stop: int = 0


def commands_in(text: str, folder: str = "") -> tuple[Command, ...]:
    """The simple commands of a text, in order; a pipe separates commands too. In place of `bash -c "…"` there are the
    commands within it. Any text is read as well as it can be; nothing is raised. Only the first `SCANNED_COMMAND`
    (16,000) characters are read.

    `folder`: where the first command runs ("" if that is not known). A `cd` is one of the commands, and changes the
    folder of those behind it.
    """
    commands: list[Command] = []
    for one in _simple(text[:SCANNED_COMMAND]):
        words = one.words[:_MOST_WORDS]
        program, role = program_of(words) if words else ("", "beside")
        if program == "cd":
            path = next((word for word in words[1:] if not word.startswith("-")), "")
            folder = path if not folder or path.startswith(("/", "~", "$")) else f"{folder}/{path}"
        commands.append(
            Command(
                program=program,
                role=role,
                words=hash((*one.words[1:], one.body)),
                folder=folder,
                end=one.end,
                changes=frozenset(filter(is_file, (*one.into, *_changed(role, words)))),
                title=_title(one, program) if role == "makes" else "",
                start=one.start,
                stop=one.stop,
            )
        )
    return tuple(commands)


def paths_in(text: str) -> frozenset[str]:
    """The words of a command that look like paths, with a slash or an extension. Only the first 4,000 characters are
    read."""
    return frozenset(_PATH.findall(text[: SCANNED_COMMAND // 4]))


def is_file(word: str) -> bool:
    """Whether a word of a command, without its quotation marks, may name a file: it is no option, no device, does not
    consist of dots, and has no blanks, wildcards or variables. The disk is not asked."""
    return word.strip(".") != "" and _NO_FILE.isdisjoint(word) and not word.startswith(("-", "/dev/"))


def _simple(text: str) -> Iterator[_Simple]:
    bodies: list[tuple[str, int]] = []

    def without(match: re.Match[str]) -> str:
        bodies.append((match[4], match.end()))
        return f" <<{len(bodies) - 1} {match[3]}".ljust(len(match[0]) - 1) + "\n"  # places stay as they are

    text = _HEREDOC.sub(without, text) if "<<" in text else text
    places: list[int] = []
    one, takes = _Simple([], []), ""
    for token in _TOKEN.finditer(text):
        if token["word"]:
            word = _unquoted(token["word"])
            if takes == ">":
                one.into.append(word)
            elif takes == "<<" and word.isdigit() and int(word) < len(bodies):
                one.body, one.stop = bodies[int(word)]
            elif not takes:
                if word.startswith("$(cat") and bodies:
                    number = word.partition("<<")[2].split(maxsplit=1)[:1]
                    one.body = bodies[int(number[0])][0] if number and number[0].isdigit() else ""
                one.words.append(word)
                places.append(token.start())
            one.stop = max(one.stop, token.end() if takes in {"", ">"} else 0)
            takes = ""
        elif token["into"]:
            takes = ">" if not token["copy"] and token["fd"] in {None, "1"} else "another"
        elif token[0] == "<":
            takes = "<<" if takes in {"<", "<<"} else "<"
        elif token["end"]:
            one.end = token["end"]
            yield from _bare(one, places)
            one, places, takes = _Simple([], []), [], ""
    yield from _bare(one, places)


def _unquoted(word: str) -> str:
    """A word without its quotation marks."""
    if "'" not in word and '"' not in word and "\\" not in word:
        return word
    return _QUOTED_PART.sub(lambda found: next((one for one in found.groups() if one is not None), ""), word)


def _bare(one: _Simple, places: Sequence[int]) -> Iterator[_Simple]:
    """A command without what stands before it: `sudo`, `timeout 60`, variables, `uv run`."""
    words, at, is_prefixed = one.words, 0, False
    while at < len(words):
        word, name = words[at], words[at].partition("=")[0]
        first = [word.rpartition("/")[2] for word in words[at : at + 1]]
        first += words[at + 1 : at + 2]
        runner = next((run for run in RUNNERS if first[: run.count(" ") + 1] == run.split()), "")
        if runner:
            at, is_prefixed = at + len(runner.split()), not runner.endswith("-m")
        elif word in PREFIXES or (name != word and name.isidentifier()):
            at, is_prefixed = at + 1, word in PREFIXES
        elif is_prefixed and (word.startswith(("-", "{}")) or word[:1].isdigit()):
            at += 1
        else:
            break
    text = text_to_run(words[at + 1 :]) if words[at : at + 1] and is_shell(words[at]) else None
    if text is not None:
        for inner in _simple(text):
            inner.start, inner.stop = one.start or places[at], one.stop
            inner.end = inner.end or one.end
            yield inner
    elif words[at:] or one.into:
        one.start, one.words = places[at] if at < len(places) else one.stop, words[at:]
        yield one


def _changed(role: Role, words: Sequence[str]) -> Iterator[str]:
    """What the words of a command say that it changes."""
    rest = [word for word in words[1:] if word and not word.startswith("-")]
    if words[:1] == ["git"]:
        rest = words[words.index("--") + 1 :] if "--" in words else rest[1:]
    if role in {"writes", "deletes"} or words[:1] == ["tee"]:
        yield from rest
    elif role == "copies":
        yield from rest[-1:]
    elif role == "edits":
        yield from rest[max(1, sum(word.startswith("-") and word.endswith("e") for word in words[1:])) :]


def _title(one: _Simple, program: str) -> str:
    """What a command made: `git commit "Mend the sums"`; "" if its words name no title."""
    options = [at for at, word in enumerate(one.words) if word.startswith("-")]
    name = " ".join(one.words[: options[0]]) if options else ""
    if program.rsplit(maxsplit=1)[-1] not in name.split():
        name = program  # an option stands before the verb: `git -C folder commit`
    for at in options:
        word, _, value = one.words[at].partition("=")
        if word in {"--message", "--title", "-t"} or (not word.startswith("--") and word.endswith("m")):
            value = value or "".join(one.words[at + 1 : at + 2])
            lines = (one.body if value.startswith("$(") else value).strip().splitlines()
            return f'{name} "{lines[0].strip()}"' if lines else ""
    return ""
