"""A fork of a conversation: the same past, its own future, valid windows, and the settings of its source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from transom.conversation.async_conversation import AsyncConversation
from transom.conversation.conversation import Conversation
from transom.conversation.planning.modes import Profile
from transom.core.entry import Forked
from transom.core.message import ToolResult
from transom.errors import InvalidSetting
from transom.stores import MemoryStore
from transom.testing import WordCounter, user_entries
from transom.wire.openai import violations


def opened(store: Any = "memory:", **settings: Any) -> Conversation:
    return Conversation.open(store, "trip", budget=4_000, counter=WordCounter(), clock=lambda: 1.0, **settings)


def calling(*ids: str) -> dict[str, Any]:
    calls = [{"id": one, "type": "function", "function": {"name": "search", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def talked(conversation: Conversation) -> None:
    """user, head, sent, reply with two calls, result of one, result of the other, sent, reply."""
    conversation.user("find a flight")
    conversation.request()
    conversation.observe(calling("a", "b"))
    conversation.tool_result("a", "nothing")
    conversation.tool_result("b", "two flights")
    conversation.request()
    conversation.observe({"role": "assistant", "content": "there are two"})


def test_a_fork_at_every_entry_gives_valid_windows() -> None:
    conversation = opened(system="You book trips.")
    talked(conversation)
    past = list(conversation.log.read())
    for at in range(len(past)):
        fork = conversation.fork(at=at, name=f"fork {at}")
        assert list(fork.log.read())[: at + 1] == past[: at + 1]
        fork.user("go on")
        messages = fork.request()["messages"]
        assert violations(messages) == []
        assert messages[0] == {"role": "system", "content": "You book trips."}
        assert messages[-1] == {"role": "user", "content": "go on"}
    assert list(conversation.log.read()) == past


def test_calls_that_are_open_at_the_fork_are_closed_there_alone() -> None:
    conversation = opened()
    talked(conversation)
    turn = next(entry.seq for entry in conversation.log.read() if isinstance(entry.body, ToolResult))
    fork = conversation.fork(at=turn)
    fork.request()
    added = [type(entry.body).__name__ for entry in fork.log.read(turn + 1)]
    assert added == ["Forked", "ToolResult", "Sent"]
    synthetic = fork.log[turn + 2].body
    assert isinstance(synthetic, ToolResult)
    assert (synthetic.synthetic, synthetic.call) == (True, "b")


def test_the_fork_knows_its_source() -> None:
    conversation = opened()
    talked(conversation)
    first = conversation.fork(at=3)
    second = first.fork(name="other")
    origins = [(entry.seq, entry.body) for entry in second.log.read() if isinstance(entry.body, Forked)]
    assert origins == [(4, Forked(source="trip")), (5, Forked(source="trip@3"))]
    assert (first.log.name, second.log.name) == ("trip@3", "other")


def test_both_go_on_by_themselves() -> None:
    conversation = opened()
    talked(conversation)
    fork = conversation.fork()
    conversation.user("the first one")
    fork.user("the second one")
    sent = [one.request()["messages"][-1]["content"] for one in (conversation, fork)]
    assert sent == ["the first one", "the second one"]
    assert fork.request()["messages"][:-1] == conversation.request()["messages"][:-1]


def test_the_settings_go_with_it() -> None:
    settings = {"state": {"todo": "book"}, "policy": "sliding", "head_parts": {"map": "a map"}, "user_id": "ann"}
    conversation = opened(system="You book trips.", **settings)
    talked(conversation)
    conversation.set_mode("agent", Profile(rules="Be brief."))
    fork = conversation.fork()
    for name in ("budget", "policy", "state", "mode", "tags", "dialect", "head", "store", "user_id"):
        assert getattr(fork, name) == getattr(conversation, name), name
    fork.user("go on")
    conversation.user("go on")
    assert fork.request()["messages"] == conversation.request()["messages"]


@pytest.mark.parametrize("first", [True, False])
def test_the_last_one_that_closes_closes_the_store(tmp_path: Path, first: bool) -> None:
    conversation = opened(tmp_path / "agent.db")
    conversation.user("hello")
    fork = conversation.fork()
    closed, other = (conversation, fork) if first else (fork, conversation)
    closed.close()
    closed.close()
    other.user("still here")
    other.close()
    assert other.store is not None
    with pytest.raises(InvalidSetting, match="the store is closed"):
        other.store.names()


def test_a_store_of_the_callers_stays_open() -> None:
    store = MemoryStore()
    with opened(store) as conversation:
        conversation.user("hello")
        conversation.fork().close()
    assert store.names() == ["trip", "trip@0"]


def test_what_cannot_be_forked() -> None:
    conversation = opened()
    with pytest.raises(InvalidSetting, match="fork: there is no entry None in 'trip': it is empty"):
        conversation.fork()
    conversation.user("hello")
    with pytest.raises(InvalidSetting, match="fork: there is no entry 1 in 'trip': it has the entries 0 to 0"):
        conversation.fork(at=1)
    with pytest.raises(InvalidSetting, match="fork: there is a conversation 'trip' already"):
        conversation.fork(name="trip")
    with pytest.raises(InvalidSetting, match="id: must be a text"):
        conversation.fork(name="")
    log = MemoryStore().open("log")
    log.append(user_entries(0, 1), 0)
    with pytest.raises(InvalidSetting, match="made of a log"):
        Conversation(log, budget=4_000, policy="default", counter=WordCounter()).fork()


def test_what_others_appended_is_in_the_fork(tmp_path: Path) -> None:
    conversation, other = opened(tmp_path / "agent.db"), opened(tmp_path / "agent.db")
    conversation.user("mine")
    other.user("of another process")
    fork = conversation.fork()
    assert [type(entry.body).__name__ for entry in fork.log.read()] == ["User", "User", "Forked"]
    for one in (conversation, other, fork):
        one.close()


def test_a_request_in_flight_stays_with_the_source() -> None:
    conversation = opened()
    conversation.user("hello")
    conversation.request()
    fork = conversation.fork()
    fork.request()
    assert [type(entry.body).__name__ for entry in fork.log.read()] == ["User", "Sent", "Forked", "Failure", "Sent"]
    conversation.observe({"role": "assistant", "content": "hello"})
    assert len(conversation.log) == 3


def test_the_async_twin() -> None:
    async def run() -> None:
        conversation = await AsyncConversation.open("memory:", "trip", budget=4_000, counter=WordCounter())
        await conversation.user("hello")
        fork = await conversation.fork(at=0, name="other")
        assert type(fork) is AsyncConversation
        assert (fork.log.name, len(fork.log), len(conversation.log)) == ("other", 2, 1)
        await fork.close()
        await conversation.close()

    anyio.run(run)
