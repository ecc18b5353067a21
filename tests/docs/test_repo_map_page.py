"""The example of `docs/repo-map.md`, run on a folder of two files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "repo-map.md"


def run(code: str, folder: Path) -> list[str]:
    (folder / "mail").mkdir()
    (folder / "mail" / "send.py").write_text("def send_mail(): ...\n")
    (folder / "main.py").write_text("from mail.send import send_mail\n\ndef main(): send_mail()\n")
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_examples_run(tmp_path: Path) -> None:
    alone, in_conversation = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    mapped = ["mail/send.py", "  def send_mail()", "main.py", "  def main()"]
    (tmp_path / "alone").mkdir()
    assert run(alone, tmp_path / "alone")[1:] == [*mapped, *("0.82 mail/send.py: send_mail", "0.18 main.py: main")]
    (tmp_path / "other").mkdir()
    shown = run(in_conversation, tmp_path / "other")
    assert (shown[0], shown[2:]) == ("[system prompt: repo map]", mapped)
