"""The example of `docs/repo-map.md`, run on a folder of two files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "repo-map.md"


def test_the_example_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"<!-- map.py -->\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "send.py").write_text("def send_mail(): ...\n")
    (tmp_path / "main.py").write_text("from mail.send import send_mail\n\ndef main(): send_mail()\n")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == [
        *("mail/send.py", "  def send_mail()", "main.py", "  def main()"),
        *("0.82 mail/send.py: send_mail", "0.18 main.py: main"),
    ]
