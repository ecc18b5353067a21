"""`transom doctor`: versions, extras, stores, keys, and what to do about each problem."""

from __future__ import annotations

import json
import shlex
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from transom import Conversation
from transom.cli.doctor import Package, extra_of, packages, problems_of, release

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_stores_and_keys(run, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-tulip")
    with Conversation.open("sqlite:///agent.db", "trip", budget=9_000) as conv:
        conv.user("Hi")
    code, out, err = run("doctor", "--json")
    report = json.loads(out)
    assert (code, err, report["problems"]) == (0, "", [])
    assert report["stores"] == [{"url": "agent.db", "conversations": 1, "damaged": [], "problem": ""}]
    assert report["keys"]["OPENAI_API_KEY"] is True
    assert report["keys"]["ANTHROPIC_API_KEY"] is False
    text = run("doctor")[1]
    assert "agent.db  1 conversation\n" in text
    assert "Problems\n  none\n" in text
    assert "tulip" not in out + text


def test_a_store_that_cannot_be_read(run, folder):
    (folder / "broken.db").write_bytes(b"SQLite format 3\0" + b"nothing" * 99)
    code, out, _ = run("doctor", "--json", "--store", "broken.db")
    report = json.loads(out)
    assert code == 1
    assert report["stores"][0]["problem"]
    assert [one["problem"] for one in report["problems"]] == [report["stores"][0]["problem"]]
    assert report["problems"][0]["do"] == "give another --store, or move the file away"
    code, out, _ = run("doctor", "--store", "nowhere.db")
    assert (code, "there is nothing there" in out) == (1, True)
    assert (
        json.loads(run("doctor", "--json", "--store", "nowhere.db")[1])["problems"][0]["do"] == "give another --store"
    )


@pytest.mark.parametrize("columns", [40, 120])
@pytest.mark.parametrize("name", ["it's 1.db", "my chats/", "-odd.db"])
def test_the_command_for_a_damaged_store_can_be_copied(run, folder, monkeypatch, name, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    url = f"jsonl:///{name}" if name.endswith("/") else f"sqlite:///{name}"
    with Conversation.open(url, "trip", budget=9_000) as conv:
        conv.user("Hi")
    if name.endswith("/"):
        (path,) = folder.glob(f"{name}trip*.jsonl")
        path.write_bytes(b"")
    else:
        with closing(sqlite3.connect(folder / name)) as database, database:
            database.execute("UPDATE entries SET body = x'00' WHERE seq = 0")
    code, out, _ = run("doctor", "--store", url)
    assert code == 1
    line = next(line for line in out.splitlines() if "--full" in line)
    words = shlex.split(line)
    assert words[words.index("conversations") :] == ["conversations", "--full", "--store", url]
    assert run(*words[words.index("conversations") :])[0] == 1
    assert run("conversations", "--store", url)[0] == 1


def test_the_command_for_an_extra_stands_alone(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    old = Package(name="openai", installed="1.99.2", least="1.100")
    monkeypatch.setattr("transom.cli.doctor.packages", lambda _: {"": [], "openai": [old]})
    out = run("doctor")[1]
    assert f"      {extra_of('openai', [old]).install}\n" in out
    gone = Package(name="openai", installed=None, least="1.100")
    monkeypatch.setattr("transom.cli.doctor.packages", lambda _: {"": [], "openai": [gone]})
    assert extra_of("openai", [gone]).install + "\n" in run("doctor")[1]


def test_the_extras_are_those_of_the_project():
    extras = PROJECT["optional-dependencies"]
    lines = [f"{each}; extra == '{name}'" for name, needed in extras.items() for each in needed]
    found = packages([*PROJECT["dependencies"], *lines])
    assert set(found) == {"", *extras}
    assert [one.name for one in found["local"]] == ["openai", "xllamacpp"]
    assert (found["postgres"][0].name, found["postgres"][0].least) == ("psycopg", "3.2")
    assert found["proxy"][0] == Package(name="httpx2", installed=found["proxy"][0].installed, least="2.0")
    assert all(one.installed for one in found[""])


def test_what_is_too_old_or_missing_is_a_problem():
    old = Package(name="openai", installed="1.99.2", least="1.100")
    new = Package(name="xllamacpp", installed="2026.10", least="2026.1")
    gone = Package(name="msgspec", installed=None, least="0.19")
    extras = [extra_of("local", [old, new]), extra_of("map", [new, gone]), extra_of("openai", [new])]
    assert [one.state for one in extras] == ["too old", "not installed", "installed"]
    problems = [each.problem for each in problems_of([gone, new], extras, [])]
    assert problems == [
        "msgspec is not installed; Transom needs 0.19 or later",
        "the extra local is too old: openai 1.99.2",
    ]
    assert release("1.2rc1") == (1, 2)
    assert not Package(name="mcp", installed="2.0", least="2.0.0").is_too_old
