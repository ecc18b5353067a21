"""Lists and reads the source files of a folder.

What git would ignore is left out, and nothing outside the folder is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from transom.repo_map.languages import BY_ENDING, Language

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_FILES = 20_000
MAX_BYTES = 400_000
"""The most bytes of a file in the map: a larger one is generated or data."""

MAX_DEPTH = 40

_SKIPPED = frozenset(("node_modules", "__pycache__", "site-packages"))
"""Names of folders with other people's code or with generated files, which are left out even where no .gitignore names
them.
"""


class SourceFile(NamedTuple):
    """A source file. `path`: within the folder, with slashes; `size`: bytes; `modified`: in nanoseconds."""

    path: str
    size: int
    modified: int
    language: Language


class _Ignored(NamedTuple):
    """The patterns of one .gitignore. `prefix`: the path of its folder."""

    prefix: str
    patterns: GitIgnoreSpec

    def says(self, path: str) -> bool | None:
        """True if the patterns ignore a path, False if they include it again; None if none matches it. `path`: relative
        to the root of the repository, with slashes; the path of a folder ends with one."""
        return self.patterns.check_file(path.removeprefix(self.prefix)).include


def source_files(folder: Path) -> list[SourceFile]:
    """List the files of the folder in a language that has symbols, sorted by path; at most MAX_FILES (20,000), the
    first ones that are found. Nothing is raised: a folder that cannot be read has no files.

    Left out: files that a .gitignore of the folder, of one below, or of the repository around it ignores (or its
    `info/exclude`); hidden folders, virtual environments, `node_modules` and the like, folders more than MAX_DEPTH (40)
    deep, links, and files over MAX_BYTES (400,000).
    """
    found: list[SourceFile] = []
    around, prefix = _around(folder)
    for file in _walk(folder, "", prefix, around, 0):
        found.append(file)
        if len(found) == MAX_FILES:
            break
    return sorted(found)


def read_source(folder: Path, path: str) -> bytes | None:
    """Read a file, `path` within the folder. None if it cannot be read any more, is binary, or is larger than MAX_BYTES
    (400,000) by now."""
    try:
        with (folder / path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError:
        return None
    return None if len(data) > MAX_BYTES or b"\0" in data[:8_192] else data


def _walk(root: Path, folder: str, prefix: str, rules: tuple[_Ignored, ...], depth: int) -> Iterator[SourceFile]:
    """Yield the files in `folder` and below. `folder`: a path within `root` that ends with a slash, or empty."""
    try:
        with os.scandir(root / folder) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
    except OSError:
        return
    names = {entry.name for entry in entries}
    if "pyvenv.cfg" in names:
        return
    if ".gitignore" in names and folder:
        rules = (*rules, *_patterns(root / folder / ".gitignore", prefix + folder))
    for entry in entries:
        path = folder + entry.name
        try:
            if entry.is_symlink():
                continue
            if entry.is_dir():
                hidden = entry.name.startswith(".") or entry.name in _SKIPPED
                if not hidden and depth < MAX_DEPTH and not _is_ignored(f"{prefix}{path}/", rules):
                    yield from _walk(root, f"{path}/", prefix, rules, depth + 1)
                continue
            language = BY_ENDING.get(os.path.splitext(entry.name)[1].lower())  # noqa: PTH122 - ten times as fast
            if language is None or _is_ignored(prefix + path, rules):
                continue
            state = entry.stat()
        except OSError:
            continue
        if state.st_size <= MAX_BYTES and entry.is_file():
            yield SourceFile(path, state.st_size, state.st_mtime_ns, language)


def _is_ignored(path: str, rules: tuple[_Ignored, ...]) -> bool:
    """True if a path is ignored. The innermost .gitignore with a pattern that matches it decides."""
    return next((said for each in reversed(rules) if (said := each.says(path)) is not None), False)


def _around(folder: Path) -> tuple[tuple[_Ignored, ...], str]:
    """The rules of the repository that the folder is in, the outermost first, and the folder's path within it."""
    above = [folder, *folder.parents]
    top = next((at for at, each in enumerate(above) if (each / ".git").exists()), 0)
    rules = list(_patterns(above[top] / ".git" / "info" / "exclude", ""))
    for each in reversed(above[: top + 1]):
        rules += _patterns(each / ".gitignore", _inside(each, above[top]))
    return tuple(rules), _inside(folder, above[top])


def _inside(folder: Path, root: Path) -> str:
    path = folder.relative_to(root).as_posix()
    return "" if path == "." else f"{path}/"


def _patterns(file: Path, prefix: str) -> tuple[_Ignored, ...]:
    """Read the patterns of a .gitignore; none if there is no such file."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - an extra

    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    kept = list[str]()
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue  # git ignores a line that is no pattern
        kept.append(line)
    return (_Ignored(prefix, GitIgnoreSpec.from_lines(kept)),) if kept else ()
