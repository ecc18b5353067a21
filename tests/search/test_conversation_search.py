"""Search from a conversation, from an event loop, as a model's tool, and at the command line."""

from __future__ import annotations

import asyncio
import json

import pytest

import transom
from transom.cli import main
from transom.errors import InvalidSetting
from transom.providers.scripted import Scripted, call
from transom.readback import TOOLS, answer_call
from transom.search import SearchHit
from transom.stores import open_store
from transom.testing import WordCounter
from transom.texts import READ_BACK

BUDGET = 4_000


def begin(store, name, *said, user_id=None):
    conv = transom.Conversation.open(store, name, budget=BUDGET, user_id=user_id)
    for text in said:
        conv.user(text)
    return conv


@pytest.fixture
def store():
    store = open_store("memory:")
    begin(store, "ann-1", "the harbour pilot is Jonas", user_id="ann")
    begin(store, "bob-1", "the harbour pilot is Mira", user_id="bob")
    begin(store, "old", "the harbour pilot is nobody")
    return store


def names(hits):
    return {hit.conversation for hit in hits}


def test_the_scopes(store):
    conv = begin(store, "ann-2", "which harbour?", user_id="ann")
    assert names(conv.search("harbour")) == {"ann-2"}
    assert names(conv.search("harbour", scope="user")) == {"ann-1", "ann-2"}
    assert names(conv.search("harbour", scope="store")) == {"ann-1", "ann-2", "bob-1", "old"}
    assert [hit.snippet for hit in conv.search("pilot", scope="user")] == ["the harbour pilot is Jonas"]


def test_a_conversation_of_nobody_has_no_user_to_search(store):
    with pytest.raises(InvalidSetting, match="scope 'user': this conversation has no user; open a new one with a"):
        begin(store, "new", "x").search("harbour", scope="user")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"scope": "all"}, "scope: must be one of"),
        ({"query": 3}, "query: must be"),
        ({"roles": ["usr"]}, "search: there is no role 'usr'; there are: user, assistant, tool, note"),
        ({"roles": "user"}, "search: roles: expected `array`, got `str`"),
        ({"since": "2020"}, r"search: since: expected `float \| null`, got `str`"),
        ({"roles": 5}, "search: roles: expected `array`, got `int`$"),
        ({"roles": [5]}, r"search: roles\[0\]: expected `str`, got `int`$"),
        ({"roles": {"user": 1}}, "search: roles: expected `array`, got `object`$"),
        ({"tools": None}, "search: tools: expected `array`, got `null`$"),
        ({"run_id": 5}, "search: run_id: expected `str`, got `int`$"),
        ({"file": None}, "search: file: expected `str`, got `null`$"),
        ({"since": True}, r"search: since: expected `float \| null`, got `bool`$"),
        ({"until": []}, r"search: until: expected `float \| null`, got `array`$"),
        ({"include_hidden": 1}, "search: include_hidden: expected `bool`, got `int`$"),
    ],
)
def test_wrong_arguments(store, given, why):
    with pytest.raises(InvalidSetting, match=why):
        begin(store, "new", "x").search(**{"query": "x", **given})


def test_a_turn_is_found_at_once_and_indexing_is_not_part_of_it(tmp_path):
    with begin(tmp_path / "agent.db", "trip", "one") as conv:
        assert conv.search("needle") == []
        before = (tmp_path / "agent.db.search").stat().st_mtime_ns
        conv.user("the needle")
        conv.request()
        assert (tmp_path / "agent.db.search").stat().st_mtime_ns == before
        assert [hit.entry for hit in conv.search("needle", roles=["user"])] == [1]


def test_a_conversation_made_of_a_log(store):
    log = store.open("ann-1")
    conv = transom.Conversation(log, budget=BUDGET, policy="default", counter=WordCounter())
    assert [(hit.conversation, hit.entry) for hit in conv.search("jonas")] == [("ann-1", 0)]


def test_from_an_event_loop(store):
    async def search():
        async with await transom.AsyncConversation.open(store, "ann-1", budget=BUDGET) as conv:
            return await conv.search("jonas")

    (hit,) = asyncio.run(search())
    assert isinstance(hit, SearchHit)
    assert hit.snippet == "the harbour pilot is Jonas"


def test_a_model_searches_only_its_own_conversation(store):
    provider = Scripted(call("transom_search", query="harbour pilot", role="user"), "Jonas.")
    conv = transom.Conversation.open(store, "ann-1", budget=BUDGET)
    assert conv.run("who?", provider=provider, tools=[*TOOLS]).text == "Jonas."
    sent = json.dumps(provider.requests[-1])
    assert "[1 found]\\nentry 0, user: the harbour pilot is Jonas" in sent
    assert "Mira" not in sent
    assert "nobody" not in sent


def test_the_answer_of_the_tool_is_bounded_and_never_shortened():
    conv = begin("memory:", "trip", *(f"needle {n} " + "filler " * 60 for n in range(200)))
    answer = conv.readback("transom_search", {"query": "needle", "limit": 100})
    assert len(answer.encode()) <= 2_000
    assert answer.startswith("[6 found]\nentry ")
    assert "transom_search" in READ_BACK
    assert conv.readback("transom_search", {"query": "zebra"}) == "[0 found]"
    assert conv.readback("transom_search", {"query": "x", "limit": 0}).startswith("[error: the arguments of")


def test_without_an_index_the_tool_names_another():
    log = begin("memory:", "trip", "one").log
    assert answer_call(log, "transom_search", {"query": "one"}) == (
        "[error: there is no search index here: use transom_grep]"
    )


def test_the_command(store, tmp_path, capsys):
    url = f"{tmp_path}/agent.db"
    begin(url, "ann-1", "the harbour pilot is Jonas", "\x1b[31mred harbour", user_id="ann").close()
    begin(url, "bob-1", "the harbour pilot is Mira", user_id="bob").close()
    assert main(["search", "harbour", "--store", url, "--user", "ann"]) == 0
    out = capsys.readouterr().out
    assert "ann-1: entry 0, user, " in out
    assert "  the harbour pilot is Jonas" in out
    assert "\\x1b[31mred harbour" in out
    assert "bob" not in out
    assert main(["search", "harbour", "--store", url, "--conversation", "bob", "--role", "user", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(hit["conversation"], hit["entry"], hit["snippet"]) for hit in answer["hits"]] == [
        ("bob-1", 0, "the harbour pilot is Mira")
    ]
    assert main(["search", "harbour", "--store", url, "--since", "2100-01-01"]) == 1
    assert main(["search", "zebra", "--store", url, "--user", "eve"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ["transom: nothing found in 2 conversations"] * 2
    assert main(["search", " ", "--store", url]) == 2
    assert capsys.readouterr().err == "transom: the query is empty: give the words to find\n"
    assert main(["search", "harbour", "--store", url, "--role", "usr"]) == 2
    assert "there is no role 'usr'; there are: user, assistant" in capsys.readouterr().err


def test_a_model_that_names_no_role_is_told():
    answer = begin("memory:", "trip", "one").readback("transom_search", {"query": "one", "role": "usr"})
    assert "there is no role" in answer


def test_a_search_in_memory_writes_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with transom.Conversation.open("memory:", "trip", budget=4_000) as conv:
        conv.user("the spare key")
        assert [hit.entry for hit in conv.search("spare key")] == [0]
    assert list(tmp_path.iterdir()) == []
