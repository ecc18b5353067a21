"""Each test runs in an empty folder of its own."""

from __future__ import annotations

import pytest

from transom.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def run(capsys):
    """`run("replay", …)` runs a command. Returns its exit code, stdout and stderr."""

    def run(*args):
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def demo(run):
    """Replay the demo in this folder. Returns what it prints."""
    code, out, err = run("demo")
    assert (code, err) == (0, "")
    return out
