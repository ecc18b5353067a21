"""What counts as visible beside a digest: neither pins of the plan itself nor other runs of the same compaction."""

from __future__ import annotations

import json

import pytest

from transom import Budget, Conversation
from transom.conversation.render_window import render
from transom.core.edit import Fold
from transom.core.unit import Unit
from transom.quoting import quote_marks
from transom.strategies.record.passages import quoted_spans
from transom.testing.fakes import FakeClock, WordCounter
from transom.tokenizer import o200k

WITH_DIGEST = ("default", "dynamiq", "openhands", "letta", "aider", "opencode")


def opened(context, policy="default", counter=None):
    counter = counter or WordCounter()
    return Conversation.open(
        "memory:", "x", budget=Budget(context=context), counter=counter, clock=FakeClock(), policy=policy
    )


def turn(conv, number, *results):
    window = conv.plan_request()
    labels = [f"c{number}_{at}" for at in range(len(results))]
    function = {"name": "sh", "arguments": json.dumps({})}
    calls = [{"id": label, "type": "function", "function": function} for label in labels]
    conv.observe({"role": "assistant", "content": None, "tool_calls": calls})
    for label, text in zip(labels, results, strict=True):
        conv.tool_result(label, text)
    return window


def filler(number, count=100):
    return " ".join(f"plain words without end {'abcdefgh'[number % 8]}" for _ in range(count // 5))


def said(window):
    return "\n".join(message["content"] or "" for message in render(window)["messages"])


@pytest.mark.parametrize("policy", WITH_DIGEST)
def test_the_former_newest_message_is_quoted_once_its_pin_is_undone(policy):
    conv = opened(8_000, policy)
    conv.user("go")
    for number in range(200):
        if number == 3:
            conv.user("Keep const_5_limit below 40, " + "and mind the plain words " * 40)
        if number == 60:
            conv.user("now go on")
        window = turn(conv, number, filler(number))
        assert number < 3 or "const_5_limit" in said(window), f"gone at {number}"


def test_two_runs_of_one_compaction_do_not_count_each_other_as_visible():
    conv = opened(6_000)
    conv.user("go")
    for number in range(80):
        name = "shared_key_7" if number in {4, 30} else f"own_name_{number}"
        window = turn(conv, number, f"{name} {filler(number)} tail_name_{number}")
        if window.breaks:
            break
        if number == 36:  # a place in the middle that somebody took back, so that there are two runs
            keys = [slot.key for slot in conv.view.slots if isinstance(slot, Unit) and slot.size.tokens > 60]
            conv.undo(conv.edit(Fold(first=keys[16], last=keys[16], text="[x]", why="test")))
    folds = [entry.body for entry in conv.log.read() if isinstance(entry.body, Fold) and entry.body.why == "digest"]
    assert len(folds) == 2
    assert "shared_key_7" in said(window)


def test_a_policys_own_limit_leaves_its_summary_the_room_that_the_window_has():
    conv = opened(200_000, "agenticloop")
    conv.user("task")
    for number in range(40):
        turn(conv, number, f"the port of service_{number} is 48{number}13 " + filler(number, 200))
    conv.plan_request()
    conv.observe({"role": "assistant", "content": "done"})
    conv.user("next thing")
    conv.plan_request()
    turn(conv, 99, *["out " + "plain words without end " * 800] * 14)
    held = said(conv.plan_request())
    assert sum(f"service_{number} " in held for number in range(40)) > 30


def test_a_digest_of_dense_texts_is_not_larger_than_planned():
    conv = opened(8_000, counter=o200k())
    conv.user("go")
    broke = []
    for number in range(60):
        dense = " ".join(f"{number * 1_000_003 + at * 7_919:064x}" for at in range(4))
        window = turn(conv, number, "plain words without end\n" * 40 + dense + "\n" + "plain words without end\n" * 40)
        broke.append(window.breaks is not None)
    digests = [entry for entry in conv.log.read() if isinstance(entry.body, Fold)]
    assert len(digests) > 3
    assert all(entry.tokens[0] <= 1.1 * 0.55 * 8_000 for entry in digests)
    assert sum(broke) < 30


def test_what_is_left_out_at_both_ends_is_marked_too():
    text = "one two three four five six"
    assert quoted_spans(text, [(0, len(text))]) == text
    assert quoted_spans(text, [(4, 7), (14, 18)]) == "…two … four…"
    assert quoted_spans(text, [(0, 3)]) == "one…"


def test_the_first_line_of_a_quote_needs_no_escape() -> None:
    assert quote_marks("9 May it is\n9 May it is") == "«9 May it is\n\\9 May it is»"
