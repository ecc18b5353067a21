"""Prints the commands with which the user can go on, at the end of an output. Each can be copied as it stands."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import which

from rich.console import Console
from rich.text import Text

from transom.cli.streams import one_line
from transom.cli.terminal import print_line
from transom.stores.postgres_url import without_password

UV = frozenset({"UV", "UV_RUN_RECURSION_DEPTH"})
"""Variables that `uv run` sets. It adds a folder to PATH that the user's shell does not have."""


def program_name() -> str:
    """Return how the user can call this installation here: `transom` if the shell finds it by that name, otherwise its
    path, quoted for the shell, or `python -m transom` if it was started so.
    """
    started = Path(sys.argv[0])
    if started.name == "__main__.py" and started.parent.name == "transom":
        return "python -m transom"
    if started.stem != "transom" or not started.is_file():
        return "transom"
    on_path = None if os.environ.keys() & UV else which("transom")
    if on_path is not None and started.samefile(on_path):
        return "transom"
    path, here = started.absolute(), Path.cwd()
    typed = path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()
    return shlex.quote(typed if "/" in typed else f"./{typed}")


def command_for(name: str, *arguments: object, store: str | None, options: Sequence[object] = ()) -> str:
    """Return a command line as the user can type it here, quoted for the shell.

    `name`: of the command. `arguments`: what follows it, not quoted yet. `options`: further words of the command line,
    one by one: `["--at", 3]`. `store`: the value of --store that was given, None if none was; a password in it is left
    out. Unprintable characters become blanks.
    """
    given = [str(one) for one in options] + (["--store", without_password(store)] if store is not None else [])
    values = [str(one) for one in arguments]
    is_like_option = any(value.startswith("-") for value in values)
    words = [*given, "--", *values] if is_like_option else [*values, *given]
    return f"{program_name()} {one_line(shlex.join([name, *words]))}"


def print_next(console: Console, commands: Sequence[tuple[str, str]], title: str = "Next") -> None:
    """Print a title, and below it command lines, each with what it prints. Print nothing if there are none.

    On a narrow terminal the descriptions are cut, and never a command.
    """
    if not commands:
        return
    print_line(console, (f"\n{title}", "bold"))
    width = max(len(line) for line, _ in commands) + 4
    for line, about in commands:
        remaining = max(0, console.width - width)
        console.print(Text.assemble((f"  {line}".ljust(width), "cyan"), about[:remaining]), soft_wrap=True)
