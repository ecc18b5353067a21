"""`transom clean`: the replays of this folder are removed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from transom.cli.commands import Clean
from transom.cli.confirm import confirmed
from transom.cli.locate import LAST
from transom.cli.runs import FOLDER, NOTES, STORE, URL
from transom.cli.streams import say
from transom.cli.terminal import put_json, terminal


def run(options: Clean) -> int:
    """Ask, remove, say what that freed. Exit code 1 if the answer is no."""
    files = list(_files())
    freed = sum(file.stat().st_size for file in files)
    if files:
        question = f"{FOLDER}: {freed:,} bytes of replays. Remove them?"
        if not confirmed(question, yes=options.yes, why=f"removing the replays in {FOLDER} cannot be undone"):
            return say("nothing was removed", 1)
    for file in files:
        file.unlink(missing_ok=True)
    if FOLDER.is_dir() and [file.name for file in FOLDER.iterdir()] in ([], [".gitignore"]):
        (FOLDER / ".gitignore").unlink(missing_ok=True)
        with suppress(OSError):  # somebody has just put something there
            FOLDER.rmdir()
    if options.json:
        put_json({"folder": str(FOLDER), "files": [file.name for file in files], "freed": freed})
    else:
        terminal().print(f"{FOLDER}: replays removed, {freed:,} bytes" if files else "no replays in this folder")
    return 0


def _files() -> Iterator[Path]:
    """What replays have left here. A store of one's own in the same folder is none of it."""
    if not FOLDER.is_dir():
        return
    yield from sorted(file for file in FOLDER.glob(f"{STORE.name}*") if file.is_file())
    old = (file for file in FOLDER.glob("replay-*.db*") if file.is_file())  # one for each replay, in early versions
    yield from sorted(file for file in old if file.name.split(".")[0].removeprefix("replay-").isdecimal())
    yield from (file for file in (NOTES,) if file.is_file())
    if LAST.is_file() and LAST.read_text(encoding="utf-8").strip() == URL:
        yield LAST
