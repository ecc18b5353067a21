"""Help, version, and the name of the command."""

from __future__ import annotations

import os
import re
import resource
import shlex
import subprocess
import sys

import pytest
import typer

from transom.cli import commands
from transom.cli.help_pages import COMMAND_GROUPS
from transom.cli.lazy_commands import app, command_line
from transom.cli.next_commands import UV, program_name

assert commands, "importing the commands adds them to the command line"


def group():
    """The command line, as its library knows it."""
    return typer.main.get_command(app)


def test_the_command_is_named_as_it_can_be_typed(folder, monkeypatch):
    inside, outside = folder / "bin" / "transom", folder / "a b" / "transom"
    for script in (inside, outside):
        script.parent.mkdir()
        script.touch(0o755)
    (folder / "here").mkdir()
    for name in UV:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(inside.parent))
    for started, expected in (("-c", "transom"), (inside, "transom"), (outside, "'a b/transom'")):
        monkeypatch.setattr(sys, "argv", [str(started), "demo"])
        assert program_name() == expected
    monkeypatch.chdir(folder / "here")
    assert program_name() == f"'{outside}'"
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [str(inside), "demo"])
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    assert program_name() == "bin/transom", "uv has put it on its own PATH, not on the shell's"
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH")
    monkeypatch.setenv("PATH", str(folder))
    assert program_name() == "bin/transom"
    monkeypatch.chdir(folder / "bin")
    assert program_name() == "./transom"
    monkeypatch.setattr(sys, "argv", [str(folder / "lib" / "transom" / "__main__.py"), "demo"])
    assert program_name() == "python -m transom"


def test_help_and_version(run):
    code, out, _ = run("--help")
    assert code == 0
    assert all(command in out for command in ("replay", "log", "explain", "demo"))
    for command in ("replay", "log", "explain", "demo"):
        code, out, _ = run(command, "--help")
        assert code == 0
        assert "--json" in out
    assert re.fullmatch(r"transom \d+\.\d+\.\S+\n", run("--version")[1])


def test_each_command_has_an_example_that_can_be_parsed(run):
    for name, command in group().commands.items():
        line = re.search(r"^Example:\n  transom (.*)$", command.epilog, re.MULTILINE)[1]
        words = shlex.split(line)
        assert words[0] == name
        assert callable(command_line(words))
        assert f"  Example:\n    transom {line.split()[0]}" in run(name, "--help")[1]


def test_the_help_of_audit_names_the_formats_that_it_can_read(run):
    help_of_files = " ".join(run("audit", "--help")[1].split()).partition("--format NAME ")[2]
    assert help_of_files.startswith("The format of the files: claude_code, codex. Default: ")


def test_each_command_has_its_place(run):
    placed = [name for names in COMMAND_GROUPS.values() for name in names]
    assert len(placed) == len(set(placed))
    assert set(group().commands) <= set(placed)
    assert re.findall(r"^([A-Z][\w ]*):$", run("log", "--help")[1], re.MULTILINE) == ["Arguments", "Options"]


@pytest.mark.parametrize(
    ("shell", "line", "found"),
    [("bash", "transom expl", "explain"), ("zsh", "transom expl", '"explain"'), ("fish", "transom log --js", "--json")],
)
def test_a_shell_completes_commands_and_options(shell, line, found):
    """As the script that `--show-completion` prints asks for it."""
    environment = os.environ | {
        "_TRANSOM_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    command = [sys.executable, "-c", "from transom.cli import main; main([])"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found in done.stdout, done.stderr


STANDARD = (
    "import argparse, asyncio, decimal, email.message, http.client, inspect, logging.handlers, sqlite3, ssl, tarfile, "
    "unittest.mock, urllib.request, xml.dom.minidom, zoneinfo"
)
"""It takes 0.12 s of CPU time where `import transom` takes 0.17 s, and --help 0.25 s."""


@pytest.mark.parametrize(
    ("code", "most"), [("import transom", 2.5), ("from transom.cli import main; main(['--help'])", 3.5)]
)
def test_the_start_is_fast(code, most):
    """At most so many times as long as importing a part of the standard library, so that it holds on any machine.

    In CPU time, and it is tried again, so that a busy machine does not fail it; with compiled modules, as an installed
    package has them: those of the other tests.
    """

    def seconds(code):
        begun = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime

    seconds(f"{STANDARD}; {code}")  # compiles what is not yet
    standard, ours = [], []
    for _ in range(5):
        standard.append(seconds(STANDARD))
        ours.append(seconds(code))
        if min(ours) < most * min(standard):
            break
    assert min(ours) < most * min(standard)


def test_the_import_loads_no_strategy_index_or_summarizer():
    """They are loaded by the first conversation that needs them."""
    later = ("transom.search.sqlite_index", "transom.summaries.llm", "transom.strategies.fold.layered_records")
    code = f"import sys, transom; print(sorted(set({later!r}) & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_help_loads_no_tokenizer():
    code = "import sys; from transom.cli import main; main(['--help']); sys.exit('tiktoken' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0
