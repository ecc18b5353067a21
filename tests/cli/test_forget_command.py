"""`transom forget`: it asks, and removes a conversation."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sqlite3
from contextlib import closing, contextmanager

import pytest
from command_process import finish, start_command
from conversation_files import chat, write_jsonl

from transom import Conversation
from transom.cli import main
from transom.core.entry import Meta
from transom.stores import open_store


class TypedInput(io.StringIO):
    """A stdin that is a terminal, with an answer."""

    def isatty(self):
        return True


@pytest.fixture(scope="module", params=["sqlite:///a.db", "jsonl:///logs"])
def made(request, tmp_path_factory):
    """A store, and the folder in which it was made."""
    folder = tmp_path_factory.mktemp("made")
    chats = [{"id": name, "messages": chat(3, 12_000)} for name in ("chat 1", "chat 10")]
    args = ["replay", str(write_jsonl(folder / "chats.jsonl", *chats)), "--budget", "90000", "--store", request.param]
    with contextlib.chdir(folder):
        assert main(args) == 0
    return request.param, folder


@pytest.fixture
def url(folder, capsys, made):
    """A store with the conversations `chat 1` and `chat 10`, of one large message each, the same."""
    url, where = made
    capsys.readouterr()
    shutil.copytree(where, folder, dirs_exist_ok=True)
    return url


def ids(run, url):
    """The ids in the store, separated by commas."""
    found = json.loads(run("conversations", "--store", url, "--json")[1])["conversations"]
    return ", ".join(each["id"] for each in found)


def test_it_prints_what_was_removed(run, url):
    entries = len(json.loads(run("log", "chat 10", "--store", url, "--json")[1])["entries"])
    code, out, err = run("forget", "chat 10", "--yes", "--store", url)
    assert (code, err, out) == (0, "", f"chat 10: {entries} entries, forgotten\n")
    assert ids(run, url) == "chat 1"
    found = json.loads(run("forget", "chat 1", "--yes", "--store", url, "--json")[1])
    assert found == {"conversation": "chat 1", "entries": entries}
    assert ids(run, url) == ""


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), (" YES \n", 0), ("n\n", 1), ("\n", 1), ("", 1)])
def test_it_asks(run, url, monkeypatch, typed, code):
    monkeypatch.setattr("sys.stdin", TypedInput(typed))
    found, out, err = run("forget", "10", "--store", url, "--json")
    assert (found, bool(out)) == (code, code == 0)
    assert err.startswith("chat 10: ")
    assert " entries. Forget it for good? [y/N] " in err
    assert ("nothing was removed" in err) == (code == 1)
    assert ids(run, url) == ("chat 1, chat 10" if code else "chat 1")


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("chat 10",), "forgetting 'chat 10' cannot be undone: there is no terminal to ask at, so add --yes"),
        (("10", "--yes"), "--yes takes the whole id: 'chat 10'"),
        (("chat", "--yes"), "'chat' is a part of 2 ids: chat 1, chat 10"),
        (("nobody", "--yes"), "no conversation 'nobody' in "),
    ],
)
def test_an_error_of_forget_is_one_line(run, url, args, error):
    code, out, err = run("forget", *args, "--store", url)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"transom: {error}")
    assert ids(run, url) == "chat 1, chat 10"


@pytest.mark.parametrize(
    "args",
    [("explain", ""), ("forget", ""), ("forget", "", "--yes"), ("fork", " "), ("search", "x", "--conversation", "")],
)
def test_an_empty_id_is_no_part_of_an_id(run, args):
    chats = {"id": "chat 1", "messages": chat(3)}
    assert run("replay", write_jsonl("chats.jsonl", chats), "--budget", 90_000, "--store", "sqlite:///a.db")[0] == 0
    code, out, err = run(*args, "--store", "sqlite:///a.db")
    assert (code, out, err.split(": `")[0]) == (2, "", "transom: the id of a conversation must not be empty")
    assert ids(run, "sqlite:///a.db") == "chat 1"


def test_a_closed_stdin_is_no_terminal(run, url, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    assert run("forget", "chat 10", "--store", url)[0] == 2
    assert ids(run, url) == "chat 1, chat 10"


@contextmanager
def removal_blocked(folder):
    """Somebody reads: the last bytes cannot be removed."""
    with closing(sqlite3.connect(folder / "a.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM logs").fetchall()
        yield


def test_forget_again_removes_what_an_interrupted_one_left(run, url, folder, monkeypatch):
    if not url.startswith("sqlite"):
        pytest.skip("in JSON Lines a conversation is one file: it is there or gone")
    monkeypatch.setattr("transom.stores.sqlite_file.MAX_WAIT", 0.05)
    command = ("forget", "chat 1", "--yes", "--store", url)
    with removal_blocked(folder):
        for _ in range(2):
            code, out, err = run(*command)
            assert (code, out, err.count("\n")) == (2, "", 1)
            assert "the conversation is gone, but bytes of it stay there until it is forgotten once more" in err
    code, out, err = run(*command)
    assert (code, err) == (0, "")
    assert out.startswith("chat 1: not there, leftovers removed")
    assert ids(run, url) == "chat 10", "not that, of whose id it is a part"
    assert run(*command) == (2, "", "transom: --yes takes the whole id: 'chat 10'\n"), "nothing is left"
    with removal_blocked(folder):
        assert run("forget", "chat 10", "--yes", "--store", url)[0] == 2
    found = json.loads(run("forget", "chat 10", "--yes", "--store", url, "--json")[1])
    assert found == {"conversation": "chat 10", "entries": None}
    code, out, err = run("forget", "chat 10", "--yes", "--store", url)
    assert (code, out) == (2, "")
    assert err.startswith("transom: no conversation 'chat 10' in ")


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1)])
def test_a_damaged_conversation_can_be_forgotten(run, folder, monkeypatch, typed, code):
    url = "jsonl:///logs"
    write_jsonl("chats.jsonl", {"id": "chat 1", "messages": chat(3)})
    assert run("replay", "chats.jsonl", "--budget", 90_000, "--store", url)[0] == 0
    (path,) = folder.glob("logs/*.jsonl")
    path.write_bytes(bad := path.read_bytes().replace(b'"crc":"', b'"crc":"!', 1))
    monkeypatch.setattr("sys.stdin", TypedInput(typed))
    found, out, err = run("forget", "chat 1", "--store", url)
    assert (found, path.exists()) == (code, code == 1)
    assert err.startswith("chat 1: damaged. Forget it for good? [y/N] ")
    if code:
        assert err.endswith("transom: chat 1: damaged, nothing was removed\n")
        assert path.read_bytes() == bad
    else:
        assert out == "chat 1: damaged, forgotten\n"


def test_what_cannot_be_read_is_in_the_json_too(run, folder):
    store = open_store("jsonl:///logs")
    for name in ("chat 1", "chat 2"):
        with Conversation.open(store, name, budget=8_000, user_id="ana") as conv:
            conv.user("hello")
    (path,) = folder.glob("logs/chat-1*.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"crc":"', b'"crc":"!', 1))
    code, out, err = run("forget", "--user", "ana", "--yes", "--json", "--store", "jsonl:///logs")
    assert (code, err.count("damaged")) == (0, 1)
    rows = run("conversations", "--store", "jsonl:///logs")[1].splitlines()
    assert [row.split() for row in rows[2:]] == [["damaged", "chat", "1"]]
    (row,) = json.loads(run("conversations", "--store", "jsonl:///logs", "--json")[1])["conversations"]
    assert (row["id"], row["entries"], "is damaged" in row["damaged"]) == ("chat 1", None, True)
    found = json.loads(out)
    assert found == {"user": "ana", "conversations": ["chat 2"], "memory": [], "damaged": ["chat 1"]}


@pytest.mark.parametrize("args", [("pin", "chat 1", "6"), ("undo", "chat 1"), ("forget", "chat 1", "--yes")])
def test_a_command_that_waits_for_a_writer_says_so_once(run, folder, args):
    write_jsonl("chats.jsonl", {"id": "chat 1", "messages": chat(1)})
    url = ("--store", "sqlite:///a.db")
    assert run("replay", "chats.jsonl", "--budget", 4_000, *url)[0] == 0
    assert run("pin", "chat 1", "4", *url)[0] == 0
    with closing(sqlite3.connect("a.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = start_command(*args, *url)
        assert waiting.stderr.readline() == f"transom: {folder}/a.db is locked: waiting for another process\n"
        other.execute("ROLLBACK")
        assert finish(waiting)[::2] == (0, "")


@pytest.fixture
def with_subagents(run, folder):
    """A store with a session that has two subagents, and with one of another session."""
    chats = [{"id": name, "messages": chat(1)} for name in ("s1", "s1#a", "s1#b", "s10", "s10#a")]
    write_jsonl("chats.jsonl", *chats)
    assert run("import", "chats.jsonl", "--store", "a.db")[0] == 0


def test_subagents_that_stay_are_named_and_not_taken_for_the_session(run, with_subagents):
    code, _, err = run("forget", "s1", "--yes", "--store", "a.db")
    said = "transom: 2 subagents of it stay: s1#a, s1#b; --subagents forgets them too\n"
    assert (code, err) == (0, said)
    error = "transom: no conversation 's1' in a.db; it has subagents of it: s1#a, s1#b\n"
    assert run("explain", "s1", "--store", "a.db") == (2, "", error)
    assert run("forget", "s1", "--yes", "--store", "a.db") == (2, "", error)
    found = json.loads(run("forget", "s1", "--subagents", "--yes", "--store", "a.db", "--json")[1])
    assert (found["conversation"], found["subagents"]) == ("s1", ["s1#a", "s1#b"])
    assert sorted(ids(run, "a.db").split(", ")) == ["s10", "s10#a"]


def test_a_session_is_forgotten_with_its_subagents(run, with_subagents, monkeypatch):
    monkeypatch.setattr("sys.stdin", TypedInput("y\n"))
    code, out, err = run("forget", "s1", "--subagents", "--store", "a.db")
    assert code == 0
    assert "s1: 6 entries and 2 subagents. Forget them for good? [y/N] " in err
    assert "s1: 6 entries and 2 subagents, forgotten" in out
    assert "stay" not in err
    assert sorted(ids(run, "a.db").split(", ")) == ["s10", "s10#a"]


def test_sub_agents_of_a_run_are_its_subagents_too(run, folder):
    agents = {"trip/look 7.0": "look", "trip/look 7.0/deep er 3.1": "deep er", "trips/look 7.0": "look"}
    for name in (*agents, "trip", "trip/other", "trip@41", "trip/release 1.0"):
        with Conversation.open("sqlite:///a.db", name, budget=10_000) as conversation:
            conversation.tags = Meta(agent_id=agents.get(name, ""))
            conversation.user("Hi")
    code, _, err = run("forget", "trip", "--yes", "--store", "a.db")
    said = "transom: 2 subagents of it stay: trip/look 7.0, trip/look 7.0/deep er 3.1; --subagents forgets them too\n"
    assert (code, err) == (0, said)
    assert run("log", "trip", "--store", "a.db")[0] == 2
    assert run("forget", "trip/look 7.0", "--subagents", "--yes", "--store", "a.db")[0] == 0
    assert sorted(ids(run, "a.db").split(", ")) == ["trip/other", "trip/release 1.0", "trip@41", "trips/look 7.0"]
    assert run("log", "ips/look", "--store", "a.db")[0] == 0


def test_a_session_without_subagents_is_forgotten_as_before(run, with_subagents):
    found = json.loads(run("forget", "s10#a", "--subagents", "--yes", "--store", "a.db", "--json")[1])
    assert found["subagents"] == []
    assert run("forget", "s10", "--yes", "--store", "a.db")[2] == ""
