"""Put what `transom demo` prints today into docs/command-line.md: `python -m scripts.demo_sample`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from transom.cli.next_commands import UV

PAGE = Path(__file__).parents[1] / "docs" / "command-line.md"


def demo() -> str:
    """What the command prints in a new folder, 80 columns wide."""
    # The last lines name the command as it was called, so it is called as a user calls it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        env = {key: value for key, value in os.environ.items() if key not in UV} | {"COLUMNS": "80", "PATH": path}
        command = ["transom", "demo"]
        done = subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True, text=True)  # noqa: S603 - no input of others
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines()) + "\n"


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    sample = demo()
    changed = re.sub(r"(?<=```text\n)An agent explores.*?(?=```)", lambda _: sample, text, count=1, flags=re.DOTALL)
    PAGE.write_text(changed, encoding="utf-8")


if __name__ == "__main__":
    main()
