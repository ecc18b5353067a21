"""`transom` alone: it names what can be done here."""

from __future__ import annotations

import pytest

from transom import Conversation
from transom.cli.stores import LAST_STORE


@pytest.fixture(autouse=True)
def home(folder, monkeypatch):
    """An empty home folder, and an empty folder in it to work in."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    (folder / "work").mkdir()
    monkeypatch.chdir(folder / "work")
    return folder


def test_where_nothing_is_there(run, home):
    code, out, err = run()
    assert (code, err) == (0, "")
    assert "Nothing is here yet\n  transom demo" in out
    assert "transom doctor" in out
    assert list((home / "work").iterdir()) == []


def test_a_store_and_sessions(run, home):
    with Conversation.open("sqlite:///agent.db", "trip", budget=9_000) as conv:
        conv.user("Hi")
    (home / "work" / "other.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    (home / ".claude" / "projects" / "p").mkdir(parents=True)
    (home / ".claude" / "projects" / "p" / "a.jsonl").touch()
    (home / ".codex" / "sessions").mkdir(parents=True)
    out = run()[1]
    assert "There is a store: agent.db\n  transom inspect --store agent.db " in out
    assert "other.db" not in out, "it is another program's"
    assert "Claude Code has sessions in ~/.claude/projects\n" in out
    assert "  transom replay ~/.claude/projects --budget 100k" in out
    assert "Codex" not in out, "its folder is empty"
    assert "Nothing is here yet" not in out


def test_the_store_of_the_last_replay_is_named_once(run):
    assert run("demo")[0] == 0
    assert run()[1].count("There is a store: ") == 1


def test_a_store_that_was_named_in_another_way_is_named_once(run):
    assert run("demo")[0] == 0
    LAST_STORE.write_text(f"sqlite:///./{LAST_STORE.read_text().strip().removeprefix('sqlite:///')}")
    assert run()[1].count("There is a store: ") == 1
