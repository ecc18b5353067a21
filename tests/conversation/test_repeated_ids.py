"""A call whose id an earlier turn has: it is sent as it came, with one warning where the documentation forbids it."""

from __future__ import annotations

import pytest

from transom import Conversation, open_store

REPLIES = {
    "anthropic": lambda label: {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": label, "name": "look", "input": {}}],
    },
    "openai": lambda label: {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": label, "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    },
    "responses": lambda label: [{"type": "function_call", "call_id": label, "name": "look", "arguments": "{}"}],
}


def requests(dialect, *labels):
    conv = Conversation.open("memory:", "trip", dialect=dialect, budget=20_000)
    conv.user("Go.")
    out = [conv.request()]
    for label in labels:
        conv.observe(REPLIES[dialect](label))
        conv.tool_result(label, f"Fine, {label}.")
        out.append(conv.request())
    return conv, out


@pytest.mark.parametrize(("dialect", "warned"), [("anthropic", 1), ("openai", 0), ("responses", 0)])
def test_a_repeated_id_is_sent_as_it_came_and_anthropic_warns_once(caplog, dialect, warned):
    conv, sent = requests(dialect, "a", "b", "a", "a")
    assert [record.getMessage() for record in caplog.records] == [
        "conversation 'trip': a request may be refused: message 5: the id 'a' is that of a call in message 1"
    ] * warned
    assert str(sent[-1]).count("'a'") == 6
    assert conv.dialect.violations(sent[-1]) == []


def test_a_program_that_opens_the_conversation_for_each_request_reads_the_warning_once(caplog):
    store = open_store("memory:")
    for _ in range(5):
        with Conversation.open(store, "often", dialect="anthropic", budget=20_000) as conv:
            conv.user("Go.")
            conv.request()
            conv.observe(REPLIES["anthropic"]("a"))
            conv.tool_result("a", "Fine.")
    requests("anthropic", "a", "b", "a", "a")
    said = [record.getMessage().partition(":")[0] for record in caplog.records]
    assert said == ["conversation 'often'", "conversation 'trip'"]


def test_distinct_ids_warn_of_nothing(caplog):
    requests("anthropic", "a", "b", "c")
    assert caplog.records == []
