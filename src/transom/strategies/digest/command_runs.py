"""Which runs of commands are about the same: whether a later success answers an earlier failure.

`pytest tests/a.py` that failed is answered by `uv run pytest tests/a.py -q` and by `pytest`, which cover it, not by
`pytest tests/b.py`, `pytest -k one_test` or `pytest --collect-only`. What is no test run, check or build is answered by
the same command only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from zlib import crc32

from msgspec import Struct

from transom.strategies.digest.shell_words import SimpleCommand

_BESIDE = re.compile(
    r"(?:cd|echo|printf|tail|head|grep|egrep|rg|sed|awk|cat|ls|less|wc|sort|uniq|cut|tr|tee|column|jq|xargs|export|source"
    r"|sleep|set|pwd|true|kill|pkill|mkdir|touch|fi|done|esac|return|exit|test|\[\[?|\.|:|-.*)\Z"
)
"""Programs that stand beside the one that a command is about."""

_RUNNERS = (
    ("uv", "run"),
    ("poetry", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("npx",),
    ("bunx",),
    ("uvx",),
    ("python", "-m"),
    ("python3", "-m"),
)
_WITH_VERB = re.compile(
    r"(?:go|npm|pnpm|yarn|bun|cargo|git|make|mise|just|gh|docker|uv|pip|ruff|golangci-lint|gradle|mvn|dotnet|swift)\Z"
)
_CHECK = re.compile(
    r"(?:pytest|py\.test|unittest|jest|vitest|mocha|rspec|tsc|tsgo|pyright|basedpyright|mypy|eslint|tox|nox"
    r"|(?:npm|pnpm|yarn|bun) test|ruff (?:check|format)|golangci-lint run|go (?:test|vet|build)"
    r"|cargo (?:test|nextest|check|clippy|build)"
    r"|(?:gradle|mvn|dotnet|swift) (?:test|build))\Z"
)
"""Programs that test, check or build what they are called with: one file or folder more is one more that is checked."""

_QUIET = re.compile(
    r"-(?:[vqsxl]+|r[fEsxXpPaAwN]+|count=\d+|timeout=\S+|parallel=\S+)\Z"
    r"|--(?:verbose|quiet|silent|exitfirst|showlocals|pretty|fix|write|no-header|no-summary|no-color|failed-first|ff"
    r"|(?:tb|color|maxfail|durations|timeout|verbosity|reporter|output-format|message-format|cov|cov-report|capture)=\S*)\Z"
)
_QUIET_WITH_VALUE = re.compile(
    r"-(?:count|timeout|parallel)\Z"
    r"|--(?:tb|color|maxfail|durations|timeout|reporter|output-format|message-format|capture|numprocesses)\Z"
)
"""Options of checks that say how a run is shown, or when it stops. A word behind the second ones is their value."""

_PYTEST, _OF_PYTEST = frozenset(("pytest", "py.test")), re.compile(r"-[np]\Z")
_NARROWS = re.compile(
    r"-(?:k|m|t|g|run|skip)\b|--(?:ignore|ignore-glob|exclude|deselect|skip|grep|filter|select|only|testNamePattern"
    r"|testPathPattern|lf|last-failed|changed|collect-only|co|list|list-tests|dry-run|help|version)\b|-(?:short|list)\Z"
)
"""Options with which a check covers less, or nothing: the failed run may have had one that a later one lacks."""
_FLAG = re.compile(r"--(?:lf|last-failed|changed|collect-only|co|list|list-tests|dry-run|help|version)\Z|-short\Z")

_EVERYTHING = frozenset(("./", "./...", "...", "all"))
_SHOWS_ALL = frozenset(("tail", "tee", "cat", "less", "more", "sort"))
"""Programs behind a pipe that show how a run ended."""

_MOST_WORDS, LONGEST = 40, 200
"""Words of a command that are looked at, and characters up to which its text is kept: of more, a checksum."""


class CommandRun(Struct, frozen=True, gc=False):
    """What a command ran: a `program` with its verb, on some `targets`, with these `options`, in a `folder`.

    A check without targets is about everything. Of any other program the one target is the text of its arguments.
    `hidden`: what its output went through that may hide how it ended, such as a `grep`.
    """

    program: str
    targets: frozenset[str]
    options: frozenset[str]
    folder: str = ""
    hidden: str = ""

    def answers(self, earlier: CommandRun, *, by_name: bool = False, seen: bool = False) -> bool:
        """Whether this run covered what the earlier one did. `by_name`: only if it names the same targets. `seen`: how
        it ended is known, whatever its output went through."""
        if self.program != earlier.program or not _may_be_same(self.folder, earlier.folder):
            return False
        if self.hidden and not seen and self.hidden != earlier.hidden:
            return False
        if self.options - earlier.options or not all(map(_NARROWS.match, earlier.options - self.options)):
            return False
        if self.targets >= earlier.targets and (earlier.targets or not self.targets):
            return True
        if by_name or not earlier.targets or not _CHECK.match(self.program):
            return False
        return all(any(_covers(one, other) for one in self.targets) for other in earlier.targets) or not self.targets


def command_runs(commands: Iterable[SimpleCommand], folder: str = "") -> Iterator[CommandRun]:
    """The runs of programs in a command that begins in this folder ("": not known), without those that only stand
    beside them and those whose end it does not wait for."""
    found = list(commands)
    for at, command in enumerate(found):
        words = _without_runner(command.words[:_MOST_WORDS])
        if words[:1] == ["cd"]:
            folder = _inside(folder, next((word for word in words[1:] if not word.startswith("-")), ""))
        if not words or _BESIDE.match(words[0]):
            continue
        behind = _behind(found, at)
        if (behind[-1] if behind else command).end == "&":
            continue
        has_verb = len(words) > 1 and _WITH_VERB.match(words[0])
        program = " ".join((words[0].rpartition("/")[2], *(words[1:2] if has_verb else ())))
        rest = words[2 if has_verb else 1 :]
        if _CHECK.match(program):
            targets, options = _targets(program, rest)
        else:
            targets, options = {_short(" ".join((*rest, *command.words[_MOST_WORDS:], command.body)))}, set[str]()
        hidden = _short(_hidden(command, behind, found[at + 1 :]))
        yield CommandRun(program, frozenset(targets), frozenset(options), folder, hidden)


def _without_runner(words: list[str]) -> list[str]:
    """The words of a command without a program that only runs another one: `uv run --quiet pytest`."""
    for runner in _RUNNERS:
        if words and (words[0].rpartition("/")[2], *words[1 : len(runner)]) == runner:
            words = words[len(runner) :]
            while words and words[0].startswith("-") and runner[-1] != "-m":
                words = words[1:]
    return words


def _targets(program: str, words: Sequence[str]) -> tuple[set[str], set[str]]:
    """What a check is about, and the options that change what it does."""
    targets: set[str] = set()
    options: set[str] = set()
    at = 0
    is_everything = not program.startswith("go ")  # without a package, `go test` is about its folder
    while at < len(words):
        word = words[at]
        at += 1
        value = words[at] if at < len(words) and not words[at].startswith("-") else ""
        if _QUIET.match(word) or word == "--":
            continue
        if _QUIET_WITH_VALUE.match(word) or (
            program.endswith("test") and _OF_PYTEST.match(word) and program[:2] == "py"
        ):
            at += bool(value) and not word[-1:].isdigit() and not word.endswith("auto")
        elif word.startswith("-"):
            takes_value = value and "=" not in word and not _FLAG.match(word)
            if takes_value and (_NARROWS.match(word) or not _is_path(value)):
                word, at = f"{word} {value}", at + 1
            options.add(_short(word))
        elif word in _EVERYTHING or (word == "." and is_everything):
            is_everything = True
        elif "=" in word and "[" not in word:
            options.add(_short(word))
        else:
            targets.add(word.removeprefix("./").rstrip("/"))
    return targets or (set[str]() if is_everything else {"."}), options


def _is_path(word: str) -> bool:
    return "/" in word or "." in word or "::" in word


def _covers(target: str, other: str) -> bool:
    """Whether one file, folder or package has the other in it, or is the same."""
    folder = target.removesuffix("/...")
    if other == folder or (folder != target and other.startswith(f"{folder}/")):
        return True
    if "." in target.rpartition("/")[2] and (target.endswith(f"/{other}") or other.endswith(f"/{target}")):
        return True
    return other.startswith((f"{target}/", f"{target}::"))


def _behind(commands: Sequence[SimpleCommand], at: int) -> list[SimpleCommand]:
    """The commands that get the output of one through pipes."""
    behind: list[SimpleCommand] = []
    while commands[at].end == "|" and at + 1 < len(commands):
        at += 1
        behind.append(commands[at])
    return behind


def _hidden(command: SimpleCommand, behind: Sequence[SimpleCommand], later: Sequence[SimpleCommand]) -> str:
    """What the output of a command goes through that may hide how it ended: a filter, or a file that nothing shows."""
    filters = [" ".join(one.words) for one in behind if one.words[:1] and one.words[0] not in _SHOWS_ALL]
    shown = {word for one in later if one.words[:1] and one.words[0] in _SHOWS_ALL for word in one.words}
    files = [f"> {file}" for one in (command, *behind) for file in one.into if file not in shown]
    return " | ".join((*filters, *files))


def _inside(folder: str, path: str) -> str:
    """The folder of a path that begins in a folder."""
    return path if not folder or path.startswith(("/", "~", "$")) else f"{folder}/{path}".replace("/./", "/")


def _may_be_same(folder: str, other: str) -> bool:
    """Whether two folders may be the same. One that is not known may be any that is named whole: commands begin there
    again and again. It is no folder inside of it."""
    return folder == other or (not (folder and other) and (folder or other).startswith(("/", "~")))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} {crc32(text.encode('utf-8', 'replace')):x}"
