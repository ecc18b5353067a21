"""Each test runs in an empty folder of its own."""

from __future__ import annotations

import shutil

import pytest
from command_process import finish, start_command

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


@pytest.fixture(scope="session")
def replayed_demo(tmp_path_factory):
    """A folder in which the demo was replayed once, and what that printed."""
    folder = tmp_path_factory.mktemp("demo")
    code, out, err = finish(start_command("demo", cwd=folder))
    assert (code, err) == (0, "")
    return folder, out


@pytest.fixture
def demo(folder, replayed_demo):
    """The demo, replayed in this folder. Returns what it prints."""
    replayed, out = replayed_demo
    shutil.copytree(replayed, folder, dirs_exist_ok=True)
    return out
