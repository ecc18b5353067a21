"""`fit`: a list in, a valid list within the budget out."""

from __future__ import annotations

import copy
import json

import pytest

import transom
from transom.core.budget import Budget
from transom.errors import InvalidMessage
from transom.tokenizer import o200k
from transom.wire.openai import violations


def history(turns, size=40):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Find the bug."}]
    for number in range(turns):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "sh", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"line {number}\n" * size})
    return messages


def test_what_fits_comes_out_unchanged():
    messages = history(5)
    fitted = transom.fit(messages, budget=128_000)
    assert fitted == messages
    assert {type(message) for message in fitted} == {dict}


def test_the_input_is_untouched_and_nothing_of_it_is_shared():
    messages = history(60)
    messages[1]["content"] = [{"type": "text", "text": "Find the bug."}]
    before = copy.deepcopy(messages)
    out = transom.fit(messages, budget=4_000)
    out[1]["content"][0]["text"] = "changed"
    out[-1]["content"] = "changed"
    assert messages == before


def test_the_same_input_gives_the_same_bytes():
    messages = history(80)
    once, again = (json.dumps(transom.fit(copy.deepcopy(messages), budget=4_000)) for _ in range(2))
    assert once == again


def test_a_longer_list_begins_with_the_shorter_ones_result():
    messages = history(60)
    previous, breaks = [], 0
    for end in range(2, len(messages) + 1, 2):
        out = transom.fit(messages[:end], budget=4_000)
        assert not violations(out)
        breaks += out[: len(previous)] != previous
        previous = out
    assert 0 < breaks < 8


def test_markers_name_messages_by_position():
    out = transom.fit(history(100), budget=4_000)
    assert out[2]["content"].startswith("[message 2 to message ")


def test_a_marker_of_what_is_in_no_list_names_the_message_before_it():
    """An unanswered call gets a made result; a range that ends in it ends at its call."""
    messages = [message for message in history(60) if message["role"] != "tool"]
    markers = set[str]()
    for end in range(20, len(messages), 3):
        out = transom.fit(messages[:end], budget=400)
        markers |= {text for message in out if (text := message.get("content") or "").startswith("[message")}
    assert markers
    assert not any("entry" in marker for marker in markers)


@pytest.mark.parametrize("limit", [2, 3, 4, 6, 10, 40])
def test_max_messages_counts_all_of_them(limit):
    out = transom.fit(history(100), budget=Budget(max_messages=limit))
    assert len(out) <= limit
    assert not violations(out)
    assert out[0]["content"] == "Be brief."


def test_reserve_and_tools_leave_less_room():
    tools = [{"type": "function", "function": {"name": "sh", "description": "x " * 500}}]
    wide = transom.fit(history(100), budget=4_000, policy="sliding")
    narrow = transom.fit(history(100), budget=Budget(context=4_000, reserve=1_000), policy="sliding", tools=tools)
    assert len(narrow) < len(wide)


def test_a_list_with_nothing_to_send_is_refused_but_an_empty_one_is_empty():
    assert transom.fit([]) == []
    empty = {"role": "user", "content": ""}
    assert transom.fit([empty, {"role": "user", "content": "Hi."}], budget=4_000) == [
        {"role": "user", "content": "Hi."}
    ]
    for messages, where in (([empty], "messages[0]"), ([empty, {"role": "assistant", "content": None}], "messages")):
        for dialect in ("openai", "anthropic"):
            with pytest.raises(InvalidMessage) as refused:
                transom.fit(messages, dialect=dialect)
            assert str(refused.value) == f"{where}: none has content or calls, so there is nothing to send"


CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLING = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": None, "tool_calls": [CALL]}]


def result(text):
    return {"role": "tool", "tool_call_id": "a", "content": text}


def test_results_that_answer_no_open_call_are_left_out_and_counted():
    again = [*CALLING, result("one"), result("two"), {"role": "function", "name": "g", "content": "old"}]
    with pytest.warns(UserWarning, match="2 tool results are left out .the first: message 3.: they ") as caught:
        assert transom.fit(again, budget=4_000) == again[:3]
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.raises(InvalidMessage, match="only results that answer no call have content"):
        transom.fit([result("one")], budget=4_000)


def test_a_late_result_is_in_a_note_and_not_counted():
    late = [*CALLING, {"role": "user", "content": "Well?"}, {"role": "assistant", "content": "Wait."}, result("late")]
    assert "late" in str(transom.fit([*late, {"role": "user", "content": "Now?"}], budget=4_000))


def test_message_objects_of_a_client_library_are_read_through_their_own_dump():
    class Message:
        def __init__(self, fields):
            self.fields = {"role": "user", "refusal": None, "audio": None, "tool_calls": None} | fields

        def model_dump(self):
            return self.fields

    messages = history(60)
    objects = [Message(message) if message["role"] == "assistant" else message for message in messages]
    assert transom.fit(objects, budget=128_000) == messages
    assert transom.fit(objects, budget=4_000) == transom.fit(messages, budget=4_000)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"messages": "hello"}, transom.InvalidMessage, "must be a list of messages, not str"),
        ({"messages": [{"content": "x"}]}, transom.InvalidMessage, "message 0: the message has no role"),
        ({"messages": [], "budget": 0}, transom.InvalidSetting, "context must be a whole number of at least 1"),
        ({"messages": [], "budget": "much"}, transom.InvalidSetting, "budget"),
        ({"messages": [], "policy": "magic"}, transom.InvalidSetting, "unknown policy 'magic': there are default"),
        ({"messages": [], "dialect": "klingon"}, transom.InvalidSetting, "unknown dialect 'klingon'"),
        ({"messages": history(1), "budget": 5}, transom.BudgetImpossible, "limit 5"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_line(arguments, error, says):
    with pytest.raises(error, match=says) as caught:
        transom.fit(**arguments)
    assert "\n" not in str(caught.value)


def test_tokens_are_within_the_budget_by_an_independent_count():
    count = o200k().count
    out = transom.fit(history(200), budget=3_000)
    total = 3
    for message in out:
        total += 4 + count(message.get("content") or "") + count(message.get("tool_call_id", ""))
        for call in message.get("tool_calls", []):
            total += count(call["id"]) + count(call["function"]["name"]) + count(call["function"]["arguments"])
    assert total <= 3_000


def test_a_budget_that_is_not_given_is_assumed_with_a_warning() -> None:
    messages = history(2)
    with pytest.warns(UserWarning, match="no budget given: assuming a context window of 128,000 tokens") as warned:
        assert transom.fit(messages) == messages
    assert warned[0].filename == __file__


OTHER_APIS = {
    "anthropic": [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "Fine."}]},
    ],
    "responses": [
        {"role": "user", "content": "Go."},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "Fine."},
    ],
    "gemini": [{"role": "user", "parts": [{"text": "Go."}]}],
}


@pytest.mark.parametrize("dialect", OTHER_APIS)
def test_messages_of_another_api_name_the_dialect_that_takes_them(dialect) -> None:
    messages = OTHER_APIS[dialect]
    said = f'; for these messages give dialect="{dialect}"$'
    with pytest.raises(transom.InvalidMessage, match=said):
        transom.fit(messages, budget=4_000)
    with pytest.raises(transom.InvalidMessage, match=said):
        transom.Conversation.from_messages(messages, budget=4_000)
    conv = transom.Conversation.open("memory:", "c", budget=4_000)
    with pytest.raises(transom.InvalidMessage, match=said):
        conv.extend(messages)
    assert transom.fit(messages, budget=4_000, dialect=dialect)
    with pytest.raises(transom.InvalidMessage, match=r'for these messages give dialect="openai"$'):
        transom.fit([{"role": "system", "content": "x"}, *history(1)], budget=4_000, dialect="gemini")
    with pytest.raises(transom.InvalidMessage) as raised:
        transom.fit([*messages, 7], budget=4_000)
    assert "dialect=" not in str(raised.value)
