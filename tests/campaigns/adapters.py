"""Runs each adapter with its framework over a long script, and the framework's own compaction on the same one.

    python tests/campaigns/adapters.py [--count 300] [--framework strands]

It runs those frameworks that the environment has; `make adapters` has two environments.

The script: parallel tools, long outputs, reasoning that is bound to its prefix, a server whose limit is below the
budget, a crash in the middle and a resume.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "adapters")]

from framework_runs import CHAT, LIMIT, OWN, PACKAGES, RUNS, Files, set_environment  # noqa: E402 - of a folder of tests
from scripted_api import FAULTS, report, scripted_api  # noqa: E402 - likewise


def main() -> int:
    """Print a row for each run. Exit code 1 if a run with an adapter did anything wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--framework", action="append", choices=RUNS)
    given = parser.parse_args()
    steps, wrong = given.count, 0
    set_environment()
    for name in given.framework or RUNS:
        run = RUNS[name]
        if not is_installed(PACKAGES[name]):
            print(f"{name}: not in this environment", flush=True)
            continue
        variants: list[dict[str, Any]] = [
            {},
            *({"chat": True} for each in CHAT if each == name),
            *({"own": own} for own in OWN[name]),
        ]
        for options in variants:
            with tempfile.TemporaryDirectory() as folder, scripted_api(steps, limit=LIMIT) as api:
                error = ""
                try:
                    run(api, Path(folder), Files(crash_at=steps // 2), **options)
                except Exception as raised:  # noqa: BLE001 - a row says it
                    error = repr(raised)
            row = report(", ".join([name, *(f"{key}: {value}" for key, value in options.items())]), api, error)
            print(row, flush=True)
            sent_none = not row["reasoning sent"] and "chat" not in options  # Chat has no reasoning
            wrong += "own" not in options and (sent_none or any(row[fault] for fault in FAULTS))
    return int(wrong > 0)


def is_installed(package: str) -> bool:
    parent = package.rpartition(".")[0]
    return (not parent or find_spec(parent) is not None) and find_spec(package) is not None


if __name__ == "__main__":
    sys.exit(main())
