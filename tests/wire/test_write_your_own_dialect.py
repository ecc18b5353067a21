"""The dialect of the page `docs/write-your-own-dialect.md`, run as the page says; and what the suite finds in it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from transom.wire import Dialect

PAGE = Path(__file__).parents[2] / "docs" / "write-your-own-dialect.md"


CONFTEST = """
from hypothesis import HealthCheck, Phase, settings
settings.register_profile("found", phases=[Phase.generate], suppress_health_check=list(HealthCheck), deadline=None)
settings.load_profile("found")
"""
"""A failure that is found need not be made smaller."""


def run_page(folder: Path, old: str = "", new: str = "") -> str:
    """What pytest prints about the page's files, with `old` replaced in them; up to the first failure."""
    found = dict(re.findall(r"<!-- (\w+\.py) -->\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    assert set(found) == {"plain_chat.py", "test_plain_chat.py"}
    assert old in found["plain_chat.py"]
    for name, code in found.items():
        (folder / name).write_text(code.replace(old, new) if old else code, encoding="utf-8")
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "test_plain_chat.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def test_the_dialect_of_the_page_passes_the_suite(tmp_path: Path) -> None:
    out = run_page(tmp_path)
    (passed,) = re.findall(r"^(\d+) passed", out, re.MULTILINE) or [out[-3_000:]]
    assert passed == "9"


BREAKS = {
    "calls under the ids they came with": ("unique_calls(unit, translate_fact(head, self.name))", "head.calls"),
    "a text that is lost": ('"\\n".join(part.text', '"".join(part.text[1:]'),
    "calls that are lost": ("        if calls:\n", "        if len(calls) > 1:\n"),
    "fewer tokens": ("return DialectCounter(counter", "return type('C', (DialectCounter,), NONE)(counter"),
}


@pytest.mark.parametrize(("old", "new"), BREAKS.values(), ids=BREAKS)
def test_the_suite_finds_what_is_wrong(old: str, new: str, tmp_path: Path) -> None:
    none = "{'count_part': lambda self, part: 0}"
    assert "failed" in run_page(tmp_path, old, new.replace("NONE", none))


def test_the_first_block_runs_with_the_dialect_of_the_page(tmp_path: Path) -> None:
    first, code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[:2]
    (tmp_path / "plain_chat.py").write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", first], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_names_every_method() -> None:
    text = PAGE.read_text(encoding="utf-8")
    methods = [name for name, value in vars(Dialect).items() if callable(value) and not name.startswith("_")]
    assert len(methods) > 10
    for name in methods:
        assert f"| `{name}(" in text, name
