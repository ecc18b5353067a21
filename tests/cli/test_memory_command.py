"""`transom memory`: blocks of a store, their versions, and whose they are."""

from __future__ import annotations

import json

import pytest
from conversation_files import chat, write_jsonl

from transom.memory import Memory

STORE = ("--store", "sqlite:///a.db")


@pytest.fixture
def memory(run):
    """A block of user ana in a store of the folder that commands run in."""
    with Memory.open("sqlite:///a.db", user_id="ana", agent="guide") as opened:
        opened.add_block("human", "What is known.", text="likes tea", limit=100)
        yield opened


def test_blocks_are_listed_shown_and_edited(run, memory):
    code, out, err = run("memory", "--user", "ana", *STORE)
    assert (code, err) == (0, "")
    assert "1 memory block of user ana" in out
    assert "likes tea" in out
    assert run("memory", "--user", "bob", *STORE)[1].startswith("sqlite:///a.db: 0 memory blocks")
    assert run("memory", "human", "--user", "ana", "--set", "likes coffee", *STORE)[0] == 0
    shown = json.loads(run("memory", "human", "--user", "ana", *STORE, "--json")[1])
    assert shown == {
        "label": "human",
        "text": "likes coffee",
        "description": "What is known.",
        "limit": 100,
        "version": 2,
    }
    assert run("memory", "human", "--user", "ana", "--restore", 1, *STORE)[0] == 0
    versions = json.loads(run("memory", "human", "--user", "ana", "--history", *STORE, "--json")[1])["versions"]
    assert [(one["by"], one["operation"], one["text"]) for one in versions] == [
        ("guide", "add", "likes tea"),
        ("command line", "rethink", "likes coffee"),
        ("command line", "restore", "likes tea"),
    ]
    assert "likes coffee" in run("memory", "human", "--user", "ana", "--history", *STORE)[1]


def test_a_block_is_forgotten_only_after_a_yes(run, memory):
    code, _, err = run("memory", "human", "--user", "ana", "--forget", *STORE)
    assert code == 2
    assert "cannot be undone" in err
    assert memory.labels() == ["human"]
    assert run("memory", "human", "--user", "ana", "--forget", "--yes", *STORE)[0] == 0
    assert memory.labels() == []


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("persona",), "there is no block 'persona'; there are: none"),
        (("--history",), "--history needs the label of a block"),
        (("human", "--forget", "--set", "x"), "one of --set and --forget at a time"),
        (("human", "--user", "ana", "--set", "x" * 101), "101 characters, limit 100"),
        (("--user", ""), "user_id must be a text of at least one character"),
        (("human",), "there is no block 'human'; there are: none"),
        (("human", "--name", "team"), "there is no block 'human'; there are: none"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(run, memory, args, why):
    code, out, err = run("memory", *args, *STORE)
    assert (code, out) == (2, "")
    assert why in " ".join(err.split())


def test_memory_is_no_conversation(run, memory):
    assert json.loads(run("conversations", "--store", "sqlite:///a.db", "--json")[1])["conversations"] == []


@pytest.mark.parametrize("edit", [("--set", "x"), ("--restore", 1), ("--forget", "--yes")])
def test_memory_is_written_only_into_a_store_that_was_named(run, folder, edit):
    """The store of the last import may be one that `clean` removes."""
    write_jsonl(folder / "chats.jsonl", {"id": "one", "messages": chat(1)})
    assert run("import", "chats.jsonl")[0] == 0
    with Memory.open("sqlite:///.transom/imports.db") as memory:
        memory.add_block("human", text="likes tea")
    code, out, err = run("memory", "human", *edit)
    assert (code, out) == (2, "")
    assert f"{edit[0]} needs --store" in err
    shown = run("memory", "human", "--json")[1]
    assert json.loads(shown)["text"] == "likes tea"


def test_the_archive_is_listed_searched_and_forgotten(run, memory):
    archive = ("memory", "--archive", "--user", "ana", *STORE)
    assert run(*archive) == (0, "", "transom: the archive is empty\n")
    memory.archive.store("the key is under the blue pot", ["home"])
    memory.archive.store("the train leaves at nine\x1b[31m")
    code, out, err = run(*archive)
    assert (code, err) == (0, "")
    assert [line.split(",")[0] for line in out.splitlines() if line.startswith("text")] == ["text 1", "text 0 (home)"]
    assert "\x1b" not in out
    found = json.loads(run(*archive, "--find", "where is the key", "--json")[1])["texts"]
    assert [one["number"] for one in found][:1] == [0]
    assert run(*archive, "--find", "zebra") == (1, "", "transom: nothing found in the archive\n")
    assert run("memory", "--archive", "--user", "bob", *STORE)[1] == ""
    assert run(*archive, "--forget")[0] == 2
    both = "transom: memory: --forget removes the whole archive: leave --find out\n"
    assert run(*archive, "--find", "key", "--forget", "--yes") == (2, "", both)
    none = "transom: archive 'memory' of user 'anna': there is none in sqlite:///a.db\n"
    assert run("memory", "--archive", "--user", "anna", *STORE, "--forget", "--yes") == (2, "", none)
    assert len(memory.archive) == 2
    assert run(*archive, "--forget", "--yes")[1] == "archive: 2 texts, forgotten\n"
    assert len(memory.archive) == 0
    assert run("memory", "--find", "x", *STORE)[2].startswith("transom: memory: --find needs --archive")
    assert run("memory", "human", "--archive", *STORE)[2].startswith("transom: memory: --archive goes with")
