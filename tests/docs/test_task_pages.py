"""The tutorial, the cookbook and the pages of the tasks: their Python runs, the tutorial's commands too."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from transom.cli import main

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SERVES = "inspect"
"""The command that serves a page until it is interrupted: it is not run here."""


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_tutorial_runs(capsys):
    names, printed = {}, ""
    for kind, block in BLOCK.findall((DOCS / "tutorial.md").read_text(encoding="utf-8")):
        if kind == "text":
            assert printed == block
        elif kind == "python":
            exec(compile(block, "tutorial.md", "exec"), names)
            printed = capsys.readouterr().out
        else:
            for line in block.splitlines():
                command = shlex.split(line)[1:]
                assert command[0] == SERVES or main(command) == 0, line
            printed = capsys.readouterr().out
            assert printed or SERVES in block
    assert "default" in printed, "the last command compares policies"


PRINTED = {
    "cookbook.md": (
        "14 of 32,000 tokens, normal\nI will ask again tomorrow.\nYes.\nno answer after $0.0033, limit $0.0001\n"
        "trip Find me a flight to Lisbon.\n('ana-1',)\n"
    ),
    "my-agent-overflows.md": "200000\n",
    "what-did-the-model-see.md": "14 tokens\n0 user kept \n",
    "import-export.md": "trip 2 0\n",
    "mcp.md": "It is 3.\n",
}
"""Pages, each with what its code prints."""


@pytest.mark.parametrize(("page", "prints"), PRINTED.items())
def test_the_code_of_a_page_runs(page, prints, capsys):
    Path("session.jsonl").write_text(
        '{"id": "trip", "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}\n'
    )
    names = {}
    for kind, block in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(block, page, "exec"), names)
    assert capsys.readouterr().out == prints
