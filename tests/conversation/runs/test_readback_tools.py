"""`run` offers the tools that read back: from a conversation's first request on, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

import transom
from transom.conversation.conversation import Conversation
from transom.providers.scripted import Scripted, call
from transom.readback import TOOLS

READBACK = [tool.name for tool in TOOLS]


def search(query: str) -> str:
    """Search the library."""
    return f"nothing about {query}"


def opened(budget: int = 32_000) -> Conversation:
    return transom.Conversation.open("memory:", "x", budget=budget)


def offered(conversation: Conversation, **settings: Any) -> list[str]:
    """The names of the tools in the request of a run."""
    provider = Scripted("done")
    conversation.run("go", provider=provider, **settings)
    (request,) = provider.requests
    return [each["function"]["name"] for each in request.get("tools", [])]


def test_they_are_there_from_the_first_request_on() -> None:
    with opened() as conversation:
        assert offered(conversation, tools=[search]) == ["search", *READBACK]
        assert offered(conversation, tools=[search]) == ["search", *READBACK]
        assert offered(conversation) == ["search", *READBACK]
        assert [each["function"]["name"] for each in conversation.request()["tools"]] == ["search", *READBACK]


def test_a_conversation_that_began_without_them_gets_none_later() -> None:
    with opened() as conversation:
        conversation.user("hello")
        conversation.request()
        conversation.observe({"role": "assistant", "content": "hello"})
        assert offered(conversation, tools=[search]) == ["search"]
        assert offered(conversation, tools=[search], readback=True) == ["search", *READBACK]
        assert offered(conversation, tools=[search]) == ["search", *READBACK]


def test_readback_false_leaves_them_out() -> None:
    with opened() as conversation:
        assert offered(conversation, tools=[search], readback=False) == ["search"]
        assert offered(conversation, tools=[search]) == ["search"]


def test_a_model_without_tools_and_a_small_window_have_them_if_asked() -> None:
    with opened() as conversation:
        assert offered(conversation) == []
    with opened() as conversation:
        assert offered(conversation, readback=True) == READBACK
    with opened(4_000) as conversation:
        assert offered(conversation, tools=[search]) == ["search"]
    with opened(4_000) as conversation:
        assert offered(conversation, tools=[search], readback=True) == ["search", *READBACK]


def test_the_callers_own_are_not_doubled() -> None:
    with opened() as conversation:
        assert offered(conversation, tools=[TOOLS[1], search]) == [
            READBACK[1],
            "search",
            *(name for name in READBACK if name != READBACK[1]),
        ]
    with opened() as conversation:
        assert offered(conversation, tools=[search, *TOOLS], readback=False) == ["search"]


def test_their_calls_are_answered() -> None:
    with opened() as conversation:
        conversation.user("The code is 4711.")
        provider = Scripted(call("transom_grep", pattern="4711"), "4711")
        conversation.run("Which code?", provider=provider, tools=[search])
        assert "4711" in str(provider.requests[-1]["messages"][-1]["content"])


@pytest.mark.parametrize("value", ["yes", 1, []])
def test_readback_is_true_or_false(value: object) -> None:
    with opened() as conversation, pytest.raises(transom.InvalidSetting, match="readback: must be True or False"):
        conversation.run("go", provider=Scripted("x"), readback=value)
