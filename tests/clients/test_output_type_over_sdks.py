"""Typed answers over the real SDKs: each sends the form of the answer to its server as its API has it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from recorded_turns import anthropic_answer, chat_answer, gemini_answer, responses_answer
from replay_server import replay_server
from test_sdk_providers import DIALECTS, keys, provider_at

from transom import Conversation

__all__ = ["keys"]


@dataclass
class Place:
    city: str


TEXT = '{"city": "Rome"}'
PART = {"type": "output_text", "text": TEXT, "annotations": []}
ANSWERS = {
    "openai": chat_answer({"role": "assistant", "content": TEXT}),
    "responses": responses_answer(
        [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [PART]}]
    ),
    "anthropic": anthropic_answer([{"type": "text", "text": TEXT}]),
    "gemini": gemini_answer([{"text": TEXT}]),
}
PATHS = {
    "openai": ("response_format", "json_schema", "schema"),
    "responses": ("text", "format", "schema"),
    "anthropic": ("output_config", "format", "schema"),
    "gemini": ("generationConfig", "responseJsonSchema"),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_the_server_is_asked_for_the_form_of_the_answer(dialect: str, stream: bool) -> None:
    with replay_server() as server, Conversation.open("memory:", "x", budget=8_000, dialect=dialect) as conv:
        provider = provider_at(server, dialect)
        server.answer = ANSWERS[dialect]
        if stream:
            result = list(conv.stream("Where?", provider=provider, output_type=Place))[-1].result
        else:
            result = conv.run("Where?", provider=provider, output_type=Place)
        schema = server.requests[-1][2]
        for key in PATHS[dialect]:
            schema = schema[key]
        provider.close()
    assert result.output == Place("Rome")
    assert (schema["properties"], schema["required"]) == ({"city": {"type": "string"}}, ["city"])
