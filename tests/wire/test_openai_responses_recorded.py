"""What providers accepted and refused, and conversations that happened in another dialect."""

from __future__ import annotations

import gzip
import json

import pytest
from responses_kit import planned, read, request_of, same, tokens_of, told
from windows import conversations

from families import FAMILIES
from transom.core.message import Instruction, Text
from transom.core.window import assemble
from transom.tokenizer import o200k
from transom.wire.openai import OPENAI_CHAT
from transom.wire.rendering import render_messages
from transom.wire.responses import DEEPSEEK_RESPONSES, RESPONSES

NO_SHAPE = {"model_not_found": 1, "unsupported_file": 1}
"""Why requests were refused, and how many, for reasons that do not stand in their items."""

REFUSED = "No tool output found for tool call call-a."


@pytest.fixture(scope="session")
def exchanges(data) -> list[dict]:
    with gzip.open(data / "provider_exchanges.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if "/responses" in line]
    return [row for row in rows if "/responses" in row["path"]]


def dialect_of(row):
    return DEEPSEEK_RESPONSES if row["provider"] == "deepseek" else RESPONSES


def expected(request) -> dict:
    """What stands in the window of a request, which says a text as a message and has no word for no instructions. What
    precedes the provider's compaction is not sent again."""
    given = request["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    compactions = [at for at, item in enumerate(items) if item.get("type") == "compaction"]
    items = items[compactions[-1] :] if compactions else items
    words = request.get("instructions")
    return {"input": items} if words is None else {"instructions": words, "input": items}


def test_every_accepted_request_breaks_no_rule_and_comes_out_unchanged(exchanges):
    accepted = [row for row in exchanges if row["status"] == 200]
    for row in accepted:
        request = row["request"]
        for dialect in {RESPONSES, dialect_of(row)}:
            assert dialect.violations(request) == []
            conversation = read(request, dialect, o200k())
            assert same(request_of(conversation, dialect), expected(request))
            assert tokens_of(expected(request), o200k().count) <= conversation.window().size.tokens
    assert len(accepted) == 146


def test_an_accepted_request_is_as_valid_when_it_has_been_planned(exchanges):
    for row in exchanges:
        if row["status"] == 200 and row["request"]["input"]:
            sent, _ = planned(read(row["request"], dialect_of(row)), dialect_of(row))
            assert same(sent, expected(row["request"]))


def test_no_accepted_output_answers_a_call_that_is_elsewhere(exchanges):
    """If one ever does, it cannot be shown: there is no call in the log that it could follow."""
    stray = []
    for row in exchanges:
        items = row["request"]["input"]
        calls = {item.get("call_id") for item in items if isinstance(item, dict) and "output" not in item}
        stray += [
            item for item in items if isinstance(item, dict) and "output" in item and item["call_id"] not in calls
        ]
    assert stray == []


def test_an_output_whose_call_is_elsewhere_is_read_and_checked_but_not_shown():
    request = {
        "previous_response_id": "resp_1",
        "input": [
            {"type": "function_call_output", "call_id": "call_1", "output": "12 degrees"},
            {"role": "user", "content": "And tomorrow?"},
        ],
    }
    assert RESPONSES.violations(request) == []
    conversation = read(request)
    assert len(conversation.log) == 2
    assert request_of(conversation) == {"input": request["input"][1:]}


def test_the_refused_whose_reason_is_their_shape_are_flagged_and_the_others_are_not(exchanges):
    refused = [row for row in exchanges if row["status"] != 200]
    reasons = {why: [row for row in refused if why in json.dumps(row["error"])] for why in (*NO_SHAPE, REFUSED)}
    assert {why: len(rows) for why, rows in reasons.items()} == {**NO_SHAPE, REFUSED: 1}
    assert sum(map(len, reasons.values())) == len(refused)
    for why in NO_SHAPE:
        assert [dialect_of(row).violations(row["request"]) for row in reasons[why]] == [[]]
    request = reasons[REFUSED][0]["request"]
    assert [(each.rule, each.index) for each in DEEPSEEK_RESPONSES.violations(request)] == [("R4", 1)]
    assert RESPONSES.violations(request) == []  # R3: another provider takes it


def test_what_deepseek_refused_is_mended_for_it(exchanges):
    row = next(row for row in exchanges if row["status"] != 200 and REFUSED in json.dumps(row["error"]))
    items = row["request"]["input"]
    conversation = read(row["request"], DEEPSEEK_RESPONSES)
    sent = request_of(conversation, DEEPSEEK_RESPONSES)
    assert DEEPSEEK_RESPONSES.violations(sent) == []
    assert sent["input"] == [items[i] for i in (0, 2, 1, 3, 4, 5, 6)]
    assert request_of(conversation, RESPONSES)["input"] == items  # and the log has it as it was


def check(conversation):
    """A chat in this dialect: valid in either strictness, counted, every word of it there."""
    facts = [fact for _, fact in OPENAI_CHAT.parse(conversation["messages"])]
    lead = next((i for i, fact in enumerate(facts) if not isinstance(fact, Instruction)), len(facts))
    talk = told(facts[lead:], RESPONSES, facts[:lead], o200k())
    sent, window = planned(talk)
    assert RESPONSES.violations(sent) == []
    assert tokens_of(sent, o200k().count) <= window.size.tokens
    strict = DEEPSEEK_RESPONSES.body(talk.head, render_messages(assemble(talk.view, 10**7).view, DEEPSEEK_RESPONSES))
    assert DEEPSEEK_RESPONSES.violations(strict) == []
    shown = json.dumps(sent)
    for unit in window.view.visible_units():
        for fact in unit.facts:
            for part in fact.parts:
                assert not isinstance(part, Text) or json.dumps(part.text)[1:-1] in shown
    return len(sent["input"])


@pytest.mark.parametrize("family", FAMILIES)
def test_chats_are_valid_in_this_dialect(data, family):
    sent, left = 0, 400
    for number, conversation in enumerate(conversations(data / "conversations" / f"{family}.jsonl.gz")):
        if number % 20 == 0 and left > 0:
            messages = conversation["messages"][:left]
            sent += check({**conversation, "messages": messages})
            left -= len(messages)
    assert sent
