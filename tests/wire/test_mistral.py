"""Mistral's variant of the chat dialect: labels of nine, a word between an answer and the user, no last word."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from windows import Letters, as_sent

from transom import Budget, fit
from transom.conversation.appending.parse_messages import split_head
from transom.conversation.conversation import Conversation
from transom.core.message import Head
from transom.core.window import assemble
from transom.policies import policy_named
from transom.stores import MemoryStore
from transom.wire.openai.mistral import MISTRAL, nine_letters
from transom.wire.rendering import render_messages

USER = {"role": "user", "content": "a"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def rules(messages) -> list[str]:
    return [violation.rule for violation in MISTRAL.violations({"messages": messages})]


def test_every_accepted_request_breaks_no_rule_and_comes_out_unchanged(data):
    seen = 0
    with gzip.open(data / "provider_exchanges.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["provider"] != "mistral" or row["status"] != 200 or "messages" not in row["request"]:
                continue
            messages = row["request"]["messages"]
            assert rules(messages) == []
            head, facts = split_head(messages, dialect=MISTRAL)
            log = MemoryStore().open("x")
            budget, plain = Budget(context=10_000_000), policy_named("passthrough")
            conversation = Conversation(
                log, budget=budget, policy=plain, counter=Letters(), system=head, dialect=MISTRAL
            )
            for _, fact in facts:
                conversation.append(fact)
            shown = render_messages(assemble(conversation.view, 1).view, MISTRAL)
            assert [*MISTRAL.join(MISTRAL.render_head(Head(messages=tuple(head)))), *shown] == as_sent(messages)
            seen += 1
    assert seen == 27


@pytest.mark.parametrize(
    ("messages", "broken"),
    [
        ([{"role": "user", "content": "a"}], []),
        ([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], ["M3"]),
        ([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "prefix": True}], []),
        ([{"role": "developer", "content": "a"}, {"role": "user", "content": "b"}], ["M4"]),
        (
            [
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "call_1", "content": "c"},
                {"role": "user", "content": "d"},
            ],
            ["M1", "M1", "M2"],
        ),
        ([{"role": "user", "content": "a", "name": "ann"}], ["M5"]),
        (
            [{"role": "tool", "content": "a", "tool_call_id": "abcDEF123", "name": "f", "x": 1}, USER],
            ["M5", "C2", "M2"],
        ),
    ],
)
def test_the_rules_both_ways(messages, broken):
    assert rules(messages) == broken


@given(st.text())
def test_a_label_of_nine_stays_itself(text):
    label = nine_letters(text)
    assert len(label) == 9
    assert label.isascii()
    assert label.isalnum()
    assert nine_letters(label) == label


def test_what_openai_takes_is_made_what_mistral_takes():
    messages = [
        {"role": "developer", "content": "brief"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "abcDEF123"}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "one"},
        {"role": "tool", "tool_call_id": "abcDEF123", "content": "two"},
        {"role": "user", "content": "and"},
        {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}},
        {"role": "function", "name": "old", "content": "three"},
        {"role": "assistant", "content": "done"},
    ]
    shown = fit(messages, budget=4_000, dialect="mistral")
    assert rules(shown) == []
    assert [message["role"] for message in shown] == [
        *("system", "user", "assistant", "tool", "tool", "assistant", "user", "assistant", "tool", "assistant", "user")
    ]
    first, second = shown[2]["tool_calls"]
    assert [first["id"], second["id"]] == [shown[3]["tool_call_id"], "abcDEF123"]
    assert shown[5]["content"] == "OK"
    assert shown[-1]["content"] == "[continue]"


def test_what_stands_beside_the_words_does_not_go_out():
    messages = [
        {"role": "user", "content": "go", "name": "ann", "cache_control": {"type": "ephemeral"}},
        {"role": "assistant", "content": "so", "reasoning_content": "hm", "annotations": [], "refusal": None},
        {"role": "user", "content": "and"},
        {"role": "assistant", "content": None, "refusal": "I will not."},
        {"role": "user", "content": "why"},
    ]
    words = ["go", "so", "and", "I will not.", "why"]
    roles = [message["role"] for message in messages]
    shown = fit(messages, budget=4_000, dialect="mistral")
    assert rules(shown) == []
    assert shown == [{"role": role, "content": text} for role, text in zip(roles, words, strict=True)]


def test_it_costs_no_more_than_it_says():
    log = MemoryStore().open("x")
    conversation = Conversation(
        log, budget=Budget(context=100_000), policy=policy_named("default"), counter=Letters(), dialect=MISTRAL
    )
    for _ in range(3):
        conversation.user("go")
        conversation.observe({"role": "assistant", "content": None, "tool_calls": [CALL]})
        conversation.tool_result("call_1", "one")
    conversation.user("and")
    window = conversation.plan_request()
    texts = []
    for message in render_messages(window.view, MISTRAL):
        texts += [message.get("content") or "", message.get("tool_call_id", "")]
        texts += [text for call in message.get("tool_calls", ()) for text in (call["id"], "f", "{}")]
    assert 3 + 4 * len(render_messages(window.view, MISTRAL)) + sum(map(len, texts)) <= window.tokens
