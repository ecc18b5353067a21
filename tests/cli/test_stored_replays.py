"""Replays without --store: one store for each folder, with the last one; `clean` and `conversations`."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import time
from contextlib import closing

import pytest
from command_process import finish, start_command
from conversation_files import chat, write_jsonl

from transom.core.codec import encode
from transom.stores import open_store
from transom.stores.conversation_list import FIRST_ENTRIES, StoredConversation, conversations_in
from transom.stores.sqlite import SqliteLog
from transom.testing import talk

REPLAY = ("replay", "chats.jsonl", "--budget")


def stored(run, *store):
    """The ids in the last store of the folder, or in this one, and how many entries each has."""
    where = ["--store", *store] if store else []
    return {one["id"]: one["entries"] for one in json.loads(run("conversations", *where, "--json")[1])["conversations"]}


def limit_of(run, part):
    return json.loads(run("explain", part, "--at", 1, "--json")[1])["limit"]


def test_a_replay_replaces_the_one_before(run, folder):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(3)}, {"id": "two", "messages": chat(2)})
    write_jsonl("other.jsonl", {"id": "other", "messages": chat(1)})
    for budget in (4_000, 3_000):
        assert run(*REPLAY, budget)[0] == 0
        assert [*stored(run)] == ["one", "two"]
        assert limit_of(run, "one") == budget
    assert (folder / ".transom" / "last").read_text() == "sqlite:///.transom/replays.db?synchronous=normal\n"
    assert run("demo", "--budget", 16_000, "--json")[0] == 0
    assert [*stored(run)] == ["demo"]
    assert [*stored(run, ".transom/replays.db")] == ["one", "two"], "the demo has a store of its own"
    assert run("replay", "other.jsonl", "--budget", 2_000)[0] == 0
    assert [*stored(run)] == ["other"]
    assert run("replay", "none.jsonl", "--budget", 2_000)[0] == 2
    assert [*stored(run)] == ["other"], "nothing was replayed"
    code, _, err = run("explain", "none")
    assert (code, err.count("\n"), "it has 1 conversation: other\n" in err) == (2, 1, True), err


def test_a_killed_run_is_replaced(run, folder):
    write_jsonl("chats.jsonl", *({"id": f"chat {n}", "messages": chat(40, size=100)} for n in range(10)))
    store = folder / ".transom" / "replays.db"
    started = start_command(*REPLAY, 5_000)
    deadline = time.monotonic() + 30
    while entries(store) < 300 and started.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(started.pid, signal.SIGKILL)
    assert finish(started)[0] == -signal.SIGKILL
    assert 0 < len(stored(run)) < 10
    assert run(*REPLAY, 5_000)[0] == 0
    assert [*stored(run)] == [f"chat {n}" for n in range(10)]


@pytest.mark.parametrize("store", ["both.db", "both/"])
def test_of_two_replays_into_one_store_one_is_refused(run, folder, store):
    write_jsonl("chats.jsonl", *({"id": f"chat {n}", "messages": chat(60, size=100)} for n in range(2)))
    command = (*REPLAY, 5_000, "--store", store, "--json")
    done = [finish(process) for process in [start_command(*command) for _ in range(2)]]
    assert sorted(code for code, _, _ in done) == [0, 2], done
    (error,) = [err for code, _, err in done if code]
    error = re.sub(r".* is locked: waiting for another process\n", "", error)  # on a busy machine
    assert re.fullmatch(r"transom: .*(is in use by .*: try again later|is in the store already).*\n", error), error
    assert run(*REPLAY, 5_000, "--store", "alone.db")[0] == 0
    for n in range(2):
        logs = [json.loads(run("log", f"chat {n}", "--json", "--store", place)[1]) for place in (store, "alone.db")]
        kinds = [[entry["kind"] for entry in log["entries"]] for log in logs]
        assert kinds[0] == kinds[1]


def entries(store):
    """How many entries another process has stored so far."""
    try:
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as db:
            return db.execute("SELECT count(*) FROM entries").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def test_clean_removes_the_maps_of_earlier_versions_too(run, folder):
    box = folder / ".transom"
    box.mkdir()
    old, mine = (box / f"map-{digit * 32}.db" for digit in "01")
    for path, mark in ((old, 0x7472736D), (mine, 5)):
        with closing(sqlite3.connect(path)) as db:
            db.executescript(f"PRAGMA application_id = {mark}; CREATE TABLE facts (path TEXT)")
    assert run("clean", "--yes")[0] == 0
    assert list(box.iterdir()) == [mine]


def test_git_ignores_the_folder(run, folder):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(1)})
    assert run(*REPLAY, 4_000, "--store", "sqlite:///mine.db")[0] == 0
    assert (folder / ".transom" / ".gitignore").read_text() == "*\n"
    (folder / ".transom" / ".gitignore").write_text("mine\n")
    assert run(*REPLAY, 4_000)[0] == 0
    assert (folder / ".transom" / ".gitignore").read_text() == "mine\n", "a file of the user is not changed"


def test_clean_removes_replays_and_nothing_else(run, folder):
    assert run("clean", "--yes") == (0, "no replays in this folder\n", "")
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(1)})
    assert run(*REPLAY, 4_000)[0] == 0
    box = folder / ".transom"
    mine = [box / name for name in ("replay-12.db", "map-notes.txt", "map-mine.cache", f"map-{'0' * 32}.cache")]
    for path in mine:
        path.write_bytes(b"my own")
    code, out, err = run("clean")
    assert (code, out) == (2, "")
    assert err == (
        "transom: removing the replays in .transom cannot be undone: there is no terminal to ask at, so add --yes\n"
    )
    size = sum((box / name).stat().st_size for name in ("replays.db", "last"))
    code, out, _ = run("clean", "--yes", "--json")
    files = ["replays.db", "last"]
    assert (code, json.loads(out)) == (0, {"folder": ".transom", "files": files, "freed": size})
    assert {path.name for path in box.iterdir()} == {".gitignore", *(path.name for path in mine)}
    for path in mine:
        path.unlink()
    assert run(*REPLAY, 4_000)[0] == 0
    assert run("clean", "--yes")[1].startswith(".transom: replays removed, ")
    assert not box.exists()
    assert run("explain", "one")[2].startswith("transom: nothing was replayed in this folder yet: run `transom replay`")


@pytest.mark.parametrize(
    ("answer", "code", "exists"), [("y\n", 0, False), ("yes\n", 0, False), ("\n", 1, True), ("no\n", 1, True)]
)
def test_clean_asks_first(run, folder, monkeypatch, answer, code, exists):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(1)})
    assert run(*REPLAY, 4_000)[0] == 0

    class Terminal:
        def isatty(self):
            return True

        def readline(self):
            return answer

        def fileno(self):
            raise OSError("no terminal")

    monkeypatch.setattr("sys.stdin", Terminal())
    found, _, err = run("clean")
    assert (found, (folder / ".transom" / "replays.db").exists()) == (code, exists)
    assert "bytes of replays. Remove them? [y/N] " in err


def test_conversations_of_a_store(run, folder):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(3)}, {"id": "none", "messages": []})
    write_jsonl("more.jsonl", {"id": "claude", "messages": [{"role": "user", "content": "Hi."}] * 2})
    store = ("--store", "jsonl:///logs")
    before = time.time()
    assert run(*REPLAY, 4_000, *store)[0] == 0
    assert run("replay", "more.jsonl", "--budget", 4_000, "--dialect", "anthropic", *store)[0] == 0
    code, out, _ = run("conversations", "--store", "jsonl:///logs", "--full", "--json")
    found = json.loads(out)
    assert (code, found["store"]) == (0, "jsonl:///logs")
    one, claude = found["conversations"]
    assert {key: one[key] for key in ("id", "entries", "calls", "dialect")} == {
        "id": "one",
        "entries": len(json.loads(run("log", "one", "--json", *store)[1])["entries"]),
        "calls": 4,
        "dialect": "openai",
    }
    assert before <= one["last"] <= time.time()
    assert 3_000 < one["size"] < 20_000
    assert (claude["id"], claude["calls"], claude["dialect"]) == ("claude", 0, "anthropic")
    assert run("conversations", "--store", "jsonl:///logs", "--full", "--json") == (0, out, "")
    short = json.loads(run("conversations", "--json")[1])["conversations"]
    assert short == [{**each, "calls": None, "size": None, "cost": None} for each in found["conversations"]]
    code, out, _ = run("conversations")
    head, titles, *rows = out.splitlines()
    assert titles.split() == ["entries", "last", "entry", "dialect", "id"]
    code, out, _ = run("conversations", "--full")
    head, titles, *rows = out.splitlines()
    assert (code, head, titles.split()) == (
        0,
        "jsonl:///logs: 2 conversations",
        ["entries", "calls", "size", "cost", "last", "entry", "dialect", "id"],
    )
    for row, stored in zip(rows, (one, claude), strict=True):
        assert row.split()[0] == str(stored["entries"])
        assert f" {stored['dialect']}" in row
        assert row.partition(f" {stored['id']}  ")[2].rstrip("…") in stored["title"]
    assert run("conversations", "--user", "nobody")[1] == "jsonl:///logs: 0 conversations\n"


def test_a_list_reads_the_ends_of_conversations_only(tmp_path):
    with closing(open_store(f"{tmp_path}/a.db")) as store:
        said = talk(*"x" * 1_000)
        store.open("long").append(said, 0)
        read = []

        class Counted(SqliteLog):
            def _entry(self, seq, row):
                read.append(seq)
                return super()._entry(seq, row)

        store.open = lambda name: Counted(store, name)
        (one,) = conversations_in(store)
        assert one == StoredConversation(
            id="long", title="x", entries=1_000, first=said[0].at, last=said[-1].at, dialect="openai"
        )
        assert set(read) <= {*range(FIRST_ENTRIES), 999}
        (full,) = conversations_in(store, full=True)
        assert (full.calls, full.size) == (0, sum(len(encode(entry)) for entry in store.open("long").read()))


def test_the_reason_of_damage_is_on_stderr(run, folder):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(3)}, {"id": "two", "messages": chat(1)})
    assert run(*REPLAY, 4_000, "--store", "a.db")[0] == 0
    with closing(sqlite3.connect(folder / "a.db")) as database, database:
        database.execute("UPDATE entries SET body = x'00' WHERE seq = 2 AND log = (SELECT min(id) FROM logs)")
    found = json.loads(run("conversations", "--store", "a.db", "--full", "--json")[1])["conversations"]
    assert [bool(each["damaged"]) for each in found] == [True, False]
    code, out, err = run("conversations", "--store", "a.db", "--full")
    assert (code, len(out.splitlines()), err) == (1, 4, f"transom: one: {found[0]['damaged']}\n")
    code, out, err = run("conversations", "--store", "a.db")
    assert (code, "damaged" in out, err.count("\n")) == (1, True, 1), "what a short list has read is damaged too"
    assert run("conversations", "--store", "a.db", "--full", "--json")[0] == 1


def test_files_without_a_conversation_are_listed_as_damaged(run, folder):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(1)}, {"id": "two", "messages": chat(1)})
    assert run("import", "chats.jsonl", "--store", "logs/")[0] == 0
    assert run("conversations", "--store", "logs/", "--full")[0] == 0
    (empty,) = (folder / "logs").glob("one-*.jsonl")
    empty.write_bytes(b"")
    notes = folder / "logs" / "notes.jsonl"
    notes.write_text("my notes\n")
    code, out, err = run("conversations", "--store", "logs/", "--full")
    assert (code, out.splitlines()[0]) == (1, "logs/: 3 conversations")
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["6", "damaged", "damaged", empty.name]
    assert err.splitlines() == [
        f"transom: notes.jsonl: {notes}: this is not a log of ours",
        f"transom: {empty.name}: {empty}: the file is empty",
    ]


def test_an_entry_is_named_by_its_number_or_as_in_a_marker(run):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(3)})
    assert run(*REPLAY, 4_000)[0] == 0
    for command in ("read", "pin"):
        extra = ("--dry-run",) if command == "pin" else ()
        expected = run(command, "one", "entry", "3", *extra)
        assert expected[0] == 0
        for arguments in (("3",), ("entry 3",), ("[entry 3]",)):
            assert run(command, "one", *arguments, *extra) == expected
    assert run("grep", "one", "file", "--in", "3") == run("grep", "one", "file", "--in", "entry 3")
    assert run("pin", "one", "3")[0] == 0
    seq = json.loads(run("log", "one", "--edits", "--json")[1])["entries"][-1]["seq"]
    assert run("undo", "one", str(seq), "--dry-run") == run("undo", "one", "entry", str(seq), "--dry-run")
    for command in (("pin", "one", "x"), ("undo", "one", "entry")):
        code, _, err = run(*command)
        assert (code, err.count("\n"), "is no entry: write 412, or entry 412" in err) == (2, 1, True), err


def test_an_id_of_digits_is_found_although_another_one_has_it_as_a_part(run, folder):
    write_jsonl("chats.jsonl", *({"id": name, "messages": chat(3)} for name in ("42", "421")))
    assert run(*REPLAY, 4_000)[0] == 0
    assert run("log", "42")[1].startswith("42: ")
    assert run("log", "21")[1].startswith("421: ")
    for command in (("explain", 42), ("pin", 42, 3), ("undo", 42), ("fork", 42, "--name", 43)):
        code, out, err = run(*command)
        assert (code, err, "421" in out) == (0, "", False)
    found = run("search", 42, "--conversation", 42)
    assert (found[0], found[2]) == (1, "transom: nothing found in 1 conversation\n")


def test_the_number_of_a_new_entry_can_be_given_back(run):
    """It has no thousands separator, which no command reads."""
    write_jsonl("chats.jsonl", {"id": "long", "messages": chat(500, size=1)})
    assert run("import", "chats.jsonl")[0] == 0
    number = re.search(r"is entry (\S+)", run("pin", "long", 3)[1])[1]
    assert int(number) > 1_000
    assert run("undo", "long", number)[0] == 0


def test_clean_removes_imports_only_if_asked(run, folder):
    write_jsonl("chats.jsonl", {"id": "chat 1", "messages": chat(1)})
    assert run("import", "chats.jsonl")[0] == 0
    stays = "transom: .transom/imports.db: imported conversations stay; --imports removes them too\n"
    assert run("clean", "--yes") == (0, "no replays in this folder\n", stays)
    assert json.loads(run("conversations", "--json")[1])["conversations"][0]["id"] == "chat 1"
    assert run("search", "anything", "--store", "sqlite:///.transom/imports.db")[2] != ""
    assert (folder / ".transom" / "imports.db.search").exists()
    mine = [folder / ".transom" / f"{name}.db.backup-of-mine.db" for name in ("imports", "replays", "replay-1")]
    for path in mine:
        path.write_bytes(b"my own")
    code, out, err = run("clean", "--imports", "--yes")
    assert (code, err) == (0, "")
    assert sorted(path.name for path in (folder / ".transom").iterdir()) == [
        ".gitignore",
        *sorted(path.name for path in mine),
    ]
    for path in mine:
        path.unlink()
    run("import", "chats.jsonl")
    assert run("clean", "--imports", "--yes")[0] == 0
    assert out.startswith(".transom: replays and imports removed, ")
    assert not (folder / ".transom").exists()
