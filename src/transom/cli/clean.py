"""The command `transom clean`: removes the replays of this folder, and with --imports its imported conversations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from transom.cli.commands.programs import Clean
from transom.cli.stores import LAST_STORE
from transom.cli.streams import is_confirmed, print_notice
from transom.cli.terminal import print_json, terminal
from transom.cli.transom_folder import DEMO, FOLDER, IMPORTS, MAP_CACHE, REPLAYS, url_of
from transom.repo_map.facts_cache import is_cache

_ENDS = tuple(index + end for index in ("", ".search", ".prefixes") for end in ("", "-wal", "-shm", "-journal"))
"""The files of a SQLite store have the name of the store with one of these behind it. Other files are the user's."""
_MAP_CACHE = re.compile(re.escape(MAP_CACHE) + r"[0-9a-f]{32}\.(?:cache|db)")


def run(options: Clean) -> int:
    """Ask the user, remove the files, and print how many bytes they had. Exit code 1 if the user does not agree."""
    files = list(_files(imports=options.imports))
    freed = sum(file.stat().st_size for file in files)
    what = "replays and imports" if options.imports else "replays"
    if not options.imports and IMPORTS.is_file():
        print_notice(f"{IMPORTS}: imported conversations stay; --imports removes them too")
    if files:
        question = f"{FOLDER}: {freed:,} bytes of {what}. Remove them?"
        if not is_confirmed(question, yes=options.yes, why=f"removing the {what} in {FOLDER} cannot be undone"):
            print_notice("nothing was removed")
            return 1
    for file in files:
        file.unlink(missing_ok=True)
    if FOLDER.is_dir() and [file.name for file in FOLDER.iterdir()] in ([], [".gitignore"]):
        (FOLDER / ".gitignore").unlink(missing_ok=True)
        with suppress(OSError):  # another process has just created a file there
            FOLDER.rmdir()
    if options.json:
        print_json({"folder": str(FOLDER), "files": [file.name for file in files], "freed": freed})
    else:
        terminal().print(f"{FOLDER}: {what} removed, {freed:,} bytes" if files else f"no {what} in this folder")
    return 0


def _files(*, imports: bool) -> Iterator[Path]:
    """Yield the files of replays and of maps in `.transom`; with `imports`, those of imported conversations too.

    They are files that Transom names itself. What the user has put into the same folder is not among them.
    """
    if not FOLDER.is_dir():
        return
    stores = (REPLAYS, DEMO, *[IMPORTS] * imports)
    for store in stores:
        files = (store.with_name(store.name + end) for end in _ENDS)
        yield from (file for file in files if file.is_file())
    for cache in sorted(FOLDER.glob(f"{MAP_CACHE}*")):
        if _MAP_CACHE.fullmatch(cache.name) and is_cache(cache):
            yield cache
    if LAST_STORE.is_file() and LAST_STORE.read_text(encoding="utf-8").strip() in map(url_of, stores):
        yield LAST_STORE
