"""`transom demo`: a scripted session whose tools really ran on this project's own source (`scripts/record_demo.py`)."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from transom.cli.commands import Demo, Replay
from transom.cli.explain import explained, print_explained
from transom.cli.locate import command, found_log
from transom.cli.replay import replayed
from transom.cli.report import Outcome, print_json, print_tables, print_timeline
from transom.cli.terminal import put, put_whole, terminal

SESSION = Path(__file__).parent / "recorded" / "session.jsonl.gz"
NAME = "demo"
EXCERPT = 14

NEXT = (
    ("explain demo --at -1", "the last call"),
    ("log demo", "the log, an entry a line"),
    ("replay chats.jsonl --budget 32000", "your own: chats, sessions, folders"),
    ("replay --help", "windows to a file, policies, stores"),
)


def run(options: Demo) -> int:
    """Replay the session, show the table, the sawtooth and one window, and say where to look next."""
    outcome = replayed(Replay(files=[SESSION], budget=options.budget, policy=options.policy))
    outcome = replace(outcome, files=(replace(outcome.files[0], file=NAME),))  # the path of the package says nothing
    if options.json:
        print_json(outcome)
        return outcome.code
    console = terminal()
    console.print(
        "An agent explores Transom's own source and changes a copy of it. What it says is scripted; its tools "
        "really ran."
    )
    print_tables(console, outcome)
    print_timeline(console, outcome)
    _print_window(console, outcome)
    _print_next(console)
    return outcome.code


def _print_window(console: Console, outcome: Outcome) -> None:
    """The fullest window after the first compaction: there most is to be seen."""
    sizes = [] if outcome.timeline is None else [size or 0 for size in outcome.timeline.tokens]
    compactions = [at for at, (before, after) in enumerate(pairwise(sizes), start=1) if after < before]
    if not compactions:
        return
    call = 1 + max(range(compactions[0], len(sizes)), key=lambda at: sizes[at])
    with found_log(outcome.store, NAME) as log:
        found = explained(log, call)
    put_whole(console, (f"\nWhy one call saw what it saw ({command()} explain demo --at {call}):\n", "bold"))
    print_explained(console, found, most=EXCERPT)


def _print_next(console: Console) -> None:
    """Each command whole, however narrow the terminal is: it is there to be copied."""
    put(console, ("\nWhere to look next", "bold"))
    name = command()
    width = max(len(words) for words, _ in NEXT) + len(name) + 5
    room = max(0, console.width - width)
    for words, what in NEXT:
        console.print(Text.assemble((f"  {name} {words}".ljust(width), "cyan"), what[:room]), soft_wrap=True)
