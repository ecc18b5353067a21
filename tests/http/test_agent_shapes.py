"""Requests shaped like those of Claude Code and Codex: what they change between two requests makes no new conversation.

The texts are made up; the shapes are what the agents send.
"""

from __future__ import annotations

import json
from typing import Any

import openai
import zstandard
from test_proxy import post, proxied
from test_wrap import NONE, faults

from sdk_agents import ChatAgent
from strict_provider import TASK, strict_provider
from transom.core.edit import Trim
from transom.core.message import Head, Text, ToolResult
from transom.stores import MemoryStore

MARK = {"cache_control": {"type": "ephemeral"}}
Json = dict[str, Any]


def claude_code(messages: list[Json], number: int) -> Json:
    """A body as Claude Code sends it: a billing header that is another one each time, marks on the newest message."""
    billing = f"x-anthropic-billing-header: cc_version=2.1.332; cc_entrypoint=cli; cch={number:05x};"
    *older, newest = messages
    content = newest["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    marked = {**newest, "content": [*blocks[:-1], {**blocks[-1], **MARK}]}
    return {
        "model": "claude-opus-5-5",
        "max_tokens": 1_000,
        "stream": False,
        "system": [{"type": "text", "text": billing}, {"type": "text", "text": "You are an agent.", **MARK}],
        "messages": [*older, marked],
        "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}],
        "metadata": {"user_id": "u"},
        "thinking": {"type": "adaptive"},
    }


def test_claude_code_is_one_log_with_one_system_prompt() -> None:
    store = MemoryStore()
    session = "0f1e2d3c-aaaa-bbbb-cccc-000000000001"
    with strict_provider(4) as server, proxied(server, store, by_key=False) as url:
        messages: list[Json] = [{"role": "user", "content": TASK}]
        for number in range(4):
            body = claude_code(messages, number)
            headers = {"x-api-key": "k", "x-claude-code-session-id": session}
            reply = post(f"{url}/v1/messages?beta=true", json=body, headers=headers).json()
            sent = server.requests[-1][1]
            assert sent["system"] == body["system"]
            assert {key: sent[key] for key in ("thinking", "metadata")} == {
                key: body[key] for key in ("thinking", "metadata")
            }
            said = [block for block in reply["content"] if block["type"] != "thinking"]  # it drops what is old
            messages.append({"role": "assistant", "content": said if number % 2 else reply["content"]})
            uses = [block for block in reply["content"] if block["type"] == "tool_use"]
            results = [{"type": "tool_result", "tool_use_id": use["id"], "content": "seen"} for use in uses]
            messages.append({"role": "user", "content": results or "go on"})
    # this server takes the header for a part of the prefix, and so reasoning behind another one for stale
    assert (server.invalid, server.lost) == ([], 0)
    assert store.names() == [session]
    heads = [entry for entry in store.open(session).read() if isinstance(entry.body, Head)]
    assert len(heads) == 1


def test_results_that_an_agent_shortens_stay_in_one_log_and_are_shown_as_it_has_them() -> None:
    store = MemoryStore()
    with strict_provider(9) as server, proxied(server, store, by_key=False) as url:
        agent = ChatAgent(openai.OpenAI(base_url=f"{url}/v1", api_key="k"))
        for _ in range(4):
            agent.step()
        old = next(message for message in agent.messages if message["role"] == "tool")
        whole, old["content"] = old["content"], "[cleared]"
        for _ in range(2):
            agent.step()
        (name,) = store.names()
        results = [entry.body for entry in store.open(name).read() if isinstance(entry.body, ToolResult)]
        trims = [entry.body.note for entry in store.open(name).read() if isinstance(entry.body, Trim)]
        sent = [message["content"] for message in server.requests[-1][1]["messages"] if message["role"] == "tool"]
        assert (results[0].parts, trims, sent[0]) == ((Text(whole),), ["[cleared]"], "[cleared]")
        old["content"] = f"{whole} and more"  # no trim shows that
        agent.step()
    assert (server.invalid, server.lost) == ([], 0)
    fork = next(each for each in store.names() if each != name)
    results = [entry.body for entry in store.open(fork).read() if isinstance(entry.body, ToolResult)]
    assert results[0].parts == (Text(f"{whole} and more"),)


def test_codex_is_one_log() -> None:
    store = MemoryStore()
    session = "019abcde-0000-7000-8000-000000000002"
    with strict_provider(4) as server, proxied(server, store, by_key=False) as url:
        items: list[Json] = [
            {
                "type": "message",
                "role": "developer",
                "content": [{"type": "input_text", "text": "<permissions>all</permissions>"}],
            },
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": TASK}]},
        ]
        for _ in range(4):
            body = {
                "model": "gpt-6.2",
                "instructions": "You are Codex.",
                "input": items,
                "tools": [{"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}],
                "tool_choice": "auto",
                "parallel_tool_calls": True,
                "reasoning": {"effort": "medium"},
                "store": False,
                "stream": True,
                "include": ["reasoning.encrypted_content"],
                "prompt_cache_key": session,
            }
            packed = zstandard.compress(json.dumps(body).encode())
            headers = {"authorization": "Bearer k", "session-id": session, "content-encoding": "zstd"}
            headers["content-type"] = "application/json"
            text = post(f"{url}/v1/responses", content=packed, headers=headers).text
            events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
            output = events[-1]["response"]["output"]
            for item in output:  # without ids and status, as Codex keeps them
                items.append({key: value for key, value in item.items() if key not in {"id", "status"}})
            calls = [item for item in output if item["type"] == "function_call"]
            items += [{"type": "function_call_output", "call_id": call["call_id"], "output": "seen"} for call in calls]
            if not calls:
                break
            assert server.requests[-1][1]["reasoning"] == {"effort": "medium"}
    assert faults(server) == NONE
    assert store.names() == [session]
