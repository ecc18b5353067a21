"""A coding agent with real tools. It finds and mends an error in a small repository, and runs its test.

The model is scripted, so it runs offline; the tools really read, write and run. The repository is a temporary folder.

python examples/coding_agent.py
python examples/coding_agent.py anthropic:claude-sonnet-5-5
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import transom
from transom.conversation import events
from transom.providers.scripted import Scripted, call

FILES = {
    "prices.py": "def total(prices: list[float]) -> float:\n    return sum(prices[1:])\n",
    "test_prices.py": "from prices import total\n\nassert total([1, 2, 3]) == 6, total([1, 2, 3])\nprint('passed')\n",
}
SCRIPT = (
    call("run", script="test_prices.py"),
    call("read", path="prices.py"),
    call("replace", path="prices.py", old="prices[1:]", new="prices"),
    call("run", script="test_prices.py"),
    "`total` left out the first price. It adds all of them now, and the test passes.",
)


class Repository:
    """The tools of the agent, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def read(self, path: str) -> str:
        """Read a file."""
        return self._file(path).read_text(encoding="utf-8")

    def replace(self, path: str, old: str, new: str) -> str:
        """Replace a text that is in a file once."""
        text = self.read(path)
        if text.count(old) != 1:
            raise ValueError(f"the text is in {path} {text.count(old)} times")
        self._file(path).write_text(text.replace(old, new), encoding="utf-8")
        return "replaced"

    def run(self, script: str) -> dict[str, object]:
        """Run a Python script of the repository."""
        command = [sys.executable, "-B", str(self._file(script))]
        done = subprocess.run(  # noqa: S603 - Python, on a file of the repository
            command, cwd=self._folder, capture_output=True, text=True, timeout=60, check=False
        )
        return {"exit_code": done.returncode, "output": done.stdout, "errors": done.stderr[-500:]}

    def _file(self, path: str) -> Path:
        found = (self._folder / path).resolve()
        if not found.is_relative_to(self._folder):
            raise ValueError(f"{path} is outside of the repository")
        return found


def main(model: str = "") -> None:
    """Let the agent work, and print what it does."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        repository = Repository(Path(folder))
        tools = [repository.read, repository.replace, repository.run]
        task = "test_prices.py fails. Find out why, and mend it."
        system = "You mend programs. Run the test before and after a change."
        with transom.Conversation.open("memory:", "mend", budget=32_000, system=system) as conv:
            for event in conv.stream(task, provider=model or Scripted(*SCRIPT), tools=tools, tool_timeout=120):
                match event:
                    case events.ToolCalled(name=name, arguments=arguments):
                        print(f"→ {name} {arguments}")
                    case events.ToolReturned(name="run", content={"exit_code": code}):
                        print(f"← exit code {code}")
                    case events.Finished(result=result):
                        print(result.text)
                    case _:
                        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
