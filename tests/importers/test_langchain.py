"""LangChain's messages. The samples were made by langchain-core 1.7.2 from made-up messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from transom.importers import read
from transom.wire.openai import OPENAI_CHAT

SAMPLES = Path(__file__).parent / "samples"


def call(label, arguments):
    return {"id": label, "type": "function", "function": {"name": "weather", "arguments": arguments}}


MESSAGES = [
    {"role": "system", "content": "You book trips."},
    {"role": "user", "content": "Weather in Oslo and Rome?", "name": "ada"},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "Let me look."}],
        "tool_calls": [call("c1", '{"city": "Oslo"}'), call("c2", '{"city": "Rome"}')],
        "reasoning_content": "Two calls.",
    },
    {"role": "tool", "content": "rain", "name": "weather", "tool_call_id": "c1"},
    {"role": "tool", "content": [{"type": "text", "text": "[failed] no answer"}], "tool_call_id": "c2"},
    {"role": "assistant", "content": None, "tool_calls": [call("c3", '{"city": ')]},
    {"role": "tool", "content": "arguments are not JSON", "tool_call_id": "c3"},
    {"role": "assistant", "content": "Rain in Oslo.", "reasoning_content": "Say what is known."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is"},
            {"type": "text", "text": "this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        ],
    },
    {"role": "assistant", "content": "A picture."},
]


@pytest.mark.parametrize("name", ["messages_to_dict", "dumpd", "prompt", "model_dump"])
def test_every_form_gives_the_same_chat(name):
    [found] = read(SAMPLES / f"langchain_{name}.json")
    assert (found.id, found.format, found.dialect) == (f"langchain_{name}", "langchain", "openai")
    assert found.messages == MESSAGES
    wrong = [(each.rule, each.index) for each in OPENAI_CHAT.violations({"messages": MESSAGES})]
    assert wrong == [("C12", 5)]  # the invalid tool call, whose arguments are kept as they came


def test_the_state_of_a_thread_in_langgraph(tmp_path):
    dumped = json.loads((SAMPLES / "langchain_model_dump.json").read_text())
    (tmp_path / "thread.json").write_text(json.dumps({"values": dumped, "next": [], "metadata": {}}))
    [found] = read(tmp_path / "thread.json")
    assert (found.id, found.format, found.messages) == ("thread", "langchain", MESSAGES)


def test_a_message_a_line(tmp_path):
    listed = json.loads((SAMPLES / "langchain_messages_to_dict.json").read_text())
    (tmp_path / "chat.jsonl").write_text("".join(json.dumps(each) + "\n" for each in listed))
    [found] = read(tmp_path / "chat.jsonl")
    assert found.messages == MESSAGES


def test_what_old_versions_wrote():
    [found] = read(SAMPLES / "langchain_old.json")
    counted = {"id": "c1", "type": "function", "function": {"name": "count", "arguments": "{}"}}
    assert found.messages == [
        {"role": "user", "content": "Count."},
        {"role": "assistant", "content": None, "tool_calls": [counted]},
        {"role": "tool", "content": "3", "tool_call_id": "c1"},
        {"role": "assistant", "content": "Three."},
        {"role": "user", "content": "Thanks."},
    ]
