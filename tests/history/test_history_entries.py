"""Conversation entries: to messages and back, to JSON and back, to a log and back."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from message_lists import DAMAGED, assistant_call, tool_result, user

import transom
from transom.core.entry import Entry, Meta
from transom.core.message import User
from transom.errors import InvalidMessage
from transom.history import (
    ConversationEntry,
    ConversationRecorded,
    MessageRole,
    Session,
    ToolCall,
    entry_from_json,
    entry_to_json,
    entry_to_provider_message,
    log_to_entries,
    provider_message_to_entry,
)
from transom.testing import call, result, talk

EVALUATION = UUID("12345678-1234-5678-1234-567812345678")
NOW = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)


def entry(message, sequence=0):
    return provider_message_to_entry(message, evaluation_id=EVALUATION, sequence=sequence, created_at=NOW)


def test_the_fields_of_an_entry():
    assert entry(assistant_call("a", text="look", args='{"x": 1}'), 3) == ConversationEntry(
        MessageRole.ASSISTANT, "look", EVALUATION, 3, NOW, tool_calls=(ToolCall("a", "sh", '{"x": 1}'),)
    )
    tool = entry({**tool_result("a", "ok"), "name": "sh"}, 4)
    assert (tool.role, tool.content, tool.tool_call_id, tool.tool_name) == (MessageRole.TOOL, "ok", "a", "sh")
    assert entry(user("hi")).role == MessageRole.USER
    assert entry({"role": "developer", "content": "x"}).role == MessageRole.SYSTEM
    with pytest.raises(AttributeError):
        tool.content = "changed"


def test_an_entry_shares_nothing_with_its_message():
    message = assistant_call("a")
    message["content"] = [{"type": "text", "text": "hi"}]
    made = entry(message)
    message["content"][0]["text"] = message["tool_calls"][0]["id"] = "changed"
    out = entry_to_provider_message(made)
    assert (out["content"][0]["text"], out["tool_calls"][0]["id"]) == ("hi", "a")
    out["content"][0]["text"] = "changed"
    assert made.content == [{"type": "text", "text": "hi"}]


CUSTOM = {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "x"}}
PARSED = {"id": "a", "type": "function", "index": 0, "function": {"name": "sh", "arguments": {"x": 1}}}
MARKED = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
ODD = [
    {"role": "assistant", "content": None, "function_call": {"name": "sh", "arguments": "{}"}},
    {"role": "function", "name": "sh", "content": "ok"},
    {"role": "developer", "content": "be brief", "name": "ops"},
    {"role": "assistant", "content": "", "tool_calls": None, "refusal": "no", "reasoning_content": "hm"},
    {"role": "assistant", "content": None, "tool_calls": [CUSTOM, PARSED]},
    {"role": "tool", "tool_call_id": None, "content": "x"},
    {"role": "user", "content": [MARKED], "odd": 2**70},
]


@pytest.mark.parametrize("message", ODD)
def test_fields_without_an_attribute_are_given_back(message):
    assert entry_to_provider_message(entry(message)) == message


@given(DAMAGED)
def test_any_message_is_given_back_equal(messages):
    for message in messages:
        assert entry_to_provider_message(entry(message)) == message


def test_every_recorded_message_is_given_back_equal(data):
    seen = 0
    for path in sorted((data / "conversations").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for _, line in zip(range(8), lines, strict=False):
                for message in json.loads(line)["messages"]:
                    assert entry_to_provider_message(entry(message)) == {"content": None, **message}
                    seen += 1
    assert seen > 100


@given(DAMAGED, st.integers(0, 10**9), st.uuids(), st.datetimes(timezones=st.just(UTC)))
def test_conversation_entry_serialization_round_trip(messages, sequence, evaluation, at):
    for message in messages:
        made = provider_message_to_entry(message, evaluation_id=evaluation, sequence=sequence, created_at=at)
        data = entry_to_json(made)
        assert entry_from_json(data) == made
        assert entry_to_json(entry_from_json(data)) == data
        data.decode("utf-8")


def test_an_invalid_message_raises():
    for message in (
        {"role": "robot", "content": "x"},
        {"content": "x"},
        "hello",
        assistant_call("a") | {"tool_calls": [{}]},
    ):
        with pytest.raises(InvalidMessage):
            entry(message)
    with pytest.raises(ValueError, match="Expecting property name"):
        entry_from_json(b"{")


@given(DAMAGED)
def test_entries_survive_a_log(messages):
    with transom.Conversation.open("memory:", "s", budget=4_000, clock=NOW.timestamp) as conv:
        session = Session(conversation=conv)
        for at, message in enumerate(messages):
            session.publish(ConversationRecorded(entry(message, at), None, NOW))
        back = session.select_all(ConversationEntry)
    assert [made.evaluation_id for made in back] == [EVALUATION] * len(messages)
    assert [made.sequence for made in back] == list(range(len(messages)))
    assert [made.created_at for made in back] == [NOW] * len(messages)
    assert [entry_to_provider_message(made) for made in back] == messages


def test_results_of_a_log_have_the_names_of_their_tools():
    log = talk("fix it", call("sh", '{"cmd": "ls"}', label="a"), result("ok"))
    entries = list(log_to_entries(log))
    assert [made.role for made in entries] == ["user", "assistant", "tool"]
    assert entries[2].tool_name == "sh"
    assert entries[1].tool_calls == (ToolCall("a", "sh", '{"cmd": "ls"}'),)


def test_edits_traces_and_heads_of_a_log_are_left_out():
    with transom.Conversation.open("memory:", "x", budget=4_000, system="Be brief.") as conv:
        conv.user("hello")
        conv.pin(0)
        conv.plan_request()
        conv.observe({"role": "assistant", "content": "hi"})
        assert [made.content for made in log_to_entries(conv.log.read())] == ["hello", "hi"]


def test_the_name_of_an_evaluation_becomes_a_uuid():
    def ids(*names):
        log = [Entry(seq=at, at=0.0, body=User(), meta=Meta(evaluation_id=name)) for at, name in enumerate(names)]
        return [made.evaluation_id for made in log_to_entries(log)]

    assert ids("", str(EVALUATION)) == [UUID(int=0), EVALUATION]
    one, again, two = ids("run one", "run one", "run two")
    assert one == again != two
