"""A run over the real SDKs: streams that break after any chunk, and an overflow that the server reports."""

from __future__ import annotations

import pytest
from recorded_turns import anthropic_answer, chat_answer, gemini_answer, responses_answer
from replay_server import Answer, replay_server
from test_sdk_providers import DIALECTS, MADE_UP, TEXT, keys, provider_at

from transom import Conversation, Retry
from transom.core.message import Failure
from transom.errors import ProviderError
from transom.wire.dialects import dialect_named

__all__ = ["keys"]

FINAL = "It is clear."
PART = {"type": "output_text", "text": FINAL, "annotations": []}
FINAL_ANSWERS = {
    "openai": chat_answer({"role": "assistant", "content": FINAL}),
    "responses": responses_answer(
        [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [PART]}]
    ),
    "anthropic": anthropic_answer([{"type": "text", "text": FINAL}]),
    "gemini": gemini_answer([{"text": FINAL}]),
}
ONCE = Retry(attempts=1)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_run_whose_stream_breaks_after_any_chunk_is_logged_and_goes_on(dialect):
    with replay_server() as server:
        provider, full = provider_at(server, dialect), MADE_UP[dialect]
        for cut in range(len(full.chunks) - 1):
            with Conversation.open("memory:", "x", budget=32_000, dialect=dialect) as conv:
                server.answer = full._replace(cut=cut)
                with pytest.raises(ProviderError) as raised:
                    list(conv.stream("How is the weather?", provider=provider, retry=ONCE))
                assert raised.value.kind == "connection"
                (failure,) = [entry.body for entry in conv.log if isinstance(entry.body, Failure)]
                assert TEXT.startswith(failure.text)
                assert bool(failure.shown) == bool(failure.text)
                server.answer = FINAL_ANSWERS[dialect]
                assert conv.run("Go on.", provider=provider, retry=ONCE).text == FINAL
                body = server.requests[-1][2]
                assert dialect_named(dialect).violations(body) == [], cut
                assert failure.text in str(body)
        provider.close()


@pytest.mark.parametrize("stream", [False, True])
def test_a_run_recovers_from_an_overflow_that_comes_as_an_error(stream):
    words = "This model's maximum context length is 2000 tokens. However, your messages resulted in 2500 tokens."
    refusal = Answer({"error": {"message": words, "type": "invalid_request_error"}}, status=400)
    with replay_server() as server, Conversation.open("memory:", "x", budget=8_000) as conv:
        provider = provider_at(server, "openai")
        for turn in range(40):
            conv.user(f"Wish {turn}: " + "a room with a view of the harbour " * 8)
            conv.observe({"role": "assistant", "content": f"Noted {turn}."})
        server.answer = refusal
        events = conv.stream("Go", provider=provider) if stream else None
        if events is None:
            with pytest.raises(ProviderError) as raised:
                conv.run("Go", provider=provider)
        else:
            with pytest.raises(ProviderError) as raised:
                list(events)
        assert raised.value.kind == "overflow"
        sizes = [len(str(body)) for _, _, body in server.requests]
        assert len(sizes) == 3
        assert sizes[0] > sizes[1] > sizes[2]
        assert conv.view.learned_limits["openai:test-model"] <= 2_000
        server.answer = FINAL_ANSWERS["openai"]
        assert conv.run("Go on.", provider=provider).text == FINAL
        provider.close()
