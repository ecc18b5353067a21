"""The examples of `docs/redaction.md`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "redaction.md"


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
    names: dict = {}
    exec(code, names)
    printed = capsys.readouterr().out
    assert "Deploy with AWS_ACCESS_KEY_ID=[redacted: AWS Access Key], please." in printed
    entry = names["conv"].user("Customer C-123456 is angry.")
    assert "Customer [redacted: customer] is angry." in names["conv"].readback(
        "transom_read", {"ref": f"entry {entry}"}
    )
