"""The code of docs/providers.md runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "providers.md"


def test_the_samples_run(capsys):
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    assert len(blocks) == 5
    assert repr(names["provider"]).startswith("<transom.providers.scripted.Scripted")
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "It is clear. 1"
    assert names["prices"].relative().write == 1.25
