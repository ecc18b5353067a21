"""A window's messages are the caller's: changing them changes nothing else."""

from __future__ import annotations

import pytest
from test_conversation import opened, turn

from transom import Conversation
from transom.testing.fakes import WordCounter


def test_changing_a_windows_messages_changes_no_later_window():
    conv = opened("memory:")
    conv.user("go")
    turn(conv, 0, size=2)
    window = conv.window().openai()
    window[0]["content"] = "poisoned"
    window.pop()
    conv.observe({"role": "assistant", "content": "done"})
    later = conv.window().openai()
    assert later[0] == {"role": "user", "content": "go"}
    assert [message["role"] for message in later] == ["user", "assistant", "tool", "assistant"]
    window[1]["content"] = "poisoned"  # also when it is old, and other messages have taken its place
    assert conv.dry_run().openai()[1] == later[1] != window[1]


def test_every_window_is_made_of_plain_dicts_of_its_own():
    conv = opened("memory:", system="be brief")
    conv.user("go")
    turn(conv, 0, size=2)
    window = conv.window()
    one, other = window.openai(), window.openai()
    assert one == other
    for first, second in zip(one, other, strict=True):
        assert type(first) is dict
        assert first is not second
    call, again = one[2]["tool_calls"][0], other[2]["tool_calls"][0]
    assert type(one[2]["tool_calls"]) is list
    assert call["function"] is not again["function"]


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_cache_mark_on_the_last_block_does_not_stay(dialect):
    conv = Conversation.open("memory:", "x", budget=8_000, dialect=dialect, counter=WordCounter())
    for number in range(6):
        conv.user([{"type": "text", "text": f"question {number}"}])
        messages = conv.window().request(dialect)["messages"]
        assert "cache_control" not in str(messages)
        messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        conv.observe({"role": "assistant", "content": "ok"})
