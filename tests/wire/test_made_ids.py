"""An id that we make of a call's place is never that of another call, also where our ids come back as a provider's."""

from __future__ import annotations

import json
import re

import pytest

import transom
from transom import Conversation, open_store
from transom.core.edit import Fold
from transom.core.message import Assistant, Call, Text, ToolResult
from transom.testing import WordCounter

REPLIES = {
    "openai": lambda label: {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": label, "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
    },
    "responses": lambda label: [{"type": "function_call", "call_id": label, "name": "ls", "arguments": "{}"}],
    "anthropic": lambda label: {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": label, "name": "ls", "input": {}}],
    },
    "gemini": lambda label: {"role": "model", "parts": [{"functionCall": {"id": label, "name": "ls", "args": {}}}]},
}
OTHERS = ["responses", "anthropic", "gemini"]


def ids_of(request: object) -> tuple[list[str], list[str]]:
    """The ids of the calls of a request, and those of the results, in order."""
    body, calls, results = json.loads(json.dumps(request)), [], []

    def look(value, under=""):
        for each in value if isinstance(value, list) else ():
            look(each)
        if not isinstance(value, dict):
            return
        kind = value.get("type") or under
        if kind in ("function", "tool_use", "functionCall") and "id" in value:
            calls.append(value["id"])
        elif kind == "function_call":
            calls.append(value["call_id"])
        result = value.get("tool_call_id") or value.get("tool_use_id")
        result = value["call_id"] if kind == "function_call_output" else result
        result = value.get("id") if kind == "functionResponse" else result
        results.extend([result] if result else [])
        for key, each in value.items():
            look(each, key)

    look(body)
    return calls, results


def go_on(store, dialect, label, result="y"):
    with Conversation.open(store, "trip", budget=8_000, dialect=dialect) as conv:
        if not conv.view.slots:
            conv.user("Go. " * 20)
        conv.request()
        conv.observe(REPLIES[dialect](label))
        conv.tool_result(label, result)
        return conv.request()


def requested(store, dialect):
    with Conversation.open(store, "trip", budget=8_000, dialect=dialect) as conv:
        request = conv.request()
        assert conv.dialect.violations(transom.render(conv.window(), dialect)) == []
        return request


@pytest.mark.parametrize("dialect", OTHERS)
def test_an_id_of_ours_that_comes_back_later_is_made_anew(dialect):
    store = open_store("memory:")
    go_on(store, "openai", "call_abc", "x")
    before = requested(store, dialect)
    [ours], _ = ids_of(before)
    after = go_on(store, dialect, ours)
    calls, results = ids_of(after)
    assert calls == results
    assert calls[0] == ours
    assert len(set(calls)) == 2
    assert re.fullmatch(r"call-\d+-0", calls[1])
    sent, more = (json.dumps(each)[: len(json.dumps(before)) - 8] for each in (before, after))
    assert sent == more
    assert requested(store, dialect) == after


@pytest.mark.parametrize("dialect", OTHERS)
def test_an_id_of_ours_that_came_before_is_not_made_again(dialect):
    store, twin = open_store("memory:"), open_store("memory:")
    go_on(twin, dialect, "first")
    go_on(twin, "openai", "call_abc", "x")
    ours = ids_of(requested(twin, dialect))[0][1]
    before = go_on(store, dialect, ours)
    go_on(store, "openai", "call_abc", "x")
    calls, results = ids_of(requested(store, dialect))
    assert calls == results
    assert calls[1] == ours
    assert len(set(calls)) == 2
    assert ids_of(before)[0] == calls[:1]


@pytest.mark.parametrize("dialect", ["openai", *OTHERS])
def test_an_id_that_only_looks_alike_stays_as_it_came(dialect):
    store = open_store("memory:")
    for label in ("call_1_0", "call-1", "call-1-0-a", "Call-1-0"):
        request = go_on(store, dialect, label)
    assert ids_of(request)[0] == ["call_1_0", "call-1", "call-1-0-a", "Call-1-0"]


@pytest.mark.parametrize("dialect", ["openai", *OTHERS])
def test_every_window_of_many_such_calls_is_within_its_count(dialect):
    other, store = "anthropic" if dialect == "openai" else "openai", open_store("memory:")
    for number in range(6):
        go_on(store, other, "call_abc", "x")
        go_on(store, dialect, f"call-{7 * number}-0")
        go_on(store, dialect, f"call-{10**8 + number}-0")
    calls, results = ids_of(requested(store, dialect))
    assert calls == results
    assert len(set(calls)) == len(calls)
    with Conversation.open(store, "trip", budget=8_000, dialect=dialect, counter=Letters()) as conv:
        window = conv.window()
        assert len("".join(calls)) <= window.tokens


class Letters(WordCounter):
    """Counts letters."""

    name = "letters"

    def count(self, text: str) -> int:
        return len(text)


@pytest.mark.parametrize("label", ["call-3-0", "call-999-7"])
@pytest.mark.parametrize("dialect", ["openai", *OTHERS])
def test_an_id_that_is_made_anew_is_counted_as_it_is_sent(dialect, label):
    """Letters are counted, so that each letter of an id shows."""

    def counted(given):
        store = open_store("memory:")
        calls, results = ids_of(go_on(store, dialect, given))
        with Conversation.open(store, "trip", budget=8_000, dialect=dialect, counter=Letters()) as conv:
            return conv.window().tokens, len("".join([*calls, *results]))

    (tokens, letters), (usual, usual_letters) = counted(label), counted("short")
    assert tokens - usual >= letters - usual_letters


def test_a_call_without_an_id_gets_none_that_another_call_has():
    store, twin = open_store("memory:"), open_store("memory:")

    def talk(where, label):
        with Conversation.open(where, "trip", budget=8_000) as conv:
            conv.user("Go.")
            conv.append(Assistant(calls=(Call(label, "ls", "{}"),)))
            conv.append(ToolResult(call=label, parts=(Text("x"),)))
            conv.append(Assistant(calls=(Call("", "ls", "{}"),)))
            conv.append(ToolResult(call="", parts=(Text("y"),)))
            return ids_of(conv.request())

    ours = talk(twin, "first")[0][1]
    calls, results = talk(store, ours)
    assert calls == results
    assert calls[1] == ours != calls[0]


@pytest.mark.parametrize("dialect", OTHERS)
def test_pinned_calls_behind_a_fold_have_ids_of_their_own(dialect):
    store = open_store("memory:")
    go_on(store, "openai", "call_abc", "x")
    [ours], _ = ids_of(requested(store, dialect))
    go_on(store, dialect, ours)
    with Conversation.open(store, "trip", budget=8_000, dialect=dialect) as conv:
        turns = [slot.seqs[0] for slot in conv.view.slots if isinstance(slot.first_fact, Assistant)]
        conv.user("And now?")
        first, last = conv.view.slots[0].first, conv.view.slots[-2].last
        for entry in turns:
            conv.pin(entry)
        conv.edit(Fold(first=first, last=last, text="[left out]"))
        calls, results = ids_of(conv.request())
    assert sorted(calls) == sorted(results)
    assert len(set(calls)) == 2
