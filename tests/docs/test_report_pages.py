"""The samples and the code of docs/check.md and docs/shadow.md are what they were copied from, and run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from transom.cli import main

ROOT = Path(__file__).parents[2]


def blocks(page: str, kind: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own in which the examples lie, as in the repository."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")


def steady(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def test_the_page_about_checks(capsys: pytest.CaptureFixture[str]) -> None:
    (toml,) = blocks("check.md", "toml")
    assert toml == (ROOT / "examples" / "check" / "complaints.check.toml").read_text(encoding="utf-8")
    commands = [line for block in blocks("check.md", "console") for line in block.splitlines()]
    for command, code, sample in zip(commands, (0, 1), blocks("check.md", "text"), strict=False):
        assert main(command.split()[1:]) == code
        assert steady(capsys.readouterr().out) == steady(sample)
    (python,) = blocks("check.md", "python")
    exec(compile(python, "check.md", "exec"), {})
    assert capsys.readouterr().out.startswith("the manager's ticket is known at the end 50 ")


def test_the_page_about_shadow_answers(capsys: pytest.CaptureFixture[str]) -> None:
    (python,) = blocks("shadow.md", "python")
    exec(compile(python, "shadow.md", "exec"), {})
    requests, chance, window, harm = capsys.readouterr().out.split()
    assert (requests, chance, window, harm) == ("30", "0.0", "1.0", "True")
