"""Long chats with a real model whose window has 512 tokens: llama.cpp refuses what does not fit."""

from __future__ import annotations

import os

import pytest

from transom import Budget, Conversation
from transom.conversation import events
from transom.providers.local import Local
from transom.providers.openai import OpenAIChat

pytest.importorskip("xllamacpp")

WINDOW = 512
TURNS = 100 if os.environ.get("TRANSOM_CAMPAIGN") else 6


@pytest.fixture(scope="module")
def local():
    provider = Local(context=WINDOW, threads=1)
    yield provider
    provider.close()


def failures_of(conv: Conversation, text: str, provider: OpenAIChat) -> list[str]:
    """Run one turn; what failed on the way."""
    seen = list(conv.stream(text, provider=provider, max_tokens=4, settings={"temperature": 0}))
    assert seen[-1].result.text
    return [event.kind for event in seen if isinstance(event, events.RequestFailed)]


def test_a_chat_of_many_turns_never_fails(local):
    with Conversation.open("memory:", "chat", budget=Budget(context=WINDOW, reserve=16), system="Be brief.") as conv:
        failed = []
        for turn in range(TURNS):
            wishes = "with a view of the old harbour and the castle, " * (turn % 12)
            failed += failures_of(conv, f"Note wish number {turn}: a room in city {turn * 7}, {wishes}please.", local)
        assert failed == []
        assert len([entry for entry in conv.log if type(entry.body).__name__ == "Fold"]) >= (TURNS > 6)


@pytest.mark.parametrize("configured", [600, 128_000])
def test_a_wrong_configured_limit_recovers_in_at_most_three_attempts(local, configured):
    unaware = OpenAIChat("smollm2", base_url=local.url)
    with Conversation.open("memory:", "chat", budget=configured, system="Be brief.") as conv:
        for wish in range(30):
            conv.user(f"Wish {wish}: " + "a room with a view of the old harbour and the castle, " * 6)
            conv.observe({"role": "assistant", "content": f"I noted wish number {wish}."})
        failed = failures_of(conv, "Say hello.", unaware)
        assert failed == ["overflow"] * len(failed)
        assert len(failed) <= 2
        assert list(conv.view.learned_limits) == (["openai:smollm2"] if failed else [])
        for learned in conv.view.learned_limits.values():  # in our tokens: the server counts a few more
            assert 0.95 * WINDOW <= learned <= WINDOW
        assert failed or configured == 600, "its compactions end below 512 tokens by themselves"
        assert failures_of(conv, "Say it again.", unaware) == []
    unaware.close()
