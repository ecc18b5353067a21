"""What a compaction leaves standing: the plan, and what the user said, newest first."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from transom import Budget, Conversation
from transom.conversation.render_window import render
from transom.evaluation.explanations import explain
from transom.policies import policy_named
from transom.strategies.keep import KeepTools, KeepUsers
from transom.testing import WordCounter


def opened(*rules, context=600, policy="default") -> Conversation:
    kept = replace(policy_named(policy), keep=rules)
    return Conversation.open("memory:", "x", budget=Budget(context=context), policy=kept, counter=WordCounter())


def contents(window) -> list[str]:
    return [message["content"] for message in render(window)["messages"]]


def work(conv: Conversation, number: int, tool: str = "shell", args: str = "{}", words: int = 60) -> None:
    """A turn with one call and its result, answering the request before it."""
    conv.plan_request()
    call = {"id": f"c{number}", "type": "function", "function": {"name": tool, "arguments": args}}
    conv.observe({"role": "assistant", "content": f"turn {number}", "tool_calls": [call]})
    conv.tool_result(f"c{number}", f"result {number} " + "word " * words)


def test_user_messages_stay_newest_first_within_their_budget():
    conv = opened(KeepUsers(tokens=180, fraction=1.0), context=700)
    for number in range(12):
        conv.user(f"wish {number} " + "please " * 18)
        work(conv, number)
    shown = [text.split()[1] for text in contents(conv.plan_request()) if text.startswith("wish")]
    assert "0" in shown  # the first task
    newest = [int(number) for number in shown[1:]]
    assert newest == list(range(newest[0], 12)), "newest first, none between left out"
    none = opened(context=700)
    for number in range(12):
        none.user(f"wish {number} " + "please " * 18)
        work(none, number)
    assert len(shown) > sum(text.startswith("wish") for text in contents(none.plan_request()))


def test_a_protected_unit_has_a_pin_with_the_reason():
    conv = opened(KeepTools(("write_plan",)), KeepUsers(tokens=180, fraction=1.0), context=700)
    for number in range(12):
        conv.user(f"wish {number} " + "please " * 18)
        work(conv, number, tool="write_plan" if number == 2 else "shell", words=20)
    whys = {row.role: row.why for row in explain(conv.plan_request()) if row.why.startswith("pinned")}
    assert whys == {
        "user": "pinned: user messages",
        "assistant": "pinned: newest write_plan",
        "tool": whys["assistant"],
    }


def test_what_was_whole_while_it_was_newest_is_excerpted_at_a_later_compaction():
    conv = opened(KeepUsers(tokens=100, fraction=1.0, least=20), context=800)
    conv.user("first")
    work(conv, 99)
    conv.user("long " + "please " * 300)
    for number in range(12):
        work(conv, number)
    row = next(row for row in explain(conv.plan_request()) if row.text.startswith("long"))
    assert (row.state, row.why) == ("kept", "pinned: required"), "a cut came while it was the newest"
    conv.user("newest")
    for number in range(20):
        work(conv, 12 + number)
    row = next(row for row in explain(conv.plan_request()) if row.text.startswith("long"))
    assert (row.state, row.why) == ("shortened", "user messages, pinned: user messages")
    assert row.shown_tokens <= 100


def test_the_message_that_exceeds_the_tokens_is_excerpted_not_dropped():
    conv = opened(KeepUsers(tokens=100, fraction=1.0, least=20), context=700)
    conv.user("first")
    conv.observe({"role": "assistant", "content": "Yes?"})
    conv.user("long " + "please " * 200)
    conv.user("newest")
    for number in range(9):
        work(conv, number)
    shown = contents(conv.plan_request())
    excerpts = [text for text in shown if text.startswith("long") and "whole in entry 2" in text]
    assert excerpts
    assert WordCounter().count(excerpts[0]) <= 100


def test_a_stale_pin_of_a_user_message_is_undone_at_the_next_break():
    conv = opened(KeepUsers(tokens=40, fraction=1.0), context=700)
    for number in range(30):
        conv.user(f"wish {number} " + "please " * 15)
        work(conv, number)
    kept = [text for text in contents(conv.plan_request()) if text.startswith("wish")]
    folded = conv.view.slots[1]
    assert len(folded.pinned_units) <= 3, "older ones were let go"
    assert len(kept) < 20


def test_the_newest_result_of_a_protected_tool_survives():
    conv = opened(KeepTools(("todo",)))
    conv.user("go")
    for number in range(12):
        work(conv, number, "todo" if number in {1, 4} else "shell")
    shown = contents(conv.plan_request())
    assert any(text.startswith("result 4") for text in shown)
    assert not any(text.startswith("result 1 ") for text in shown)


def test_a_protected_tool_by_key_keeps_the_newest_of_each():
    conv = opened(KeepTools(("read:path",)), context=900)
    conv.user("go")
    work(conv, 90)
    work(conv, 91)
    for number, path in enumerate(["a", "b", "a"]):
        work(conv, number, "read", f'{{"path": "{path}"}}')
    for number in range(3, 14):
        work(conv, number)
    shown = contents(conv.plan_request())
    assert any(text.startswith("result 1 ") for text in shown)
    assert any(text.startswith("result 2 ") for text in shown)
    assert not any(text.startswith("result 0 ") for text in shown)


@pytest.mark.parametrize("args", ["", "not json", "[1]", '{"path": {"deep": 1}}'])
def test_odd_arguments_of_a_protected_tool_are_a_key_like_any_other(args):
    conv = opened(KeepTools(("read:path",)))
    conv.user("go")
    work(conv, 0, "read", args)
    for number in range(1, 12):
        work(conv, number)
    assert any(text.startswith("result 0 ") for text in contents(conv.plan_request()))


def test_protected_units_are_folded_before_a_window_is_refused():
    conv = opened(KeepUsers(tokens=10_000, fraction=1.0), context=300)
    for number in range(10):
        conv.user(f"wish {number} " + "please " * 30)
        work(conv, number, words=10)
    assert conv.plan_request().tokens <= 300


def test_the_default_policy_protects_user_messages_and_plans():
    conv = Conversation.open("memory:", "x", budget=4_000, counter=WordCounter())
    conv.user("go")
    work(conv, 0, "TodoWrite", words=50)
    conv.user("and use tabs")
    for number in range(1, 40):
        work(conv, number, words=200)
    shown = contents(conv.plan_request())
    assert "and use tabs" in shown
    assert any(text.startswith("result 0 ") for text in shown)
