"""A command line in a folder of its own."""

from __future__ import annotations

import pytest

from transom.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder: empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def run(capsys):
    """`run("replay", …)`: exit code, stdout, stderr."""

    def run(*args):
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return code, out, err

    return run
