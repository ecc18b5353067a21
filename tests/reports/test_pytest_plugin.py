"""The pytest plugin, and the example repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from transom.reports.checks import CheckFailure
from transom.reports.pytest_plugin import CheckFailedError

EXAMPLE = Path(__file__).parents[2] / "examples" / "check"


def test_the_example_is_collected_and_fails_when_the_policy_changes(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "example")
    changed = tmp_path / "example" / "sliding.check.toml"
    text = (EXAMPLE / "complaints.check.toml").read_text(encoding="utf-8")
    changed.write_text(text.replace('policy = "default"', 'policy = "sliding"'), encoding="utf-8")
    (tmp_path / "example" / "wrong.check.toml").write_text("files = []", encoding="utf-8")
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    before = os.times().children_user
    command = [sys.executable, "-m", "pytest", "-p", "transom.reports.pytest_plugin", "-p", "no:cacheprovider"]
    command += ["-q", "--continue-on-collection-errors", str(tmp_path / "example")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert os.times().children_user - before < 10, "seconds of CPU time: the machine may be busy"
    out = done.stdout
    assert "1 failed, 11 passed, 1 error" in out, out
    assert "example/sliding.check.toml::the manager's ticket is known at the end" in out
    assert "call 50 of complaints: its window does not have this text" in out
    assert "by the fold in entry 99, of entries 3–34: compaction (plan 99)" in out
    assert "wrong.check.toml: files: Expected `array` of length >= 1" in out
    assert "Traceback" not in out


def test_what_a_file_holds_reaches_the_terminal_with_escapes() -> None:
    failure = CheckFailure(conversation="a\x1b[31m", call=1, problem="its window does not have this text")
    assert str(CheckFailedError((failure,))) == "call 1 of a\\x1b[31m: its window does not have this text"
