"""Which files a shell command names, which it changes and which it puts back, as far as its words tell.

Only the words are read: a variable, a pattern such as `*.py` and what a script does when it runs stay unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from transom.strategies.digest.command_output import SCANNED
from transom.strategies.digest.shell_words import SimpleCommand

_PATH = re.compile(r"(?<![\w./~-])[~./]{0,3}[\w@-][\w.@/-]{0,200}(?:/[\w.@-]{1,100}|\.[A-Za-z]\w{0,7})(?![\w/])")
_IS_FILE = re.compile(r"(?:\.{0,2}/|~/)?\.?[\w@+][^\s*?{}$`'\"\\;|&<>=]{0,300}\Z")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
MOST_EXPANDED = 64
"""Words that a word with braces may become: `{a,b}{c,d}` is four."""

_VIEWERS = frozenset(
    ("cat", "head", "tail", "nl", "bat", "less", "more", "grep", "egrep", "fgrep", "rg", "awk", "jq", "diff", "ag")
)
_GIT_SHOWS = frozenset(("diff", "show", "grep", "blame"))
_DELETERS = frozenset(("rm", "rmdir", "unlink"))
_SCRIPTS = frozenset(("python", "python3", "node", "deno", "bun"))
_WRITES_IN_SCRIPT = re.compile(
    r"""(?:\bopen\(\s*(?P<a>['"])(?P<opened>[^'"\n]{1,200})(?P=a)\s*,\s*(?:mode\s*=\s*)?['"][wax]"""
    r"""|\bPath\(\s*(?P<b>['"])(?P<path>[^'"\n]{1,200})(?P=b)\s*\)\.write_"""
    r"""|\bwriteFile(?:Sync)?\(\s*(?P<c>['"`])(?P<node>[^'"`\n]{1,200})(?P=c))"""
)
_WRITES_LATER = re.compile(
    r"""\.write_(?:text|bytes)\(|\bopen\(\s*\w+\s*,\s*(?:mode\s*=\s*)?['"][wax]|writeFile(?:Sync)?\(\s*\w"""
)
_ASSIGNED = re.compile(
    r"""(?:^|;)\s*(?:(?:const|let|var)\s+)?\w{1,60}\s*=\s*(?:(?:pathlib\.)?Path\(\s*)?(['"])([^'"\n]{1,200}\.\w{1,10})\1""",
    re.MULTILINE,
)
_DIFF = re.compile(r"^\+\+\+ (?:b/)?(\S{1,300})", re.MULTILINE)


class ShellFiles(Struct, frozen=True):
    """The files of a command line. `names`: its words that look like paths (with a slash or an extension), and all that
    it changes. `changes`: those that it writes, moves or deletes; of them, `restored` are put back, and `deleted` are
    deleted and not written again (a file that was moved away is only changed). `first`: those that it changes before
    its last command, since a failure of the last one does not undo them."""

    names: frozenset[str]
    changes: frozenset[str]
    restored: frozenset[str]
    first: frozenset[str]
    deleted: frozenset[str]


def shell_files(command: str, commands: Sequence[SimpleCommand]) -> ShellFiles:
    """What the words of a command say of files. `commands`: its simple commands."""
    names = set(_PATH.findall(command[:SCANNED]))
    changes: set[str] = set()
    restored: set[str] = set()
    first: set[str] = set()
    deleted: set[str] = set()
    for words, targets, body, _ in commands:
        if not words and not targets:
            continue
        first |= changes
        back, changed = _restored(words), _changed(words)
        written = {*filter(_is_file, targets), *changed, *back, *_written_by_script(words, body)}
        changes |= written
        restored.update(back)
        deleted = deleted.union(changed) if _deletes(words) else deleted - written
    return ShellFiles(*map(frozenset, (names | changes, changes, restored, first, deleted)))


def shown_files(commands: Iterable[SimpleCommand], names: frozenset[str]) -> frozenset[str]:
    """The files whose text these commands print: those that `cat`, `sed -n`, `grep`, `git diff` and the like name; all
    of the `names` of the whole command if a variable stands for them."""
    shown: set[str] = set()
    for words, *_ in commands:
        if not words or not _shows_text(words):
            continue
        if any("$" in word for word in words):
            return names
        shown.update(_PATH.findall(" ".join(words[1:])))
    return frozenset(shown)


def _shows_text(words: Sequence[str]) -> bool:
    program = words[0].rpartition("/")[2]
    if program == "git":
        return any(word in _GIT_SHOWS for word in words[1:4])
    options, _ = _options_and_files(words[1:])
    return program in _VIEWERS or (program in {"sed", "gsed"} and not _in_place(options))


def _expanded(words: Sequence[str]) -> list[str]:
    """The words as the shell expands their braces: `mv a/{b,c} d` names `a/b` and `a/c`."""
    found: list[str] = []
    waiting = list(reversed(words))
    most = len(words) + MOST_EXPANDED
    while waiting:
        word = waiting.pop()
        braces = _BRACES.search(word) if len(found) + len(waiting) < most else None
        if braces is None:
            found.append(word)
        else:
            before, behind = word[: braces.start()], word[braces.end() :]
            waiting.extend(f"{before}{one}{behind}" for one in reversed(braces[1].split(",")))
    return found


def _is_file(word: str) -> bool:
    return bool(_IS_FILE.match(word)) and not word.startswith("/dev/")


def _options_and_files(words: Sequence[str]) -> tuple[list[str], list[str]]:
    options = [word for word in words if word.startswith("-") and word != "-"]
    return options, [word for word in words if not word.startswith("-") and word]


def _changed(words: Sequence[str]) -> list[str]:
    """The files that a simple command changes."""
    if not words:
        return []
    program = words[0].rpartition("/")[2]
    options, rest = _options_and_files(words[1:])
    if program == "git" and rest[:1] in (["mv"], ["rm"]):
        return [] if "--cached" in options else list(filter(_is_file, _expanded(rest[1:])))
    reader = _PROGRAMS.get(program)
    return list(filter(_is_file, _expanded(reader(options, rest)))) if reader else []


def _deletes(words: Sequence[str]) -> bool:
    """Whether a simple command deletes the files that it changes."""
    return bool(words) and (words[0].rpartition("/")[2] in _DELETERS or words[:2] == ["git", "rm"])


def _edited_in_place(options: list[str], rest: list[str]) -> list[str]:
    """The files of `sed -i` and `perl -pi`, without the script."""
    has_script = any(one in {"-f", "--file"} or one.startswith(("--expression", "--file=")) for one in options)
    scripts = sum(1 for one in options if re.match(r"-(?!-)\w*e\Z", one))
    return rest[(scripts or 1) if not has_script else 0 :] if _in_place(options) else []


def _in_place(options: Sequence[str]) -> bool:
    return any(re.match(r"-(?!-)\w*i|--in-place", one) for one in options)


_PROGRAMS: dict[str, Callable[[list[str], list[str]], list[str]]] = {
    "sed": _edited_in_place,
    "gsed": _edited_in_place,
    "perl": _edited_in_place,
    "mv": lambda _, rest: rest,
    "rm": lambda _, rest: rest,
    "rmdir": lambda _, rest: rest,
    "unlink": lambda _, rest: rest,
    "touch": lambda _, rest: rest,
    "mkdir": lambda _, rest: rest,
    "tee": lambda _, rest: rest,
    "cp": lambda _, rest: rest[-1:],
    "ln": lambda _, rest: rest[-1:],
    "install": lambda _, rest: rest[-1:],
    "gofmt": lambda options, rest: rest if "-w" in options else [],
    "goimports": lambda options, rest: rest if "-w" in options else [],
    "prettier": lambda options, rest: rest if "--write" in options else [],
}
"""Programs that change files, and which of their words name these."""


def _restored(words: Sequence[str]) -> list[str]:
    """The files that `git checkout -- f` and `git restore f` put back. `git restore --staged` changes no file."""
    if words[:2] == ["git", "checkout"] and "--" in words:
        return list(filter(_is_file, words[words.index("--") + 1 :]))
    if words[:2] == ["git", "restore"]:
        options, rest = _options_and_files(words[2:])
        is_staged = not {"--staged", "-S"}.isdisjoint(options) and {"--worktree", "-W", "-SW"}.isdisjoint(options)
        return [] if is_staged else list(filter(_is_file, rest))
    return []


def _written_by_script(words: Sequence[str], body: str) -> Iterator[str]:
    """The files that the input of a command says it writes: a script, or a diff."""
    program = words[0].rpartition("/")[2] if words else ""
    if program == "patch" or words[:2] == ["git", "apply"]:
        yield from filter(_is_file, _DIFF.findall(body))
    elif _SCRIPTS.intersection((program, *words[:3])):
        given = [word for before, word in pairwise(words) if before in {"-c", "-e"}]
        yield from files_of_script("\n".join([body, *given]))


def files_of_script(script: str) -> Iterator[str]:
    """The files that a script in Python or JavaScript writes."""
    for found in _WRITES_IN_SCRIPT.finditer(script):
        yield from filter(_is_file, filter(None, (found["opened"], found["path"], found["node"])))
    if _WRITES_LATER.search(script):
        yield from (path for _, path in _ASSIGNED.findall(script) if _is_file(path))
