"""Claude on Amazon Bedrock: the user begins. And parts of OpenAI's that no Anthropic API takes."""

from __future__ import annotations

import pytest

from transom import Conversation, InvalidMessage, fit
from transom.texts import CONTINUE
from transom.wire.anthropic import ANTHROPIC, ANTHROPIC_BEDROCK

HISTORY = [
    {"role": "assistant", "content": "Hello, I am your assistant."},
    {"role": "user", "content": "Book a flight."},
]


def test_a_window_begins_with_the_user():
    assert fit(HISTORY, budget=1_000, dialect="anthropic") == HISTORY
    window = fit(HISTORY, budget=1_000, dialect="anthropic_bedrock")
    assert window == [{"role": "user", "content": [{"type": "text", "text": CONTINUE}]}, *HISTORY]
    assert ANTHROPIC_BEDROCK.violations({"messages": window}) == []


def test_one_that_does_not_breaks_a_rule_there_only():
    assert ANTHROPIC.violations({"messages": HISTORY}) == []
    assert [(each.rule, each.index) for each in ANTHROPIC_BEDROCK.violations({"messages": HISTORY})] == [("first", 0)]


def test_the_first_words_are_counted():
    """The planner must have counted what is put in front: the same history is larger there."""
    windows = []
    for dialect in ("anthropic", "anthropic_bedrock"):
        with Conversation.open("memory:", "x", budget=1_000, dialect=dialect) as conversation:
            conversation.extend(HISTORY)
            windows.append(conversation.window().view.counter.request)
    assert windows[1] > windows[0]


def test_what_came_in_one_goes_on_in_the_other():
    conversation = Conversation.open("memory:", "x", budget=1_000, dialect="anthropic_bedrock")
    conversation.extend(HISTORY)
    assert conversation.request()["messages"][1:] == HISTORY


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_text", "text": "Hello"},
        {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
        {"type": "file", "file": {"file_id": "x"}},
    ],
)
def test_parts_of_another_api_are_refused_in_one_line(part):
    with pytest.raises(InvalidMessage, match=r"the message is in another dialect's words \(openai\), not anthropic's"):
        fit([{"role": "user", "content": [part]}], budget=1_000, dialect="anthropic")
    conversation = Conversation.open("memory:", "x", budget=1_000, dialect="anthropic")
    with pytest.raises(InvalidMessage):
        conversation.user([part])
