"""Replay: which assistant messages are calls, and what their windows hold."""

from __future__ import annotations

import pytest

from transom import Budget, Conversation
from transom.conversation.appending.parse_messages import split_head
from transom.conversation.replay import replay
from transom.errors import InvalidSetting
from transom.policies import policy_named
from transom.stores import MemoryStore
from transom.testing.fakes import FakeClock, WordCounter
from transom.wire.openai import OPENAI_CHAT
from transom.wire.rendering import render_messages

SYSTEM = {"role": "system", "content": "Be brief."}
HELLO = {"role": "assistant", "content": "How can I help?"}
ASKED = {"role": "user", "content": "A flight."}
BOOKED = {"role": "assistant", "content": "Booked."}
NOTHING = {"role": "assistant", "content": ""}
STRAY = {"role": "tool", "tool_call_id": "nobody", "content": "x"}


def windows(messages, store=None):
    """The messages of each call's window, by the position of its reply."""
    head, facts = split_head(messages)
    conversation = Conversation(
        (store or MemoryStore()).open("x"),
        budget=Budget(context=1_000),
        policy=policy_named("default"),
        counter=WordCounter(),
        system=head,
        clock=FakeClock(),
    )
    return {step.at: render_messages(step.window.view, OPENAI_CHAT) for step in replay(conversation, facts)}


@pytest.mark.parametrize(
    ("messages", "calls"),
    [
        ([SYSTEM, HELLO, ASKED, BOOKED], [1, 3]),
        ([HELLO, ASKED, BOOKED], [2]),
        ([ASKED, HELLO, BOOKED], [1, 2]),
        ([SYSTEM, HELLO], [1]),
        ([HELLO], []),
        ([NOTHING, HELLO, BOOKED], [2]),
        ([STRAY, HELLO, BOOKED], [2]),
        ([SYSTEM, STRAY, HELLO], [2]),
    ],
)
def test_a_call_has_a_message_before_it_that_can_be_shown(messages, calls):
    shown = [message for message in messages if message not in (NOTHING, STRAY)]
    expected = {at: shown[: len(shown) - len(messages) + at] for at in calls}
    assert windows(messages) == expected


def test_a_log_with_entries_is_refused_and_not_changed():
    messages, store = [SYSTEM, HELLO, ASKED, BOOKED], MemoryStore()
    windows(messages, store)
    length = len(store.open("x"))
    with pytest.raises(InvalidSetting, match=r"^conversation 'x' is in the store already, with 6 entries: "):
        windows(messages, store)
    assert len(store.open("x")) == length
