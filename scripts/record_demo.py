"""Record the session that `transom demo` replays: real tools, run on a copy of this source tree.

    python -m scripts.record_demo [--show]

The texts and calls of the agent are written in `demo_plan.py`. The results of the tools are real. The copy is in a
temporary folder, so the agent may change it. The names of that folder and of the Python in use never reach the
recording. `--show` prints the session instead of writing it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scripts.demo_plan import PLAN, SYSTEM

ROOT = Path(__file__).resolve().parent.parent
GOAL = ROOT / "src" / "transom" / "cli" / "recorded" / "session.jsonl.gz"
LARGEST = 150_000
"""Bytes the recording may have: it ships with the package."""

COPIED = ("src", "tests/laws", "tests/conftest.py", "tests/summary_requests.py", "pyproject.toml")

Message = dict[str, Any]


class Workplace:
    """The copy of the tree, and the tools that work in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            ignore = shutil.ignore_patterns("__pycache__", "recorded")
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=ignore)
            else:
                shutil.copy(ROOT / name, folder / name)
        self.tools: dict[str, Callable[..., str]] = {
            "list_files": self.list_files,
            "read_file": self.read_file,
            "search": self.search,
            "run_python": self.run_python,
            "run_tests": self.run_tests,
            "write_file": self.write_file,
            "edit_file": self.edit_file,
        }

    def list_files(self, path: str) -> str:
        """Every source file under a folder, with its number of lines."""
        files = sorted((self.folder / path).rglob("*.py"))
        return "\n".join(f"{len(self._lines(file)):>5}  {file.relative_to(self.folder).as_posix()}" for file in files)

    def read_file(self, path: str, start: int = 1, end: int = 10_000) -> str:
        """Lines of a file, numbered."""
        lines = self._lines(self.folder / path)[start - 1 : end]
        return "\n".join(f"{number:>4}  {line}" for number, line in enumerate(lines, start=start))

    def search(self, pattern: str, path: str) -> str:
        """Lines that match a regular expression."""
        wanted = re.compile(pattern)
        found: list[str] = []
        for file in sorted((self.folder / path).rglob("*.py")):
            name = file.relative_to(self.folder).as_posix()
            numbered = enumerate(self._lines(file), start=1)
            found.extend(f"{name}:{number}: {line.strip()}" for number, line in numbered if wanted.search(line))
        return "\n".join(found) or "no match"

    def run_python(self, code: str) -> str:
        """What a few lines of Python print."""
        return self._run("-c", code)

    def run_tests(self, path: str) -> str:
        """What pytest says of a file."""
        return self._run("-m", "pytest", "-p", "no:cacheprovider", path)

    def write_file(self, path: str, text: str) -> str:
        """A new file."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return f"wrote {path}: {len(text.splitlines())} lines"

    def edit_file(self, path: str, old: str, new: str) -> str:
        """Put `new` where `old` stands, once."""
        file = self.folder / path
        text = file.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise ValueError(f"{path} holds the old text {text.count(old)} times")
        file.write_text(text.replace(old, new), encoding="utf-8")
        return f"edited {path}"

    def _run(self, *args: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(  # noqa: S603 - our own Python, with what the plan says
            [sys.executable, *args],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        output = (done.stdout + done.stderr).rstrip()
        return output if done.returncode == 0 else f"{output}\n[exit code {done.returncode}]"

    @staticmethod
    def _lines(file: Path) -> list[str]:
        return file.read_text(encoding="utf-8").splitlines()


def session(workplace: Workplace) -> Iterator[Message]:
    """The plan, carried out."""
    yield {"role": "system", "content": SYSTEM}
    number = 0
    for role, text, calls in PLAN:
        if role == "user":
            yield {"role": role, "content": text}
            continue
        made: list[Message] = []
        for name, arguments in calls:
            number += 1
            function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
            made.append({"id": f"call_{number:03}", "type": "function", "function": function})
        turn: Message = {"role": "assistant", "content": text or None}
        yield {**turn, "tool_calls": made} if made else turn
        for call, (name, arguments) in zip(made, calls, strict=True):
            output = workplace.tools[name](**arguments)
            yield {"role": "tool", "tool_call_id": call["id"], "content": output}


def stripped(text: str, folder: Path) -> str:
    """Without the places of this machine. Raises ValueError if one is left."""
    places = ((f"{folder}/", ""), (str(folder), "."), (sys.prefix, ".venv"), (sys.base_prefix, "python"))
    for place, shown in places:
        text = text.replace(place, shown)
    for place in (str(ROOT), str(Path.home()), tempfile.gettempdir()):
        if f"{place}/" in text:
            raise ValueError(f"{place} in the recording: {text[max(0, text.find(place) - 80) :][:200]}")
    return re.sub(r"in \d+\.\d+s\b", "in 0.1s", text)


def main() -> None:
    """Record, check, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true")
    show = parser.parse_args().show
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        messages = list(session(Workplace(folder)))
        for message in messages:
            if message["role"] == "tool":
                message["content"] = stripped(message["content"], folder)
    if show:
        for message in messages:
            calls = [call["function"] for call in message.get("tool_calls", ())]
            sys.stdout.write(f"--- {message['role']}\n{message['content'] or ''}\n{calls or ''}\n")
        return
    line = json.dumps({"id": "demo", "messages": messages}, ensure_ascii=False, separators=(",", ":"))
    packed = gzip.compress(line.encode() + b"\n", compresslevel=9, mtime=0)
    if len(packed) > LARGEST:
        raise SystemExit(f"{len(packed):,} bytes are too many: {LARGEST:,} at most")
    GOAL.parent.mkdir(exist_ok=True)
    GOAL.write_bytes(packed)
    calls = sum(message["role"] == "tool" for message in messages)
    sys.stdout.write(f"{len(messages)} messages, {calls} tool calls, {len(line):,} characters, {len(packed):,} bytes\n")


if __name__ == "__main__":
    main()
