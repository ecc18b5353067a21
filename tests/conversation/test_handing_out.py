"""A window's messages are the caller's, and are handed out again only as they were."""

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


def test_messages_that_nobody_changed_are_handed_out_again():
    conv = opened("memory:", system="be brief")
    conv.user("go")
    turn(conv, 0, size=2)
    window = conv.window().openai()
    conv.observe({"role": "assistant", "content": "done"})
    later = conv.window().openai()
    assert len(window) == 4
    assert all(one is other for one, other in zip(window, later, strict=False))
    window[0]["content"] = "poisoned"
    assert conv.dry_run().openai()[0] == {"role": "system", "content": "be brief"}


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_cache_mark_on_the_last_block_does_not_stay(dialect):
    conv = Conversation.open("memory:", "x", budget=8_000, dialect=dialect, counter=WordCounter())
    for number in range(6):
        conv.user([{"type": "text", "text": f"question {number}"}])
        messages = conv.window().request(dialect)["messages"]
        assert "cache_control" not in str(messages)
        messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        conv.observe({"role": "assistant", "content": "ok"})
