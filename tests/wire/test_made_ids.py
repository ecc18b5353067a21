"""An id that we make for a call of another API is never that of another call, also where a provider gave such an id."""

from __future__ import annotations

import json
import re

import pytest
from msgspec.structs import replace

import transom
from transom import Conversation, open_store
from transom.core.edit import Fold
from transom.core.message import Assistant, Call, Text, ToolResult, User
from transom.testing import WordCounter
from transom.wire.dialects import dialect_named
from transom.wire.made_ids import PlaceIds, TakenIds, place_ids, rendered_apart

CHAT_TURN = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "call_abc", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
}
REPLIES = {
    "openai": lambda label: {
        **CHAT_TURN,
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


def made_by(store, dialect):
    """The first id in a request."""
    return ids_of(requested(store, dialect))[0][0]


@pytest.mark.parametrize("dialect", OTHERS)
def test_a_call_that_comes_later_with_an_id_of_ours_gets_another(dialect):
    store = open_store("memory:")
    go_on(store, "openai", "call_abc", "x")
    ours = made_by(store, dialect)
    before = requested(store, dialect)
    after = go_on(store, dialect, ours)
    calls, results = ids_of(after)
    assert calls == results
    assert calls[0] == ours
    assert len(set(calls)) == 2
    assert re.fullmatch(r"call_\d+_0", calls[1])
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
    assert calls[0] == ours
    assert len(set(calls)) == 2
    assert ids_of(before)[0] == [ours]


@pytest.mark.parametrize("dialect", OTHERS)
def test_every_window_of_many_such_calls_is_within_its_count(dialect):
    store, places = open_store("memory:"), 40
    ids = [f"call_{key + more}_0" for key in range(places) for more in (0, 10**8)]
    for number in range(6):
        go_on(store, "openai", "call_abc", "x")
        go_on(store, dialect, ids[(7 * number) % len(ids)])
    with Conversation.open(store, "trip", budget=8_000, dialect=dialect) as conv:
        for label in ids[:12]:
            conv.request()
            conv.observe(REPLIES[dialect](label))
            conv.tool_result(label, "y")
    calls, results = ids_of(requested(store, dialect))
    assert calls == results
    made = [label for label in calls if not calls.count(label) > 1]
    assert len(set(calls)) >= len(made)
    with Conversation.open(store, "trip", budget=8_000, dialect=dialect, counter=Letters()) as conv:
        window = conv.window()
        assert len("".join(calls)) <= window.tokens


class Letters(WordCounter):
    """Counts letters."""

    name = "letters"

    def count(self, text: str) -> int:
        return len(text)


@pytest.mark.parametrize("dialect", OTHERS)
def test_a_repeated_id_of_a_provider_stays_as_it_came(dialect):
    store = open_store("memory:")
    for _ in range(3):
        request = go_on(store, dialect, "call_7_7")
    assert ids_of(request)[0] == ["call_7_7"] * 3


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
    assert calls[0] == ours != calls[1]


@pytest.mark.parametrize("dialect", OTHERS)
def test_pinned_calls_behind_a_fold_have_ids_of_their_own(dialect):
    store = open_store("memory:")
    go_on(store, "openai", "call_abc", "x")
    ours = made_by(store, dialect)
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


def test_a_dialect_that_makes_such_ids_by_itself_is_not_asked_for_ever():
    chat = dialect_named("openai")

    class Stubborn(type(chat), frozen=True):
        def render_unit(self, unit):
            return chat.render_unit(replace(unit, key=1))

    store = open_store("memory:")
    with Conversation.open(store, "trip", budget=8_000) as conv:
        conv.append(User(parts=(Text("Go."),)))
        conv.append(Assistant(calls=(Call("", "ls", "{}"),)))
        conv.append(ToolResult(call="", parts=(Text("y"),)))
        slot = conv.view.slots[1]
    taken = TakenIds()
    taken.add(PlaceIds(made=(), all=("call_1_0",), has_given=True, are_distinct=True))
    rendered, ids = rendered_apart(slot, Stubborn(), taken)
    assert ids is not None
    assert ids.made == ("call_1_0",)
    assert place_ids(slot, rendered) == ids
