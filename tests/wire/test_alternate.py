"""Servers whose chat templates refuse two messages of one role in a row: `ALTERNATING`."""

from __future__ import annotations

from itertools import pairwise

import pytest

import transom
from transom import Conversation
from transom.errors import ProviderError
from transom.providers.scripted import Fault, Scripted
from transom.stores import MemoryStore
from transom.testing import WordCounter
from transom.wire.openai import ALTERNATING


def in_turns(request):
    """What llama.cpp does with Mistral's template: it refuses neighbours of one role."""
    roles = [message["role"] for message in request["messages"]]
    twice = [role for role, after in pairwise(roles) if role == after and role in {"user", "assistant"}]
    refusal = Fault(kind="bad_request", status=400, body="Conversation roles must alternate user/assistant")
    return refusal if twice else "ok"


def user(content, **more):
    return {"role": "user", "content": content, **more}


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(
    ("messages", "sent"),
    [
        ([user("one"), user("two")], [user("one\n\ntwo")]),
        ([user("one"), user([IMAGE])], [user([{"type": "text", "text": "one"}, IMAGE])]),
        ([user("one", name="ann"), user("two", name="ann")], [user("one\n\ntwo", name="ann")]),
        ([user("one", name="ann"), user("two", name="bob")], [user("one", name="ann"), user("two", name="bob")]),
    ],
)
def test_neighbours_become_one_message(messages, sent):
    assert transom.fit(messages, budget=4_000, dialect=ALTERNATING) == sent
    assert transom.fit(messages, budget=4_000) == messages


def test_words_of_the_model_before_its_calls_are_one_message_with_them():
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    asks = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "a"}
    given = [
        user("go"),
        {"role": "assistant", "content": "I look."},
        asks,
        answer,
        {"role": "assistant", "content": "a"},
    ]
    sent = [user("go"), {**asks, "content": "I look."}, answer, {"role": "assistant", "content": "a"}]
    assert transom.fit(given, budget=4_000, dialect=ALTERNATING) == sent


def test_a_strict_server_takes_every_request_of_a_long_run():
    def talk(dialect):
        conv = Conversation.open(
            MemoryStore(), "trip", budget=700, counter=WordCounter(), dialect=dialect, system="Hi."
        )
        requests = []
        model = Scripted(*[lambda request: requests.append(request) or in_turns(request)] * 30)
        for number in range(12):
            conv.user("a thought beside it " * 5)
            conv.run(f"question {number} " * 20, provider=model)
        return requests

    requests = talk(ALTERNATING)
    assert len(requests) == 12
    assert any("a record of" in str(request) for request in requests), "some of it was folded"
    with pytest.raises(ProviderError, match="must alternate"):
        talk("openai")
