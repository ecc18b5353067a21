"""The counters of `docs/write-your-own-counter.md`, run as the page says."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import transom

PAGE = Path(__file__).parents[2] / "docs" / "write-your-own-counter.md"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The code blocks that have a file name, written to a folder."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"<!-- (\w+\.py) -->\n```python\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in found] == ["my_counter.py", "estimate.py", "use.py", "test_my_counter.py"]
    for name, code in found:
        (tmp_path / name).write_text(code, encoding="utf-8")
    return tmp_path


def run(folder: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    return done.stdout


def test_its_counters_pass_its_tests(files: Path) -> None:
    assert "14 passed" in run(files, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_counter.py")


def test_its_example_counts(files: Path) -> None:
    assert re.fullmatch(r"\d+ tokens\n", run(files, "use.py"))


def test_windows_are_within_the_budget_by_that_counter(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(files))
    counter: transom.TokenCounter = importlib.import_module("estimate").ByteCounter()
    with transom.Conversation.open("memory:", "x", budget=2_000, counter=counter) as conv:
        for turn in range(40):
            conv.user(f"Question {turn}: " + "and so on " * 40)
            conv.observe({"role": "assistant", "content": f"Answer {turn}."})
            assert conv.window().tokens <= 2_000
        texts = [slot.text for slot in conv.window().slots if hasattr(slot, "text")]
    assert texts, "it was compacted"
    for name in ("estimate", "my_counter"):
        sys.modules.pop(name, None)
