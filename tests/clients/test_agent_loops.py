"""The loops of the documentation, with the real SDKs against a server that refuses what the API would refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types
from strict_server import ANSWER, ARGUMENTS, Provider, provider

import transom

DOCS = Path(__file__).parents[2] / "docs"


def code_of(page: str) -> dict[str, Any]:
    """What the code of a page defines."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, page, "exec"), names)
    return names


def client_for(dialect: str, server: Provider) -> Any:
    if dialect == "anthropic":
        return anthropic.Anthropic(api_key="none", base_url=server.url, max_retries=0)
    if dialect == "gemini":
        return genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.url))
    return openai.OpenAI(api_key="none", base_url=f"{server.url}/v1", max_retries=0)


PAGES = {
    "openai": "agent-loop-openai.md",
    "responses": "agent-loop-responses.md",
    "anthropic": "agent-loop-anthropic.md",
    "gemini": "agent-loop-gemini.md",
}


@pytest.mark.parametrize("dialect", PAGES)
def test_the_loop_of_a_page_runs_with_the_real_client(dialect, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = code_of(PAGES[dialect])
    with provider() as server:
        client = client_for(dialect, server)
        for turn in (1, 2):  # the second time it goes on with the same conversation
            assert names["answer"](client, "How is the weather in Lisbon?") == ANSWER
            assert server.refused == []
            assert [kind for kind, _ in server.requests] == [dialect] * 2 * turn
        client.close()
    with transom.Conversation.open("agent.db", "weather", budget=32_000, dialect=dialect) as conv:
        kinds = [type(entry.body).__name__ for entry in conv.log.read()]
        first = ["User", "Head", "Sent", "Assistant", "ToolResult", "Sent", "Assistant"]
        assert kinds == [*first, *[kind for kind in first if kind != "Head"]]
        usage = [entry.body.usage for entry in conv.log.read() if type(entry.body).__name__ == "Assistant"]
        assert [(each.prompt, each.output) for each in usage] == [(40, 5)] * 4


@pytest.mark.parametrize("dialect", PAGES)
def test_a_stream_that_is_read_by_hand_is_a_reply(dialect):
    names = code_of(PAGES[dialect])
    with provider() as server:
        client = client_for(dialect, server)
        conv = transom.Conversation.open("memory:", "x", budget=32_000, system="Be brief.", dialect=dialect)
        assert names["run_streaming"](client, conv, "How is the weather?") == ANSWER
        assert server.refused == []
        client.close()
    bodies = [entry.body for entry in conv.log.read()]
    kinds = [type(body).__name__ for body in bodies]
    assert kinds == ["User", "Head", "Sent", "Assistant", "ToolResult", "Sent", "Assistant"]
    called, answered = bodies[3], bodies[6]
    assert [(call.name, json.loads(call.args)) for call in called.calls] == [("weather", ARGUMENTS)]
    assert [part.text for part in answered.parts] == [ANSWER]
    assert [(each.usage.prompt, each.usage.output) for each in (called, answered)] == [(40, 5)] * 2


def test_the_server_refuses_what_the_api_refuses():
    with provider() as server:
        client = client_for("openai", server)
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(
                model="gpt-5",
                messages=[
                    {"role": "user", "content": "go"},
                    {"role": "tool", "tool_call_id": "nobody", "content": "found"},
                ],
            )
        assert len(server.refused) == 1
        client.close()
