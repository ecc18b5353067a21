"""`transom usage`: what a store, a user, a conversation and its runs have used."""

from __future__ import annotations

import json

import pytest

import transom
from transom.providers.model_prices import TokenPrices
from transom.providers.scripted import Reply, Scripted, call
from transom.testing import WordCounter

PRICES = TokenPrices(input=10_000, output=10_000)


@pytest.fixture
def store(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    url = "sqlite:///a.db"
    agent = transom.SubAgent("helper", "Helps.", provider=Scripted("found", count=lambda _: 10))
    for name, user in (("trip", "ada"), ("tax", "bob")):
        provider = Scripted(Reply(), call("helper", task="x"), "done", count=lambda _: 100)
        with transom.Conversation.open(url, name, budget=9_000, counter=WordCounter(), user_id=user) as conv:
            conv.run("go", provider=provider, tools=[agent], prices=PRICES, retry=transom.Retry(wait=0))
    transom.Conversation.open(url, "silent", budget=9_000).close()
    return url


def test_the_tables(run, store: str) -> None:
    code, out, _ = run("usage", "--store", store, "--user", "ada")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == f"user ada, {store}: 2 conversations"
    assert [line.split() for line in lines[1:5]] == [
        ["requests", "failed", "input", "cached", "output", "cost", "conversation"],
        ["2", "1", "300", "0", "7", "$3.0700", "trip"],
        ["1", "0", "10", "0", "2", "?", "trip/helper", "4.0"],
        ["3", "1", "310", "0", "9", "$3.0700+", "all"],
    ]
    assert run("usage", "tax", "--store", store, "--user", "bob")[0] == 2


def test_conversations_without_requests_are_counted(run, store: str, monkeypatch) -> None:
    with transom.Conversation.open(store, "asked", budget=9_000, counter=WordCounter()) as conv:
        conv.user("go")
    monkeypatch.setenv("COLUMNS", "60")
    lines = run("usage", "--store", store)[1].splitlines()
    assert lines[0] == f"{store}: requests of 4 of 5 conversations"
    assert lines[2].split() == ["2", "1", "300", "0", "7", "$3.0700", "trip"]
    assert " ".join(lines[3:5]).split() == ["1", "0", "10", "0", "2", "?", "trip/helper", "4.0"]


def test_one_conversation_as_json(run, store: str) -> None:
    with transom.Conversation.open(store, "trip", budget=9_000, counter=WordCounter(), user_id="ada") as conv:
        conv.run("and?", provider=Scripted("yes", count=lambda _: 1))
        used = conv.usage
    found = json.loads(run("usage", "trip", "--store", store, "--json")[1])
    assert [run["total"] for run in found["runs"].values()] == [307 + 12, 2]
    assert (found["total"]["total"], found["total"]["cost"]) == (used.total, None)
    assert found["total"]["agents"] == {"prompt": 10, "output": 2}


MESSAGES = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "And?"},
    {"role": "assistant", "content": "Done."},
]


@pytest.mark.parametrize("command", ["import", "replay"])
def test_the_cost_of_a_recorded_conversation_is_unknown(run, tmp_path, monkeypatch, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "chat.json").write_text(json.dumps({"messages": MESSAGES}))
    assert run(command, "chat.json", "--store", "sqlite:///a.db")[0] == 0
    lines = run("usage", "chat", "--store", "sqlite:///a.db")[1].splitlines()
    assert lines[-2].split() == ["0", "0", "?", "?", "?", "?", "all"]
    assert lines[-1] == "2 replies imported, replayed or appended: their usage is not kept and does not count"
    total = json.loads(run("usage", "chat", "--store", "sqlite:///a.db", "--json")[1])["total"]
    assert (total["cost"], total["recorded"]) == (None, 2)
    assert " unknown " in run("conversations", "--full", "--store", "sqlite:///a.db")[1]
    found = json.loads(run("conversations", "--full", "--json", "--store", "sqlite:///a.db")[1])
    assert [one["cost"] for one in found["conversations"]] == [None]


def test_the_cost_of_what_follows_recorded_replies_is_known(run, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    with transom.Conversation.from_messages(
        MESSAGES, store="sqlite:///a.db", id="chat", budget=9_000, counter=WordCounter()
    ) as conv:
        conv.run("go", provider=Scripted("yes", count=lambda _: 100), prices=PRICES)
        assert conv.usage.cost == conv.usage.dollars > 0
    lines = run("usage", "chat", "--store", "sqlite:///a.db")[1].splitlines()
    assert lines[-2].split()[-2:] == [f"${conv.usage.dollars:.4f}+", "all"]
    assert lines[-1].startswith("2 replies imported, replayed or appended")
