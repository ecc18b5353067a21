"""What Gemini accepted and refused, and conversations of other providers, said to Gemini."""

from __future__ import annotations

import gzip
import json

import pytest
from test_gemini_counting import read, request_of, request_tokens, talk
from windows import conversations

from families import FAMILIES
from transom.conversation.conversation import Conversation
from transom.policies import policy_named
from transom.stores.in_memory import MemoryStore
from transom.tokenizer import o200k
from transom.wire.gemini import GEMINI, GeminiDialect
from transom.wire.openai import parse

NO_SHAPE = {"is not found for API version": 1, "Cannot fetch content from the provided URL": 2}
"""Why requests were refused, and how many: none of these reasons stands in the contents."""

UNSIGNED = 1
"""Of the accepted requests so many have an unsigned call in their current turn; all to models before Gemini 3."""


@pytest.fixture(scope="session")
def exchanges(data) -> list[dict]:
    with gzip.open(data / "provider_exchanges.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if "enerateContent" in line]
    return [row for row in rows if "enerateContent" in row["path"]]


def fields_of(request) -> dict:
    return {key: request[key] for key in ("systemInstruction", "contents") if key in request}


def test_every_accepted_request_breaks_no_rule_and_comes_out_unchanged(exchanges):
    accepted = [row["request"] for row in exchanges if row["status"] == 200]
    for request in accepted:
        assert GEMINI.violations(request) == []
        system = GEMINI.parse_system(request["systemInstruction"]) if "systemInstruction" in request else None
        conversation = read(request["contents"], system=system)
        window = conversation.window()
        assert request_of(conversation, window) == fields_of(request)
        assert request_tokens(request_of(conversation, window), o200k()) <= window.size.tokens
    assert len(accepted) == 216


def test_the_recorded_need_no_help_of_the_planner(exchanges):
    """The same without it: no call is open, nothing is to be said."""
    for row in exchanges:
        conversation = read(row["request"]["contents"])
        assert request_of(conversation)["contents"] == row["request"]["contents"]


def test_counts_are_close_to_what_is_sent(exchanges):
    """Never less; more by the word before a first call, which is always counted, where responses share a content, and
    for small parts of an unknown kind, which elsewhere are a placeholder."""
    more = []
    for row in exchanges:
        conversation = read(row["request"]["contents"])
        window = conversation.window()
        more.append(window.size.tokens - request_tokens(request_of(conversation, window), o200k()))
    least = GEMINI.format_counter(o200k()).request - 3
    assert min(more) == least
    assert max(more) <= least + 10


def test_no_request_was_refused_for_its_shape(exchanges):
    """If one ever is, it must break a rule: then this test says which."""
    refused = [row for row in exchanges if row["status"] != 200]
    reasons = [next((why for why in NO_SHAPE if why in json.dumps(row["error"])), None) for row in refused]
    assert {why: reasons.count(why) for why in reasons} == NO_SHAPE
    assert [GEMINI.violations(row["request"]) for row in refused] == [[]] * len(refused)


def test_only_older_models_take_calls_without_a_signature(exchanges):
    strict = GeminiDialect(strict=True)
    found = {row["path"]: strict.violations(row["request"]) for row in exchanges}
    unsigned = {path: each for path, each in found.items() if each}
    assert len(unsigned) == UNSIGNED
    assert {violation.rule for each in unsigned.values() for violation in each} == {"G5"}
    assert not [path for path in unsigned if "gemini-3" in path]


# ---- conversations with other providers


def check(messages):
    """Every window of a conversation that grows: valid, and never more than was counted. Its last one is looked at."""
    facts = [parse(message) for message in messages]
    conversation = talk(*facts)
    window = conversation.plan_request()
    request = request_of(conversation, window)
    assert GeminiDialect(strict=True).violations(request) == []
    assert request_tokens(request, o200k()) <= window.size.tokens


@pytest.mark.parametrize("family", FAMILIES)
def test_every_twentieth_conversation_of_each_family(data, family):
    left = 400
    for at, conversation in enumerate(conversations(data / "conversations" / f"{family}.jsonl.gz")):
        if at % 20 == 0 and left > 0:
            check(conversation["messages"][:left])
            left -= len(conversation["messages"])


@pytest.mark.parametrize("family", FAMILIES)
def test_within_small_budgets_too(data, family):
    """The default policy folds and trims; what it leaves is valid, and within the budget it was made for."""
    conversation = next(conversations(data / "conversations" / f"{family}.jsonl.gz"))
    grown = talk(context=8_000, policy="default")
    assert isinstance(grown, Conversation)
    for message in conversation["messages"][:120]:
        fact = parse(message)
        if message["role"] == "assistant" and grown.view.slots:
            window = grown.plan_request()
            request = request_of(grown, window)
            assert GeminiDialect(strict=True).violations(request) == []
            assert request_tokens(request, o200k()) <= min(window.size.tokens, grown.budget.usable)
        grown.append(fact)


def test_a_window_of_contents_is_stored_and_comes_back(exchanges):
    """What was read survives the log: the last window of a long exchange is the same from the entries alone."""
    row = max(exchanges, key=lambda row: len(row["request"]["contents"]))
    store = MemoryStore()
    settings = {"budget": talk().budget, "policy": policy_named("passthrough"), "counter": o200k(), "dialect": GEMINI}
    first = Conversation(store.open("x"), clock=lambda: 0.0, **settings)
    for _, fact in GEMINI.parse(row["request"]["contents"]):
        first.append(fact)
    again = Conversation(store.open("x"), clock=lambda: 0.0, **settings)
    assert request_of(again) == request_of(first) == {"contents": row["request"]["contents"]}
