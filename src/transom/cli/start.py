"""The command line `transom` alone: says what can be done here, by what is found."""

from __future__ import annotations

import shlex
from importlib.metadata import version
from pathlib import Path

from transom.cli.find_stores import in_home, session_folders, stores_here
from transom.cli.next_commands import command_for, print_next, program_name
from transom.cli.streams import one_line
from transom.cli.terminal import print_line, terminal
from transom.stores.postgres_url import without_password

MOST_STORES = 3


def run() -> int:
    """Print the commands that make sense here. No store is opened, and nothing is written."""
    console = terminal()
    print_line(console, (f"Transom {version('transom')}", "bold"), ": keeps every event of an agent's conversation,")
    print_line(console, "and builds for each model call the window that the model should see.")
    stores = stores_here()
    for url in stores[:MOST_STORES]:
        print_next(
            console,
            [
                (command_for("inspect", store=url), "look at it in the browser"),
                (command_for("conversations", store=url), "list what is in it"),
            ],
            f"There is a store: {one_line(without_password(url))}",
        )
    if len(stores) > MOST_STORES:
        print_line(console, f"  … and {len(stores) - MOST_STORES} more: {program_name()} doctor")
    folders = list(session_folders())
    for agent, folder in folders:
        print_next(console, _commands_for(folder), f"{agent} has sessions in {in_home(folder)}")
    if not stores and not folders:
        begin = [
            ("demo", "replay the session that ships with Transom"),
            ("chat --model openai:gpt-5", "chat, with a key; --model local is offline"),
            ("replay FILE --budget 32k", "conversations of your own"),
            ("run claude", "an agent, behind a proxy that logs and compacts"),
        ]
        print_next(console, [(f"{program_name()} {line}", about) for line, about in begin], "Nothing is here yet")
    always = [("--help", "every command"), ("doctor", "is everything there that you need?")]
    print_next(console, [(f"{program_name()} {line}", about) for line, about in always], "More")
    return 0


def _commands_for(folder: Path) -> list[tuple[str, str]]:
    """Return the commands for a folder of sessions, each with what it does: replay them, or import them."""
    short = in_home(folder)
    typed = short if short.startswith("~/") and shlex.quote(short[2:]) == short[2:] else shlex.quote(str(folder))
    return [
        (f"{program_name()} replay {typed} --budget 100k", "what each call would have seen and cost"),
        (f"{program_name()} import {typed}", "store them, then look at them: inspect"),
    ]
