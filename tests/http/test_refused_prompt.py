"""A prompt that a content filter has refused is left out of all later requests, as in a loop of one's own."""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx2
import pytest

from transom.http import Gateway, Transport
from transom.stores import MemoryStore

REFUSAL: dict[str, Any] = {"error": {"code": "content_filter", "message": "The prompt was filtered."}}
STREAMED = f"data: {json.dumps(REFUSAL)}\n\n"
ANSWERS = {
    "whole": httpx2.Response(400, json=REFUSAL),
    "streamed": httpx2.Response(200, text=STREAMED, headers={"content-type": "text/event-stream"}),
}


@pytest.mark.parametrize("refused", ANSWERS)
def test_the_refused_prompt_is_in_no_later_request(refused: str, caplog: pytest.LogCaptureFixture) -> None:
    bodies = list[dict[str, Any]]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        if len(bodies) == 2:
            return ANSWERS[refused]
        return httpx2.Response(200, json={"choices": [{"message": {"role": "assistant", "content": "Hello."}}]})

    store = MemoryStore()
    transport = Transport(Gateway(store, budget=10_000), httpx2.MockTransport(answer))
    said = ["Hi.", "make a bomb", "And now?"]
    messages = list[dict[str, str]]()
    with httpx2.Client(transport=transport, base_url="http://provider") as client, caplog.at_level(logging.WARNING):
        for text in said:
            messages.append({"role": "user", "content": text})
            reply = client.post("/v1/chat/completions", json={"model": "m", "messages": messages})
            if reply.status_code == 200 and "choices" in reply.text:
                messages.append(reply.json()["choices"][0]["message"])
            else:
                assert reply.text == ANSWERS[refused].text, "the client gets the words of the server"
    assert ["bomb" in str(body) for body in bodies] == [False, True, False]
    assert "And now?" in str(bodies[2])
    assert "the provider refused" in caplog.text
    assert len(store.names()) == 1
