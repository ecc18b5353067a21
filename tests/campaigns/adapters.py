"""Runs each adapter with its framework over a long script, and the framework's own compaction on the same one.

    python tests/campaigns/adapters.py [--count 300]

It runs those frameworks that the environment has; `make adapters` has two environments.

The script: parallel tools, long outputs, a server whose limit is below the budget, a crash in the middle and a resume.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "adapters")]

from framework_runs import BUDGET, LIMIT, OWN, PACKAGES, RUNS, Files, set_environment  # noqa: E402 - of a folder of tests
from scripted_api import report, scripted_api  # noqa: E402 - likewise


def main() -> int:
    """Print a row for each run. Exit code 1 if a run with an adapter did anything wrong."""
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=300)
    steps, wrong = options.parse_args().count, 0
    set_environment()
    for name, run in RUNS.items():
        if not is_installed(PACKAGES[name]):
            print(f"{name}: not in this environment", flush=True)
            continue
        for own in ("", *OWN[name]):
            with tempfile.TemporaryDirectory() as folder, scripted_api(steps, budget=BUDGET, limit=LIMIT) as api:
                error = ""
                try:
                    run(api, Path(folder), Files(crash_at=steps + 1), **({"own": own} if own else {}))
                except Exception as raised:  # noqa: BLE001 - a row says it
                    error = repr(raised)
            row = report(f"{name}, own: {own}" if own else name, api, error)
            print(row, flush=True)
            wrong += not own and bool(error or row["invalid"] or row["over budget"] or row["without task"])
    return int(wrong > 0)


def is_installed(package: str) -> bool:
    parent = package.rpartition(".")[0]
    return (not parent or find_spec(parent) is not None) and find_spec(package) is not None


if __name__ == "__main__":
    sys.exit(main())
