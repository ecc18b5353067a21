"""`forget`: asks, removes, says what that freed."""

from __future__ import annotations

import io
import json

import pytest
from chats import chat, write


class Keyboard(io.StringIO):
    """A terminal at which somebody has typed."""

    def isatty(self):
        return True


@pytest.fixture(params=["sqlite:///a.db", "jsonl:///logs"])
def url(run, request):
    """A store with the conversations `chat 1` and `chat 10`, of one large message each, the same."""
    chats = [{"id": name, "messages": chat(3, 12_000)} for name in ("chat 1", "chat 10")]
    assert run("replay", write("chats.jsonl", *chats), "--budget", 90_000, "--store", request.param)[0] == 0
    return request.param


def ids(run, url):
    """The conversations that are there, by what is said of one that is not."""
    return run("show", "zzz", "--store", url)[2].partition(" there is ")[2].strip()


def test_it_says_what_was_removed(run, url):
    entries = len(json.loads(run("show", "chat 10", "--store", url, "--json")[1])["entries"])
    code, out, err = run("forget", "chat 10", "--yes", "--store", url)
    assert (code, err, out.count("\n")) == (0, "", 1)
    start, _, end = out.partition(" forgotten, the store is ")
    assert start == f"chat 10: {entries} entries"
    freed = int(end.removesuffix(" bytes smaller\n").replace(",", ""))
    assert freed > 1_000, "not the large messages: the other has them too"
    assert ids(run, url) == "chat 1"
    found = json.loads(run("forget", "chat 1", "--yes", "--store", url, "--json")[1])
    assert found == {"conversation": "chat 1", "entries": entries, "freed": found["freed"]}
    assert found["freed"] > 200_000
    assert ids(run, url) == ""


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), (" YES \n", 0), ("n\n", 1), ("\n", 1), ("", 1)])
def test_it_asks(run, url, monkeypatch, typed, code):
    monkeypatch.setattr("sys.stdin", Keyboard(typed))
    found, out, err = run("forget", "10", "--store", url, "--json")
    assert (found, bool(out)) == (code, code == 0)
    assert err.startswith("chat 10: ")
    assert " entries. Forget them for good? [y/N] " in err
    assert ("all kept" in err) == (code == 1)
    assert ids(run, url) == ("chat 1, chat 10" if code else "chat 1")


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("chat 10",), "forgetting 'chat 10' cannot be undone: there is no terminal to ask at, so say --yes"),
        (("10", "--yes"), "--yes takes the whole id: 'chat 10'"),
        (("chat", "--yes"), "'chat' is a part of 2 ids: chat 1, chat 10"),
        (("nobody", "--yes"), "no conversation 'nobody' in "),
    ],
)
def test_what_cannot_be_is_said_in_one_line(run, url, args, error):
    code, out, err = run("forget", *args, "--store", url)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"transom: {error}")
    assert ids(run, url) == "chat 1, chat 10"


def test_a_closed_stdin_is_no_terminal(run, url, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    assert run("forget", "chat 10", "--store", url)[0] == 2
    assert ids(run, url) == "chat 1, chat 10"
