"""What Transom creates can be read by its owner only, whatever the umask; what exists keeps its mode."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from transom import Conversation
from transom.cli import main
from transom.readback import mirror

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no modes")


@pytest.fixture(autouse=True)
def _open_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """The files and folders below a folder that somebody else can use."""
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.stat().st_mode & 0o077)


def worked(url: str) -> None:
    with Conversation.open(url, "x", budget=9_000) as conv:
        conv.user("secret " * 20_000)
        list(conv.search("secret"))
        assert open_to_others(Path()) == []  # also while it is open: SQLite has files beside its own
    with Conversation.open(url, "x", budget=9_000) as conv:
        conv.request()


@pytest.mark.parametrize("url", ["sqlite:///a.db", "jsonl:///deep/er/folder"])
def test_stores(url: str, tmp_path: Path) -> None:
    worked(url.replace("///", f"///{tmp_path}/"))
    assert open_to_others(tmp_path) == []
    assert [*tmp_path.iterdir()]


def test_commands(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"id": "a", "messages": turns}))
    given.chmod(0o600)
    for line in (
        "replay given.json --budget 4000 --out windows.jsonl.gz",
        "import given.json --store sqlite:///i.db",
        "export a --store sqlite:///i.db -o out.jsonl",
        "window a --store sqlite:///i.db --budget 4000",
        "search one --store sqlite:///i.db",
    ):
        assert main(line.split()) == 0, line
    assert open_to_others(tmp_path) == []


def test_a_mirror(tmp_path: Path) -> None:
    with Conversation.open("memory:", "x", budget=9_000) as conv:
        conv.user("go")
        conv.request()
        call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        conv.observe({"role": "assistant", "content": None, "tool_calls": [call]})
        conv.tool_result("c1", "a result")
        assert len(mirror(conv.log, tmp_path / "to" / "mirror")) == 1
    assert open_to_others(tmp_path) == []


def test_what_exists_keeps_its_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o770)
    (shared / "a.db").touch()
    (shared / "a.db").chmod(0o660)
    with Conversation.open(f"sqlite:///{shared}/a.db", "x", budget=9_000) as conv:
        conv.user("hello")
    out = tmp_path / "out.jsonl"
    out.write_text("")
    out.chmod(0o644)
    assert main(["export", "x", "--format", "openai", "--store", f"sqlite:///{shared}/a.db", "-o", str(out)]) == 0
    modes = {each.name: oct(each.stat().st_mode & 0o777) for each in (shared, shared / "a.db", out)}
    assert modes == {"shared": "0o770", "a.db": "0o660", "out.jsonl": "0o644"}
