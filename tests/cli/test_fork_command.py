"""`transom fork`: a conversation that begins with the past of another one."""

from __future__ import annotations

import json

import pytest
from conversation_files import chat, write_jsonl


@pytest.fixture(params=["sqlite:///a.db", "jsonl:///logs"])
def url(run, request):
    chats = [{"id": "chat 1", "messages": chat(3, 2_000)}]
    assert run("replay", write_jsonl("chats.jsonl", *chats), "--budget", 90_000, "--store", request.param)[0] == 0
    return request.param


def entries(run, name, url):
    return json.loads(run("log", name, "--store", url, "--json")[1])["entries"]


def test_it_prints_the_new_id(run, url):
    before = entries(run, "chat 1", url)
    code, out, err = run("fork", "chat", "--at", "entry 3", "--store", url)
    assert (code, out, err) == (0, "chat 1@3: 4 entries of chat 1\n", "")
    assert entries(run, "chat 1@3", url)[:4] == before[:4]
    last = entries(run, "chat 1@3", url)[4]
    assert last["kind"] == "forked"
    assert last["text"] == "from chat 1: the entries before this one are a copy of its first ones"
    code, out, _ = run("fork", "chat 1", "--name", "mine", "--store", url, "--json")
    assert (code, json.loads(out)) == (0, {"conversation": "mine", "source": "chat 1", "entries": len(before)})
    assert run("window", "mine", "--budget", 90_000, "--store", url)[0] == 0


def test_what_is_wrong_is_one_line(run, url):
    taken = "a conversation 'chat 1' already"
    for options, why in ((("--at", 999), "there is no entry 999"), (("--name", "chat 1"), taken)):
        code, out, err = run("fork", "chat 1", *options, "--store", url)
        assert (code, out) == (2, "")
        assert why in err
        assert err.count("\n") == 1
