"""Each command line of the documentation is one that the parser takes: its command, options and arguments exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from transom.cli import commands
from transom.cli.lazy_commands import command_line

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/why/*.md"))]
assert commands, "importing the commands adds them to the command line"


def command_lines(page: Path) -> list[list[str]]:
    """The arguments of `transom` in the blocks of a page for a terminal, without pipes and redirections."""
    blocks = re.findall(r"```(?:console|sh|bash)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = (shlex.split(line, comments=True) for block in blocks for line in block.splitlines())
    shell = ("|", ">", "&&")
    return [
        words[1 : next((at for at, word in enumerate(words) if word in shell), None)]
        for words in lines
        if words[:1] == ["transom"]
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if command_lines(page)], ids=lambda page: page.name)
def test_each_command_line_can_be_parsed(page: Path) -> None:
    for words in command_lines(page):
        if words != ["--install-completion"]:  # it would write to the files of a shell
            job = command_line(words)
            assert callable(job) or "--help" in words, words  # the job is not run


def test_a_wrong_option_is_found() -> None:
    with pytest.raises(Exception, match="No such option"):
        command_line(["explain", "ID", "--nowhere"])
