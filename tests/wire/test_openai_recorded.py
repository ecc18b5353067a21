"""What providers accepted and refused, and conversations that happened."""

from __future__ import annotations

import gzip
import json

import pytest
import turnsafe
from windows import as_sent, conversations, imported, rendered

from counting import request_tokens
from families import FAMILIES
from transom.tokenizer import o200k
from transom.wire.openai import OPENAI_CHAT, message, parse, violations

NO_SHAPE = {
    "model_not_found": 3,
    "does not support 'system' with this model": 1,  # C10: o1-mini; other models take the role
    "Tool choice is required, but model did not call a tool": 1,  # the model failed, not the request
    # gpt-5-mini refuses `input_audio` in a user message; gpt-4o-audio-preview was recorded accepting it there
    "Content blocks are expected to be either text or image_url type": 4,
}
"""Why requests were refused, and how many: none of these reasons stands in the messages alone."""


@pytest.fixture(scope="session")
def exchanges(data) -> list[dict]:
    with gzip.open(data / "provider_exchanges.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if "chat/completions" in line]
    return [row for row in rows if "chat/completions" in row["path"]]


def test_every_accepted_request_breaks_no_rule_and_comes_out_unchanged(exchanges):
    accepted = [row["request"] for row in exchanges if row["status"] == 200]
    for request in accepted:
        messages, tools = request["messages"], request.get("tools") or []
        assert violations(messages, tools) == []
        assert turnsafe.validate(messages, provider="openai").violations == ()
        view = imported(messages, tools)
        assert rendered(view) == as_sent(messages)
        assert view.total.tokens == request_tokens(messages, o200k(), tools)
    assert len(accepted) == 265


def test_no_request_was_refused_for_its_shape(exchanges):
    """If one ever is, it must break a rule: then this test says which."""
    refused = [row for row in exchanges if row["status"] != 200]
    reasons = [next((why for why in NO_SHAPE if why in json.dumps(row["error"])), None) for row in refused]
    assert {why: reasons.count(why) for why in reasons} == NO_SHAPE
    assert [violations(row["request"]["messages"]) for row in refused] == [[]] * len(refused)


def check(conversation):
    """Lossless one by one; valid, and counted to the token, as a window."""
    messages = conversation["messages"]
    for index, raw in enumerate(messages):
        assert message(parse(raw, f"messages[{index}]")) == raw
    view = imported(messages, counter=OPENAI_CHAT.format_counter(o200k()))  # which counts the pages of a PDF
    out = rendered(view)
    assert violations(out) == []
    assert turnsafe.validate(out, provider="openai").violations == ()
    assert view.total.tokens == request_tokens(out, o200k())
    assert view.total.messages == len(out)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_first_conversations_of_each_family(data, family):
    file = data / "conversations" / f"{family}.jsonl.gz"
    left = 150
    for conversation in conversations(file, 10):
        check({**conversation, "messages": conversation["messages"][:left]})
        left -= min(left, len(conversation["messages"]))
        if not left:
            break


@pytest.mark.campaign
@pytest.mark.usefixtures("campaign")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_conversation(data, family):
    for conversation in conversations(data / "conversations" / f"{family}.jsonl.gz"):
        check(conversation)


def test_the_families_are_all_of_them(data):
    assert tuple(sorted(file.name.split(".")[0] for file in (data / "conversations").glob("*.gz"))) == FAMILIES
