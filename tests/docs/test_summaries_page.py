"""The page about summaries runs, and prints what it shows."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "summaries.md").read_text("utf-8")


def test_the_page_about_summaries_runs(capsys) -> None:
    exec("\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)), {})
    [shown] = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert capsys.readouterr().out == f"{shown}[2 turns happened]\n"
