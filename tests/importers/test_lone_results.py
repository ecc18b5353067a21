"""Tool results that answer no open call, and broken lines, are reported wherever a file is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from transom.cli import main
from transom.importers import import_file
from transom.importers.lone_results import remark_on_results
from transom.stores import MemoryStore
from transom.wire.openai import OPENAI_CHAT


def call(*ids: str) -> dict[str, Any]:
    calls = [{"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(of: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": of, "content": "done"}


USER = {"role": "user", "content": "Go."}
NO_CALL = "1 tool result has no call: no window shows it"
CASES = [
    ([USER, call("a"), result("a")], ""),
    ([USER, call("a"), result("a"), call("a"), result("a")], ""),
    ([USER, call("a", "a"), result("a"), result("a")], ""),
    ([USER, call("a"), result("a"), result("b")], NO_CALL),
    ([USER, call("a"), result("a"), result("a")], "1 tool result comes a second time: no window shows it"),
    (
        [USER, result("x"), result("y"), call("a"), result("a"), result("a")],
        "2 tool results have no call and 1 tool result comes a second time: no window shows them",
    ),
]


@pytest.mark.parametrize(("messages", "remark"), CASES)
def test_results_without_an_open_call_are_counted(messages: list[dict[str, Any]], remark: str) -> None:
    assert remark_on_results(fact for _, fact in OPENAI_CHAT.parse(messages)) == remark


def line(number: int, message: object, kind: str = "user") -> dict[str, Any]:
    parent = f"u{number - 1}" if number else None
    return {"type": kind, "uuid": f"u{number}", "parentUuid": parent, "sessionId": "s", "message": message}


SESSION = [
    line(0, {"role": "user", "content": "Go."}),
    line(1, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "?"}]}),
    line(2, {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "Done."}]}, "assistant"),
]


def written(path: Path, *values: object) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def test_an_import_remarks_on_them(tmp_path: Path) -> None:
    for path in (written(tmp_path / "s.jsonl", *SESSION), written(tmp_path / "chat.jsonl", *CASES[3][0])):
        (one,) = import_file(path, MemoryStore())
        assert NO_CALL in one.remarks


@pytest.mark.parametrize("command", ["replay", "audit"])
def test_a_command_says_so_and_counts_broken_lines(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path("s.jsonl"), *SESSION, 5, line(3, None), {"type": "summary"})
    assert main([command, "s.jsonl"]) == 0
    said = capsys.readouterr().err
    assert f"transom: s.jsonl: {NO_CALL}\n" in said
    assert "transom: s.jsonl: 2 broken lines hold no message\n" in said


@pytest.mark.parametrize("kind", ["sessions", "chats", "both"])
def test_an_id_for_a_folder_of_several_conversations_stores_nothing(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    written(Path("in/a.jsonl"), *(SESSION[:1] if kind != "chats" else [USER]))
    assert main(["import", "in", "--id", "one"]) == 0
    written(Path("in/b.jsonl"), *(SESSION[:1] if kind == "sessions" else [USER]))
    capsys.readouterr()
    assert main(["import", "in", "--id", "two", "--store", "other.db"]) == 2
    assert capsys.readouterr() == ("", "transom: --id names one conversation, and there are several: leave it out\n")
    assert main(["conversations", "--store", "other.db", "--json"]) == 2 or "two" not in capsys.readouterr().out
