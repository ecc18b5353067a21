"""The commands that a command names at its end, to go on from there: each whole, so that it can be copied."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from transom.cli.locate import command
from transom.cli.streams import one_line
from transom.cli.terminal import print_line
from transom.stores.postgres_url import without_password


def command_for(name: str, *arguments: object, store: str | None, options: Sequence[object] = ()) -> str:
    """Return a command as the user can type it here. `store`: the --store that was given; None if none was needed."""
    given = [str(one) for one in options] + (["--store", without_password(store)] if store is not None else [])
    values = [str(one) for one in arguments]
    is_like_option = any(value.startswith("-") for value in values)
    words = [*given, "--", *values] if is_like_option else [*values, *given]
    return f"{command()} {one_line(shlex.join([name, *words]))}"


def print_next(console: Console, commands: Sequence[tuple[str, str]], title: str = "Next") -> None:
    """Print commands below a title, each with what it prints. No command is cut, however narrow the terminal is."""
    if not commands:
        return
    print_line(console, (f"\n{title}", "bold"))
    width = max(len(line) for line, _ in commands) + 4
    for line, about in commands:
        remaining = max(0, console.width - width)
        console.print(Text.assemble((f"  {line}".ljust(width), "cyan"), about[:remaining]), soft_wrap=True)
