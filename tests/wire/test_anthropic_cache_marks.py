"""Cache marks as the API takes them: those of an hour before those of 5 minutes, and at most four."""

from __future__ import annotations

import pytest

import transom
from transom.wire.anthropic.caching import breakpoints
from transom.wire.dialects import dialect_named

HOUR, SHORT, NONE = {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}, None
FIVE = {"type": "ephemeral", "ttl": "5m"}


def block(mark: dict | None, text: str = "x") -> dict:
    return {"type": "text", "text": text, **({"cache_control": mark} if mark else {})}


def result(mark: dict | None, inner: dict | None) -> dict:
    marked = {"cache_control": mark} if mark else {}
    return {"type": "tool_result", "tool_use_id": "t", "content": [block(inner)], **marked}


def sent(*contents: list[dict], system: list[dict] | None = None) -> tuple[list[dict | None], list]:
    """The marks of a window's body in their order, and what breaks a rule."""
    dialect = dialect_named("anthropic")
    with transom.Conversation.open("memory:", "x", budget=20_000, dialect="anthropic", system=system) as conv:
        for content in contents:
            conv.user(content)
            conv.observe({"role": "assistant", "content": [block(None, "ok")]})
        conv.user("more")
        request = conv.request(cache=True)
        blocks = [*(request.get("system") or []), *(each for m in request["messages"] for each in m["content"])]
        marks = [each["cache_control"] for each in blocks if isinstance(each, dict) and "cache_control" in each]
        return marks, dialect.violations(dict(request))


CASES = {
    "an hour in a message, ours on the system prompt": (([block(HOUR)],), [block(NONE)], [HOUR, SHORT]),
    "5 minutes before an hour": (([block(FIVE)], [block(HOUR)]), None, [HOUR, SHORT]),
    "on the system prompt before an hour": (([block(HOUR)],), [block(SHORT)], [HOUR, SHORT]),
    "in one message": (([block(SHORT), block(HOUR), block(FIVE)],), None, [HOUR, FIVE, SHORT]),
    "an hour first": (([block(FIVE)],), [block(HOUR)], [HOUR, FIVE, SHORT]),
    "five": (tuple([block(HOUR)] for _ in range(5)), None, [HOUR] * 4),
}


@pytest.mark.parametrize("case", CASES)
def test_marks_of_an_hour_stand_before_those_of_5_minutes(case):
    contents, system, expected = CASES[case]
    assert sent(*contents, system=system) == (expected, [])


def test_a_mark_inside_a_result_is_one_before_it():
    body = {
        "messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
            {"role": "user", "content": [result(HOUR, FIVE)]},
        ]
    }
    (violation,) = dialect_named("anthropic").violations(body)
    assert (violation.rule, violation.why) == ("A19", "a cache_control of 1h behind one of 5m")
    assert breakpoints(body, [0]) == body  # nothing of ours stands before an hour


def test_fit_leaves_out_the_marks_that_the_api_refuses():
    """A list has the same marks as a request with it."""

    def said(ttl: str) -> list[dict]:
        return [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral", "ttl": ttl}}]

    turns = [("user", "5m"), ("assistant", "1h"), ("user", "1h"), ("assistant", "5m"), ("user", "5m"), ("user", "5m")]
    messages = [{"role": role, "content": said(ttl)} for role, ttl in turns]
    fitted = transom.fit(messages, budget=20_000, dialect="anthropic")
    marks = [block["cache_control"]["ttl"] for each in fitted for block in each["content"] if "cache_control" in block]
    assert marks == ["1h", "5m", "5m", "5m"]
