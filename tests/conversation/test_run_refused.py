"""A model that claims more tokens than were sent: a short conversation is not stuck for ever."""

from __future__ import annotations

import pytest

import transom
from transom import Conversation, ProviderError
from transom.providers.scripted import Fault, Scripted

LIES = '{"error": {"message": "This model\'s maximum context length is 1000 tokens. However, your messages resulted in 900000 tokens.", "code": "context_length_exceeded"}}'  # noqa: E501
LIE = Fault(kind="bad_request", status=400, body=LIES)


def test_a_request_that_cannot_shrink_ends_in_an_error_that_says_what_to_do() -> None:
    with Conversation.open("memory:", "x", budget=32_000, system="Be brief. " * 20) as conv:
        with pytest.raises(ProviderError, match="cannot be made smaller") as caught:
            conv.run("Hello", provider=Scripted(LIE, LIE, LIE))
        assert caught.value.kind == "overflow"
        assert caught.value.status == 400
        assert "shorten the system prompt" in str(caught.value)


def test_the_next_run_tries_once_more_and_may_succeed() -> None:
    with Conversation.open("memory:", "x", budget=32_000, system="Be brief. " * 20) as conv:
        with pytest.raises(ProviderError):
            conv.run("Hello", provider=Scripted(LIE, LIE, LIE))
        assert conv.run(provider=Scripted("Hi.")).text == "Hi."
        assert conv.run("And now?", provider=Scripted("Yes.")).text == "Yes."


def test_a_limit_that_holds_still_holds() -> None:
    body = '{"error": {"message": "maximum context length is 600 tokens. However, you requested 1200 tokens", "code": "context_length_exceeded"}}'  # noqa: E501
    with Conversation.open("memory:", "x", budget=32_000) as conv:
        for n in range(12):
            conv.user(f"line {n} " + "word " * 80)
            conv.observe({"role": "assistant", "content": "yes"})
        provider = Scripted(Fault(kind="bad_request", status=400, body=body), "Hi.")
        assert conv.run("Hello", provider=provider, retry=transom.Retry(wait=0)).text == "Hi."
        assert conv.usage.budget <= 600


def test_a_claim_that_cannot_be_true_leaves_a_short_conversation_its_room() -> None:
    """The head has 500 tokens, the model takes 8,000, and claims 900,000 for a request of 600."""
    body = LIES.replace("1000", "8000")
    with Conversation.open("memory:", "x", budget=32_000, system="Be brief. " * 250) as conv:
        provider = Scripted(*[Fault(kind="bad_request", status=400, body=body)] * 3)
        with pytest.raises(ProviderError):
            conv.run("Hello " * 60, provider=provider, retry=transom.Retry(wait=0))
        for turn in range(6):
            conv.run(f"Now {turn}: " + "word " * 300, provider=Scripted("Yes."))
        asked = Scripted("Yes.")
        conv.run("And now? " + "word " * 300, provider=asked)
        assert [each["content"][:6] for each in asked.requests[0]["messages"] if each["role"] == "user"][-2:] == [
            "Now 5:",
            "And no",
        ]
