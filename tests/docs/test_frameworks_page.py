"""The code of docs/frameworks.md runs, each framework against a provider on the loopback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from strict_provider import strict_provider

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"
ENVIRONMENT = {"OPENAI_API_KEY": "none", "LANGSMITH_TRACING": "false", "OPENAI_AGENTS_DISABLE_TRACING": "1"}


def test_every_block_runs(tmp_path):
    """In a process of their own, because frameworks leave event loops open."""
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[0, 3, 0, 3, 3, 3, 0]\n"), done.stderr


def look(at: int) -> str:
    """Looks."""
    return f"seen: {at}"


def tools_for(block: str) -> list[object]:
    """The tools of the reader's agent, as its framework writes them."""
    if "from agents " in block:
        from agents import function_tool  # noqa: PLC0415 - the other frameworks do not need it

        return [function_tool(look)]
    return [look]


def main() -> None:
    """Run each block; print how many requests each made."""
    requests = []
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        with strict_provider(3) as server:
            os.environ["OPENAI_BASE_URL"] = f"{server.url}/v1"
            exec(compile(block, PAGE.name, "exec"), {"tools": tools_for(block)})
        assert server.invalid == []
        requests.append(len(server.requests))
    print(requests)


if __name__ == "__main__":
    main()
