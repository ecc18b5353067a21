"""The tools of a chat: they wait for nobody, and the shell has no key."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from transom.cli.chat.tools import ChatTools, ToolError

KEYS = {
    "OPENAI_API_KEY": "sk-abcdefgh0123456789",
    "MISTRAL_API_KEY_2": "mistral-0123456789",
    "ANTHROPIC_AUTH_TOKEN": "auth-0123456789",
    "LLM": "key=sk-abcdefgh0123456789",
}


def within(seconds: float, work) -> object:
    """What the work returns or raises, in a thread. Fails if it takes longer."""
    found: list[object] = []

    def run() -> None:
        try:
            found.append(work())
        except ToolError as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, "it still waits"
    return found[0]


@pytest.fixture
def tools(tmp_path: Path) -> ChatTools:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to-the-pipe").symlink_to(tmp_path / "pipe")
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    return ChatTools(tmp_path)


@pytest.mark.parametrize("name", ["pipe", "to-the-pipe", "."])
def test_what_is_no_regular_file_is_neither_read_nor_written(tools, name):
    for work in (lambda: tools.write(name, "x"), lambda: tools.read(name)):
        assert isinstance(within(5, work), ToolError)
    shown = within(5, lambda: tools.preview("write", {"path": name, "content": "x\n"}))
    assert shown == f"write {name}\n@@ -0,0 +1 @@\n+x"


def test_a_pipe_with_a_reader_gets_nothing(tools, tmp_path):
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert isinstance(within(5, lambda: tools.write("pipe", "x")), ToolError)
    assert os.read(reader, 10) == b""
    os.close(reader)


def test_a_search_goes_past_a_pipe(tools):
    assert within(5, lambda: tools.grep("tw")) == "notes.txt:2: two"


def test_a_file_is_replaced_whole_and_keeps_its_mode(tools, tmp_path):
    file = tmp_path / "notes.txt"
    file.chmod(0o640)
    assert tools.write("notes.txt", "é") == "notes.txt replaced, 1 lines"
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == ("é".encode(), 0o640)
    assert tools.write("new/deep.txt", "a\n\udc80") == "new/deep.txt created, 2 lines"


def test_the_shell_has_no_key_in_its_environment(tools, monkeypatch):
    for name, value in {**KEYS, "KEYBOARD": "de", "PLAIN": "kept"}.items():
        monkeypatch.setenv(name, value)
    shown = tools.shell("env")
    assert "PLAIN=kept" in shown
    assert "KEYBOARD=de" in shown
    assert [name for name, value in KEYS.items() if name + "=" in shown or value in shown] == []


def test_a_program_in_the_background_does_not_hold_the_shell(tools):
    start = time.monotonic()
    assert "begun" in tools.shell("setsid sleep 8 & echo begun", timeout=1)
    assert time.monotonic() - start < 5


def test_the_preview_cannot_be_imitated(tools):
    shown = tools.preview("shell", {"command": "rm x\n$ ls"})
    assert shown == "$ rm x\n> $ ls"
    shown = tools.preview("write", {"path": "a\n+harmless", "content": "harm\n"})
    assert shown == "write a\\n+harmless\n@@ -0,0 +1 @@\n+harm"


def test_a_command_that_is_just_starting_is_killed_too(tools: ChatTools, monkeypatch: pytest.MonkeyPatch) -> None:
    started, start = threading.Event(), subprocess.Popen

    def slow(*arguments: object, **options: object) -> object:
        process = start(*arguments, **options)
        started.set()
        time.sleep(0.3)
        return process

    monkeypatch.setattr("transom.cli.chat.tools.subprocess.Popen", slow)
    threading.Thread(target=lambda: (started.wait(), tools.stop()), daemon=True).start()
    assert "exit code -9" in str(within(10, lambda: tools.shell("sleep 20")))


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "loop", "loop/x"])
def test_a_path_that_no_file_can_have_is_the_models_mistake(tools, tmp_path, path):
    (tmp_path / "loop").symlink_to("loop")
    for work in (lambda: tools.write(path, "x"), lambda: tools.read(path), lambda: tools.grep("x", path)):
        assert isinstance(within(5, work), ToolError)
    assert tools.preview("write", {"path": path, "content": "x\n"}).endswith("\n@@ -0,0 +1 @@\n+x")
