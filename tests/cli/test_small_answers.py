"""Answers of commands in odd places: a device for a store, an empty file, no usage."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from transom import Conversation, InvalidSetting, open_store
from transom.cli.find_stores import stores_here
from transom.stores.sqlite_file import APPLICATION

READING = [
    ["conversations"],
    ["usage"],
    ["log", "x"],
    ["read", "x", "0"],
    ["search", "x"],
    ["window", "x"],
    ["memory"],
    ["mcp"],
    ["export", "x"],
]


@pytest.mark.parametrize("command", READING, ids=lambda command: command[0])
@pytest.mark.parametrize("place", ["typo.db", "sqlite:///typo.db", "sqlite:///there/typo.db"])
def test_a_reading_command_creates_no_store(command: list[str], place: str, folder: Path, run: Any) -> None:
    (folder / "there").mkdir()
    code, _, err = run(*command, "--store", place)
    assert (code, err) == (2, f"transom: store {place!r}: there is nothing there\n")
    assert [path.name for path in folder.rglob("*")] == ["there"]


@pytest.mark.parametrize("command", READING, ids=lambda command: command[0])
def test_an_empty_file_is_no_store_and_stays_empty(command: list[str], folder: Path, run: Any) -> None:
    (folder / "empty.db").touch()
    code, _, err = run(*command, "--store", "empty.db")
    assert (code, err) == (2, "transom: store 'empty.db': there is nothing there: the file is empty\n")
    assert [(path.name, path.stat().st_size) for path in folder.iterdir()] == [("empty.db", 0)]


@pytest.mark.parametrize("place", ["/dev/null", "sqlite:////dev/null", "jsonl:////dev/null"])
def test_a_device_is_no_store(place: str, folder: Path, run: Any) -> None:
    why = f"store {place!r}: this is no file and no folder, but a device or the like"
    assert run("conversations", "--store", place) == (2, "", f"transom: {why}\n")
    with pytest.raises(InvalidSetting) as raised:
        open_store(place)
    assert str(raised.value) == why


@pytest.mark.parametrize("command", [["read", "x", "-1"], ["explain", "x", "-1"], ["pin", "x", "-1"]])
def test_a_negative_number_is_no_option(command: list[str], folder: Path, run: Any) -> None:
    said = "transom: -1: entries are numbered from 0: `transom log ID` lists them (try --help)\n"
    assert run(*command) == (2, "", said)


def test_a_negative_number_is_no_entry_of_a_list_of_conversations(folder: Path, run: Any) -> None:
    assert run("conversations", "-5") == (2, "", "transom: No such option: -5 (try --help)\n")


def test_a_pattern_that_is_refused_has_no_control_characters(folder: Path, run: Any) -> None:
    with Conversation.open("sqlite:///a.db", "a", budget=10_000) as conversation:
        conversation.user("Hi \x1b[31m(\t")
    code, _, err = run("grep", "a", "\x1b[31m(\t", "--store", "a.db")
    assert (code, err.strip().isprintable()) == (2, True)
    itself = err.partition("give '")[2].partition("')")[0]
    code, out, _ = run("grep", "a", itself, "--store", "a.db")
    assert (code, "1 matching line" in out) == (0, True)


def test_doctor_tells_of_a_store_that_may_not_be_read(folder: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    header = b"SQLite format 3\0".ljust(68, b"\0") + APPLICATION.to_bytes(4)
    (folder / ".transom").mkdir(exist_ok=True)
    (folder / ".transom" / "mine.db").write_bytes(header)
    (folder / "theirs.db").write_bytes(header)
    (folder / "a_folder.db").mkdir()
    opened = Path.open

    def refused(path: Path, *given: Any, **settings: Any) -> Any:
        if path.name in {"mine.db", "theirs.db"}:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *given, **settings)

    monkeypatch.setattr(Path, "open", refused)
    assert stores_here() == [".transom/mine.db"], "a file elsewhere may be any program's"
    code, out, _ = run("doctor")
    assert (code, "mine.db  cannot be read" in out, "theirs" in out) == (1, True, False)


@pytest.mark.parametrize("columns", ["10", "40", "60"])
@pytest.mark.parametrize("more", [(), ("--full",)])
def test_a_narrow_list_of_conversations_has_their_ids(
    columns: str, more: tuple[str, ...], folder: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Conversation.open("sqlite:///a.db", "a-trip-to-rome-with-the-whole-family", budget=10_000) as conversation:
        conversation.user("Hi")
    monkeypatch.setenv("COLUMNS", columns)
    code, out, err = run("conversations", "--store", "a.db", *more)
    assert (code, err) == (0, "")
    assert "a-trip-to-rome-with-the-whole-family" in "".join(out.split())
    assert all(len(line) <= int(columns) for line in out.splitlines())


def test_on_a_narrow_terminal_edits_name_their_entries(folder: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with Conversation.open("sqlite:///a.db", "trip", budget=400) as conversation:
        for number in range(12):
            conversation.user(f"look at the file src/module_{number}/name.py, which I have not seen yet " * 2)
            conversation.request()
            conversation.observe({"role": "assistant", "content": "ok"})
    monkeypatch.setenv("COLUMNS", "50")
    for command in (("log", "trip", "--edits"), ("explain", "trip")):
        out = run(*command, "--store", "a.db")[1]
        assert max(map(len, out.splitlines())) <= 50
        words = " ".join(out.split())
        if command[0] == "log":
            assert re.search(r" live saves \d+ tokens, (no plan|plan \d+): entries \d+–\d+, digest ", words), out
        else:
            assert re.search(r" folded digest \[entry \d+\] ", words), out


def test_usage_says_where_no_tokens_were_reported(folder: Path, run: Any) -> None:
    for name, usage in (("told", {"prompt_tokens": 7, "completion_tokens": 0}), ("silent", None)):
        with Conversation.open("sqlite:///a.db", name, budget=10_000) as conversation:
            conversation.user("Hi")
            conversation.request()
            choices = [{"message": {"role": "assistant", "content": "Hello."}}]
            conversation.observe({"choices": choices} if usage is None else {"choices": choices, "usage": usage})
    code, out, err = run("usage", "--store", "a.db")
    rows = {line.split()[-1]: line.split()[:-1] for line in out.splitlines()[2:5]}
    assert (code, err) == (0, "")
    assert rows == {
        "silent": ["1", "0", "?", "?", "?", "?"],
        "told": ["1", "0", "7", "0", "0", "?"],
        "all": ["2", "0", "7", "0", "0", "?"],
    }
    assert out.splitlines()[5] == "?: the provider reported no tokens for these requests"
