"""What Anthropic accepted and refused, and conversations of other APIs that go on there."""

from __future__ import annotations

import gzip
import json

import pytest
import turnsafe
from test_anthropic_counting import request_tokens, talking
from windows import conversations

from families import FAMILIES
from transom.conversation.appending.parse_messages import split_head
from transom.conversation.render_window import render
from transom.conversation.replay import replay
from transom.core.message import Assistant
from transom.core.window import assemble
from transom.tokenizer import o200k
from transom.wire.anthropic import ANTHROPIC, AnthropicDialect
from transom.wire.rendering import render_messages

NO_SHAPE = {"not_found_error": 2, "does not support effort level": 1}
"""Why requests were refused, and how many: none of these reasons stands in the messages."""


@pytest.fixture(scope="session")
def exchanges(data) -> list[dict]:
    with gzip.open(data / "provider_exchanges.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if "/v1/messages" in line]
    return [row for row in rows if "/v1/messages" in row["path"]]


def stated(request) -> dict:
    """The part of a request that is the conversation."""
    return {key: request[key] for key in ("system", "messages") if key in request}


def came_back(request, dialect=ANTHROPIC) -> dict:
    """A request read into a log, and the window of it: nothing closed, nothing cut."""
    head = dialect.parse_system(request["system"]) if "system" in request else []
    facts = [fact for _, fact in dialect.parse(request["messages"])]
    talk = talking(*facts, system=head, dialect=dialect, counter=o200k())
    window = assemble(talk.view, 10**7)
    return dialect.body(talk.head, render_messages(window.view, dialect))


def judged(messages, *, again=False) -> list[str]:
    """What the second judge has against messages. It wants ids unique in all of a request; the API takes them again in
    a later turn (recorded twice), and ids that came from it stay as received: `again` leaves that out."""
    errors = [found for found in turnsafe.validate(messages, provider="anthropic").violations if is_error(found)]
    return [found.code for found in errors if not (again and "already used" in found.message)]


def is_error(found) -> bool:
    return found.severity == "error"


def test_every_accepted_request_breaks_no_rule_and_comes_out_unchanged(exchanges):
    accepted = [row["request"] for row in exchanges if row["status"] == 200]
    for request in accepted:
        assert ANTHROPIC.violations(request) == []
        assert judged(request["messages"], again=True) == []
        assert came_back(request) == stated(request)
    assert len(accepted) == 159


def test_every_accepted_request_is_sent_again_as_it_was(exchanges):
    """Planned and counted by a conversation, tools included, with nothing added and nothing closed."""
    same = 0
    for row in exchanges:
        if row["status"] != 200:
            continue
        request = row["request"]
        tools = [tool for tool in request.get("tools", ()) if isinstance(tool, dict)]
        head = ANTHROPIC.parse_system(request["system"]) if "system" in request else []
        facts = [fact for _, fact in ANTHROPIC.parse(request["messages"])]
        window = talking(*facts, system=head, counter=o200k()).plan_request(tools=tools)
        out = render(window, ANTHROPIC)
        same += out == stated(request) | ({"tools": tools} if tools else {})
        assert request_tokens(out, o200k(), tools) <= window.tokens
    assert same == 159


def test_bound_reasoning_comes_back_on_the_prefix_it_was_made_on(exchanges):
    bound = AnthropicDialect(bound=True)
    thoughtful = [row["request"] for row in exchanges if row["status"] == 200 and '"thinking": "' in json.dumps(row)]
    for request in thoughtful:
        facts = [fact for _, fact in bound.parse(request["messages"])]
        assert any(thought.bound for fact in facts if isinstance(fact, Assistant) for thought in fact.reasoning)
        assert came_back(request, bound) == stated(request)
    assert thoughtful


def test_no_request_was_refused_for_its_shape(exchanges):
    """If one ever is, it must break a rule: then this test says which."""
    refused = [row for row in exchanges if row["status"] != 200]
    reasons = [next((why for why in NO_SHAPE if why in json.dumps(row["error"])), None) for row in refused]
    assert {why: reasons.count(why) for why in reasons} == NO_SHAPE
    assert [ANTHROPIC.violations(row["request"]) for row in refused] == [[]] * len(refused)


def check(conversation, context=10_000_000) -> int:
    """A conversation of chat messages goes on here: every window valid, and within what it says."""
    head, facts = split_head(conversation["messages"])
    talk = talking(system=head, counter=o200k(), context=context)
    windows = 0
    for step in replay(talk, facts):
        assert step.refused is None
        request = render(step.window, ANTHROPIC)
        broken = [] if step.window.slots else ["empty"]  # a call made on nothing but the system prompt
        assert [found.rule for found in ANTHROPIC.violations(request)] == broken
        assert judged(request["messages"]) == []
        assert request_tokens(request, o200k()) <= step.window.tokens
        windows += not broken
    return windows


@pytest.mark.parametrize("context", [10_000_000, 12_000])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_twentieth_chat_conversation_goes_on_here(data, family, context):
    """The first 40 messages of at most three of them."""
    file = data / "conversations" / f"{family}.jsonl.gz"
    some = [each for at, each in enumerate(conversations(file, 41)) if at % 20 == 0]
    windows = sum(check({**each, "messages": each["messages"][:40]}, context) for each in some)
    assert windows > 0


@pytest.mark.campaign
@pytest.mark.usefixtures("campaign")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_twentieth_whole_conversation(data, family):
    for at, each in enumerate(conversations(data / "conversations" / f"{family}.jsonl.gz")):
        if at % 20 == 0:
            check(each, 32_000)
