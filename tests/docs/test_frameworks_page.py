"""The code of docs/frameworks.md runs, each framework against a provider on the loopback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from strict_provider import strict_provider

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"
ENVIRONMENT = {
    "OPENAI_API_KEY": "none",
    "GOOGLE_API_KEY": "none",
    "LANGSMITH_TRACING": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
}


REQUESTS = {
    "langchain": [0, 3],
    "pydantic_ai": [0, 3],
    "agents": [3, 3],
    "strands": [0, 3],
    "google": [0, 3],
    "agent_framework": [0, 3],
    "langchain_core": [0],
}
"""How many requests the blocks of each package make: before, and after."""


def test_every_block_runs(tmp_path):
    """In a process of their own, because frameworks leave event loops open. Without a package its blocks are left
    out: `make frameworks` has those that the developers' environment lacks."""
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        name: made for name, made in REQUESTS.items() if is_installed(name)
    }


def is_installed(package: str) -> bool:
    return find_spec("google.adk" if package == "google" else package) is not None


def look(at: int, number: int) -> str:
    """Looks."""
    return f"seen: {at}, {number}"


def tools_for(package: str) -> list[object]:
    """The tools of the reader's agent, as its framework writes them."""
    if package == "agents":
        from agents import function_tool  # noqa: PLC0415 - the other frameworks do not need it

        return [function_tool(look)]
    if package == "strands":
        from strands import tool  # noqa: PLC0415

        return [tool(look)]
    return [look]


def main() -> None:
    """Run the blocks of each package; print how many requests each made."""
    requests: dict[str, list[int]] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        package = next(name for name in re.findall(r"from (\w+)[. ]", block) if name in REQUESTS)
        if not is_installed(package):
            continue
        with strict_provider(3) as server:
            os.environ |= {"OPENAI_BASE_URL": f"{server.url}/v1", "GOOGLE_GEMINI_BASE_URL": server.url}
            exec(compile(block, PAGE.name, "exec"), {"tools": tools_for(package)})
        assert server.invalid == []
        requests.setdefault(package, []).append(len(server.requests))
    print()  # Strands writes what its agent says
    print(json.dumps(requests))


if __name__ == "__main__":
    main()
