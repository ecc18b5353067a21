"""What the campaigns over recorded conversations share: their options, and the files that they judge."""

from __future__ import annotations

import argparse
from pathlib import Path


def campaign_parser(text: str | None) -> argparse.ArgumentParser:
    """With the options of every such campaign."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("data", type=Path)
    made.add_argument("--family", action="append", help="only this family of conversations")
    made.add_argument("--every", type=int, default=1, help="judge every Kth conversation")
    return made


def with_budgets(made: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """With the options of a campaign that judges each call at several budgets."""
    made.add_argument("--budget", type=int, action="append")
    made.add_argument("--policy", default="default")
    made.add_argument("--jobs", type=int, default=2, help="processes at work")
    return made


def recorded_files(made: argparse.ArgumentParser, options: argparse.Namespace) -> list[Path]:
    """The files of the families that were asked for, the largest first. Ends the campaign if there are none."""
    folder = options.data / "conversations"
    found = sorted(folder.glob("*.jsonl.gz"), key=lambda file: -file.stat().st_size)
    chosen = [file for file in found if not options.family or file.name.split(".")[0] in options.family]
    if not chosen:
        made.error(f"{folder}: no recorded conversations" + (f" of {options.family}" if options.family else ""))
    return chosen


def print_wrong(wrong: list[str]) -> int:
    """Print the first lines of what is wrong, and return how many there are."""
    for line in wrong[:3]:
        print("   ", line[:300])
    return len(wrong)


def end(bad: int) -> int:
    """Print how much is wrong in all, and return the exit code."""
    print("wrong:", bad)
    return 1 if bad else 0
