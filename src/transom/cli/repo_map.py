"""The command `transom map`: prints the files and symbols of a folder that a reader would need first."""

from __future__ import annotations

import os
from pathlib import Path

from transom.cli.commands.programs import Map
from transom.cli.progress import ProgressBar
from transom.cli.streams import print_notice
from transom.cli.terminal import print_json, print_text
from transom.cli.transom_folder import FOLDER, MAP_CACHE
from transom.repo_map import RepoMap
from transom.repo_map.facts_cache import hash_of
from transom.repo_map.languages import LANGUAGES
from transom.repo_map.map_text import shown_path
from transom.tokenizer import o200k


def run(options: Map) -> int:
    """Print the map. Exit code 1 if it is empty: the folder has no source file, or the budget has no room for one."""
    repo_map = RepoMap(options.folder, cache=_cache(options.folder))
    with ProgressBar() as bar:
        repo_map.refresh(lambda share, path: bar.update(share, shown_path(path)))
    focus = options.focus or []
    text = repo_map.text(options.tokens, focus=focus)
    if options.json:
        lines = set(text.splitlines())
        files = [file for file in repo_map.ranked(focus=focus) if shown_path(file.path) in lines]
        print_json({"folder": str(repo_map.folder), "tokens": o200k().count(text), "text": text, "files": files})
    elif text:
        print_text(text)
    if not text:
        print_notice(_why_empty(options, has_files=bool(repo_map.ranked())))
    return 0 if text else 1


def _why_empty(options: Map, *, has_files: bool) -> str:
    """Say why the map is empty. `has_files`: the folder has source files."""
    if has_files:
        return f"no room for a file in {options.tokens:,} tokens: give more --tokens"
    return f"no source file in {options.folder}; there are maps of {', '.join(each.name for each in LANGUAGES)}"


def _cache(folder: Path) -> Path | None:
    """Return the file in `.transom` that keeps what was parsed of this folder.

    None if there is no `.transom`, as a command that only looks creates none, or if it may not be written.
    """
    if FOLDER.is_dir() and os.access(FOLDER, os.W_OK):
        return FOLDER / f"{MAP_CACHE}{hash_of(bytes(folder.resolve())).hex()}.cache"
    return None
