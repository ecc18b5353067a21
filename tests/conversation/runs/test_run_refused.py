"""A model that claims more tokens than were sent: a short conversation is not stuck for ever."""

from __future__ import annotations

import pytest

import transom
from transom import Conversation, ProviderError
from transom.providers.scripted import Fault, Scripted

LIES = '{"error": {"message": "This model\'s maximum context length is 1000 tokens. However, your messages resulted in 900000 tokens.", "code": "context_length_exceeded"}}'  # noqa: E501
LIE = Fault(kind="bad_request", status=400, body=LIES)

TOO_LONG = Fault(kind="bad_request", status=400, body=LIES.replace("900000", "1200"))


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
        assert conv.window_usage.budget <= 600


def test_a_claim_that_cannot_be_true_is_not_taken_for_the_ratio_of_the_tokens() -> None:
    """The head has 500 tokens, the model takes 8,000, and claims 900,000 for a request of 600."""
    claim = Fault(kind="bad_request", status=400, body=LIES.replace("1000", "8000"))
    with Conversation.open("memory:", "x", budget=32_000, system="Be brief. " * 160) as conv:
        provider = Scripted(claim, "Hi.")
        assert conv.run("Hello " * 120, provider=provider, retry=transom.Retry(wait=0)).text == "Hi."
        assert list(conv.view.learned_limits.values()) == [int(0.95 * conv.log[2].body.tokens)]


def test_a_limit_below_the_head_is_not_learned() -> None:
    with Conversation.open("memory:", "x", budget=32_000, system="Be brief. " * 160) as conv:
        bill = "the last attempt had 493 tokens by our count, limit 200: system prompt and tools 485, conversation 8"
        with pytest.raises(ProviderError, match=bill):
            conv.run(
                "Hello", provider=Scripted(Fault(kind="bad_request", status=400, body=LIES.replace("1000", "200")))
            )
        assert conv.view.learned_limits == {}


def test_what_the_caller_sends_beside_the_request_is_taken_from_the_limit_and_not_for_the_ratio() -> None:
    """The caller sends 50,000 tokens of schemas beside a request of about 4,000; the model takes 52,000."""
    with Conversation.open("memory:", "x", budget=64_000) as conv:
        for n in range(40):
            conv.user(f"line {n} " + "word " * 95)
            conv.observe({"role": "assistant", "content": "yes"})
        conv.user("Hello")
        whole = conv.request().window.tokens
        body = LIES.replace("1000 tokens", "52000 tokens").replace("900000", str(whole + 50_000))
        assert conv.failed(400, body=body).retry
        assert 1_500 < conv.request().window.tokens <= 2_000
        assert conv.view.calibration == 1


def test_the_ways_out_are_said_once() -> None:
    with Conversation.open("memory:", "x", budget=32_000, system="Be brief. " * 20) as conv:
        with pytest.raises(ProviderError, match="take a model with a context window of at least") as caught:
            conv.run("Hello", provider=Scripted(*[TOO_LONG] * 4), retry=transom.Retry(wait=0))
        said = str(caught.value)
        assert said.count("shorten") == 1
        assert "take another model" not in said


def test_another_handle_of_the_log_does_not_repeat_the_warning(caplog: pytest.LogCaptureFixture) -> None:
    store = transom.open_store("memory:")
    with Conversation.open(store, "x", budget=32_000) as conv, Conversation.open(store, "x", budget=32_000) as other:
        for n in range(12):
            conv.user(f"line {n} " + "word " * 80)
            conv.observe({"role": "assistant", "content": "yes"})
        assert conv.run("Hello", provider=Scripted(TOO_LONG, "Hi."), retry=transom.Retry(wait=0)).text == "Hi."
        other.user("And now?")
        assert other.view.learned_limits == conv.view.learned_limits
    assert len([said for said in caplog.messages if "refused a request" in said]) == 1
