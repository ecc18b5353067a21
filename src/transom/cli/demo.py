"""The command `transom demo`: replays a session that ships with Transom, recorded by `scripts/record_demo.py`.

The session's agent is scripted. Its tools really ran, on the source of this project.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console

from transom.cli import transom_folder
from transom.cli.commands.programs import Demo
from transom.cli.commands.recorded import Replay
from transom.cli.explain import explained, print_explained
from transom.cli.next_commands import print_next, program_name
from transom.cli.replay import replayed
from transom.cli.replay_report import Outcome, print_json_report, print_tables, print_timeline
from transom.cli.stores import open_log
from transom.cli.terminal import print_wrapped, terminal

SESSION = Path(__file__).parent / "recorded" / "session.jsonl.gz"
DEMO = "demo"
MAX_ROWS = 14
"""The most rows of the explanation that are printed."""

NEXT_COMMANDS = (
    ("explain demo --at -1", "the last call"),
    ("log demo", "the log, an entry a line"),
    ("replay chats.jsonl --budget 32000", "your own: chats, sessions, folders"),
    ("replay --help", "windows to a file, policies, stores"),
)


def run(options: Demo) -> int:
    """Replay the session; print the table, the chart, one window, and the commands to try next.

    Exit code 0 if every window is valid and within the budget, and not every call was refused; else 1.
    """
    outcome = replayed(Replay(files=[SESSION], budget=options.budget, policy=options.policy), transom_folder.DEMO)
    outcome = replace(outcome, files=(replace(outcome.files[0], file=DEMO),))  # the path in the package means nothing
    if options.json:
        print_json_report(outcome)
        return outcome.code
    console = terminal()
    console.print(
        "An agent explores Transom's own source and changes a copy of it. What it says is scripted; its tools "
        "really ran."
    )
    print_tables(console, outcome)
    print_timeline(console, outcome)
    _print_window(console, outcome)
    next_commands = [(f"{program_name()} {arguments}", about) for arguments, about in NEXT_COMMANDS]
    print_next(console, next_commands, "Where to look next")
    return outcome.code


def _print_window(console: Console, outcome: Outcome) -> None:
    """Explain the fullest window after the first compaction, which has the most to explain. Print nothing if there was
    no compaction."""
    sizes = [] if outcome.timeline is None else [size or 0 for size in outcome.timeline.tokens]
    compactions = [index for index, (before, after) in enumerate(pairwise(sizes), start=1) if after < before]
    if not compactions:
        return
    call = 1 + max(range(compactions[0], len(sizes)), key=lambda index: sizes[index])
    with open_log(outcome.store, DEMO) as log:
        explanation = explained(log, call)
    print_wrapped(console, (f"\nWhy one call saw what it saw ({program_name()} explain demo --at {call}):\n", "bold"))
    print_explained(console, explanation, most=MAX_ROWS)
