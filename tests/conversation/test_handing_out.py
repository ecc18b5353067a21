"""What a request holds is the caller's to change: no other request changes with it."""

from __future__ import annotations

import pytest
from test_conversation import opened, turn

from transom import Conversation
from transom.conversation.render_window import render
from transom.testing.fakes import WordCounter


def test_changing_a_windows_messages_changes_no_later_window():
    conv = opened("memory:")
    conv.user("go")
    turn(conv, 0, size=2)
    window = render(conv.plan_request())["messages"]
    window[0]["content"] = "poisoned"
    window.pop()
    conv.observe({"role": "assistant", "content": "done"})
    later = render(conv.plan_request())["messages"]
    assert later[0] == {"role": "user", "content": "go"}
    assert [message["role"] for message in later] == ["user", "assistant", "tool", "assistant"]
    window[1]["content"] = "poisoned"  # also when it is old, and other messages have taken its place
    assert render(conv.window())["messages"][1] == later[1] != window[1]


def test_every_request_is_made_of_fresh_plain_dicts():
    conv = opened("memory:", system="be brief")
    conv.user("go")
    first, again = conv.request(tools=[{"type": "function", "function": {"name": "f"}}]), conv.request()
    first["messages"][0]["content"] = "poisoned"
    first["tools"][0]["function"]["name"] = "poisoned"
    assert again == conv.request()
    assert again["messages"][0] == {"role": "system", "content": "be brief"}
    assert {type(message) for message in again["messages"]} == {dict}


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_cache_mark_on_the_last_block_does_not_stay(dialect):
    conv = Conversation.open("memory:", "x", budget=8_000, dialect=dialect, counter=WordCounter())
    for number in range(6):
        conv.user([{"type": "text", "text": f"question {number}"}])
        messages = render(conv.plan_request(), dialect)["messages"]
        assert "cache_control" not in str(messages)
        messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        conv.observe({"role": "assistant", "content": "ok"})
