"""Whole windows, as the model would see them: one scenario a test."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from omission_policy import OMISSION
from transom import Budget, BudgetImpossible, Conversation, InvalidEdit
from transom.conversation.render_window import render
from transom.core.edit import Fold
from transom.core.message import Text, ToolResult
from transom.core.plan import plan
from transom.core.plan_request import PlanRequest, WindowOptions
from transom.core.reducer import apply
from transom.policies import policy_named
from transom.testing.fakes import FakeClock, WordCounter
from transom.wire.openai import violations

TOOL = {"type": "function", "function": {"name": "sh", "parameters": {"type": "object"}}}


def opened(context=400, policy="default", **limits):
    return Conversation.open(
        "memory:",
        "scenario",
        budget=Budget(context=context, **limits),
        policy=policy,
        system="Be brief.",
        counter=WordCounter(),
        clock=FakeClock(),
    )


def asks(label, args="{}", text=None):
    body = {"id": label, "type": "function", "function": {"name": "sh", "arguments": args}}
    return {"role": "assistant", "content": text, "tool_calls": [body]}


def words(count, word="word"):
    return " ".join([word] * count)


def work(conv, turns, size=20):
    """So many calls, each answered with `size` words; the windows before each."""
    windows = []
    for number in range(turns):
        windows.append(conv.plan_request())
        conv.observe(asks(f"c{number}"))
        conv.tool_result(f"c{number}", words(size, f"w{number}"))
    return [*windows, conv.plan_request()]


def contents(window):
    return [(message["role"], message["content"]) for message in render(window)["messages"]]


def test_a_quiet_turn_adds_and_changes_nothing():
    conv = opened()
    conv.user("fix it")
    first = conv.plan_request()
    conv.observe(asks("c1"))
    conv.tool_result("c1", "ok")
    second = conv.plan_request()
    assert contents(first) == [("system", "Be brief."), ("user", "fix it")]
    assert render(second)["messages"][:2] == render(first)["messages"]
    assert render(second)["messages"][2:] == [asks("c1"), {"role": "tool", "tool_call_id": "c1", "content": "ok"}]
    assert second.breaks is None
    assert second.shared_tokens == first.tokens


def test_one_deep_cut_then_quiet():
    conv = opened(context=400, policy=OMISSION)
    conv.user("fix it")
    windows = work(conv, 24)
    cut = [window.breaks is not None for window in windows]
    assert all(window.tokens <= 400 and not violations(render(window)["messages"]) for window in windows)
    first = cut.index(True)
    assert not any(cut[first + 1 : first + 5]), "a cut leaves room for several calls"
    shown = render(windows[first])["messages"]
    assert [message["role"] for message in shown[:3]] == ["system", "user", "user"]
    assert shown[1]["content"] == "fix it"
    assert shown[2]["content"].startswith("[entry 3 to entry ")
    assert "left out of this window to fit" in shown[2]["content"]
    assert shown[-1]["content"] == words(20, f"w{first - 1}"), "the newest turn stays whole"
    assert windows[first].breaks.why == "compaction"


@pytest.mark.parametrize("policy", ["sliding", "default"])
def test_an_older_turn_gives_way_before_the_newest_word_of_the_user(policy):
    """What a fold left standing may be due to go with it; but a fold alone is not folded again: a turn goes with it."""
    conv = opened(policy=policy)
    conv.user("fix it")
    work(conv, 3)
    conv.observe({"role": "assistant", "content": "done"})
    conv.user(words(120, "long"))
    work(conv, 30)
    assert ("user", words(120, "long")) in contents(conv.plan_request())
    conv.observe({"role": "assistant", "content": "done too"})
    for number in range(12):
        conv.user(f"and then {number} " + words(20, "more"))
        window = conv.plan_request()
        assert window.tokens <= 400
        assert contents(window)[-1] == ("user", f"and then {number} " + words(20, "more"))
        conv.observe({"role": "assistant", "content": "yes"})


def test_the_second_cut_leaves_one_marker():
    conv = opened(context=400, policy=OMISSION)
    conv.user("fix it")
    for window in work(conv, 60):
        markers = [text for _, text in contents(window) if text and text.startswith("[entry")]
        assert len(markers) <= 1


def test_a_long_result_is_clipped_before_it_is_ever_sent():
    conv = opened(context=1_000)
    conv.user("read it")
    conv.plan_request()
    conv.observe(asks("c1"))
    conv.tool_result("c1", "\n".join(f"line {number}" for number in range(600)))
    window = conv.plan_request()
    shown = render(window)["messages"][-1]["content"]
    assert window.breaks is None, "nothing that was sent has changed"
    assert shown.startswith("line 0\nline 1\n")
    assert shown.endswith("line 598\nline 599")
    assert "tokens truncated of 600 lines; whole in entry 4…]" not in shown
    assert "truncated of 600 lines; whole in entry 4]" in shown
    assert WordCounter().count(shown) <= 250


def test_the_newest_turn_is_elided_inside_rather_than_lost():
    conv = opened(context=300, policy="sliding")  # which does not clip on arrival
    conv.user("read both")
    conv.plan_request()
    calls = [asks("a")["tool_calls"][0], asks("b")["tool_calls"][0]]
    conv.observe({"role": "assistant", "content": None, "tool_calls": calls})
    conv.tool_result("a", words(20, "small"))
    conv.tool_result("b", words(900, "large"))
    window = conv.plan_request()
    shown = render(window)["messages"]
    assert window.tokens <= 300
    assert shown[-2]["content"] == words(20, "small"), "only the longest is shortened"
    assert "whole in entry 5" in shown[-1]["content"]
    assert shown[-1]["content"].startswith("large large")


def test_a_user_message_too_large_alone_is_an_excerpt_with_its_reference():
    conv = opened(context=300)
    conv.user("START " + words(2_000) + " END")
    window = conv.plan_request()
    shown = render(window)["messages"][-1]["content"]
    assert window.tokens <= 300
    assert shown.startswith("START")
    assert shown.endswith("END")
    assert "whole in entry 0" in shown


def test_what_cannot_fit_is_refused_with_its_bill_and_nothing_is_logged():
    conv = opened(context=40)
    conv.user("hello")
    before = len(conv.log)
    schema = {**TOOL, "description": words(500)}
    with pytest.raises(BudgetImpossible) as refused:
        conv.plan_request(tools=[schema])
    assert refused.value.bill["limit"] == 40
    assert refused.value.bill["need"] > 500
    assert refused.value.bill["tools"] > 500
    assert "limit 40" in str(refused.value)
    assert len(conv.log) == before


def test_everything_becomes_excerpts_when_there_is_room_for_two_messages():
    conv = opened(context=400, max_messages=2)
    conv.user("first task")
    conv.observe(asks("c1"))
    conv.tool_result("c1", words(30))
    conv.user("newest words")
    window = conv.plan_request()
    assert [message["role"] for message in render(window)["messages"]] == ["system", "user"]
    text = render(window)["messages"][1]["content"]
    assert "user] first task" in text
    assert "user] newest words" in text


def test_open_calls_are_closed_by_facts():
    conv = opened()
    conv.user("go")
    conv.plan_request()
    conv.observe(asks("c1"))
    conv.user("wait, stop")
    window = conv.plan_request()
    assert [message["role"] for message in render(window)["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert render(window)["messages"][3] == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": "[aborted: no result was received; the tool may have run]",
    }
    conv.observe({"role": "assistant", "content": "stopped"})
    conv.tool_result("c1", "it had run")
    late = render(conv.plan_request())["messages"][-1]
    assert late["role"] == "user"
    assert late["content"].startswith("[late result of sh, entry 8;")
    assert late["content"].endswith("it had run")
    assert conv.plan_request().breaks is None


def test_state_is_said_when_it_changes_and_unsaid_when_it_ends():
    conv = opened()
    conv.user("go")
    assert contents(conv.plan_request(state={"mode": "plan"}))[-1] == ("user", "[mode] plan")
    conv.observe({"role": "assistant", "content": "planned"})
    assert contents(conv.plan_request(state={"mode": "plan"}))[-1] == ("assistant", "planned")
    conv.observe({"role": "assistant", "content": "more"})
    assert contents(conv.plan_request(state={"mode": "act"}))[-1] == ("user", "[mode] act")
    conv.observe({"role": "assistant", "content": "acted"})
    assert contents(conv.plan_request())[-1] == ("user", "[mode] no longer applies.")


def test_a_word_that_is_folded_away_is_said_again():
    conv = opened(context=400)
    conv.user("fix it")
    seen = []
    for number in range(40):
        window = conv.plan_request(state={"goal": "green tests"})
        seen.append([text for _, text in contents(window)].count("[goal] green tests"))
        conv.observe(asks(f"c{number}"))
        conv.tool_result(f"c{number}", words(20))
    assert set(seen) == {1}


def test_another_head_is_a_named_break():
    conv = opened()
    conv.user("go")
    conv.plan_request()
    conv.observe({"role": "assistant", "content": "done"})
    window = conv.plan_request(tools=[TOOL])
    assert (window.breaks.slot, window.breaks.why) == (-1, "head")
    conv.observe({"role": "assistant", "content": "more"})
    assert conv.plan_request(tools=[dict(TOOL)]).breaks is None


def test_the_same_window_again_while_nothing_has_happened():
    conv = opened()
    conv.user("go")
    window = conv.plan_request()
    length = len(conv.log)
    assert conv.plan_request() is window
    assert len(conv.log) == length
    conv.user("one more thing")
    assert contents(conv.plan_request())[-1] == ("user", "one more thing")
    conv.observe({"role": "assistant", "content": "both"})
    assert [role for role, _ in contents(conv.plan_request())] == ["system", "user", "user", "assistant"]


def test_a_dry_run_appends_nothing():
    conv = opened(context=400)
    conv.user("fix it")
    work(conv, 12)
    conv.observe({"role": "assistant", "content": words(150)})
    length = len(conv.log)
    dry = conv.window()
    assert len(conv.log) == length
    assert render(dry)["messages"] == render(conv.plan_request())["messages"]


def test_planning_again_gives_only_sent():
    conv = opened(context=400)
    conv.user("fix it")
    for window in work(conv, 40):
        assert window.tokens <= 400
    conv.observe({"role": "assistant", "content": words(100)})
    conv.user(words(30))
    options = WindowOptions(head=conv.view.head_entry.body)
    once = plan(PlanRequest(conv.view, options, conv.budget, policy_named("default")))
    undone = apply(once.before, once.entries[-1:])
    undone = replace(undone, in_flight=None)  # as if it had not left
    again = plan(PlanRequest(undone, options, conv.budget, policy_named("default")))
    assert len(again.entries) == 1


def test_a_fold_taken_back_is_left_alone_until_the_limit():
    conv = opened(context=400)
    conv.user("fix it")
    windows = work(conv, 24)
    fold = next(window.breaks.entry for window in windows if window.breaks)
    conv = opened(context=2_000)
    conv.user("fix it")
    for number in range(10):
        conv.plan_request()
        conv.observe(asks(f"c{number}"))
        conv.tool_result(f"c{number}", words(20, f"w{number}"))
    assert fold
    keys = [slot.first for slot in conv.view.slots]
    seq = conv.edit(Fold(first=keys[1], last=keys[4], text="[entries left out]", why="mine"))
    assert contents(conv.window())[2] == ("user", "[entries left out]")
    conv.undo()
    assert [role for role, _ in contents(conv.window())][2] == "assistant"
    assert conv.view.user_restored(conv.view.slots[1])
    with pytest.raises(InvalidEdit, match="no live edit"):
        conv.undo(seq)


def test_a_pinned_turn_surfaces_behind_the_marker():
    conv = opened(context=400, policy=OMISSION)
    conv.user("fix it")
    conv.plan_request()
    conv.observe(asks("c0"))
    result = conv.tool_result("c0", "the one path that matters: src/engine.py")
    conv.pin(result)
    windows = work(conv, 30)
    shown = contents(windows[-1])
    marker = next(at for at, (_, text) in enumerate(shown) if text and "left out of this window" in text)
    assert shown[marker + 2] == ("tool", "the one path that matters: src/engine.py")


def test_a_limit_that_shrinks_is_met_at_the_next_call():
    conv = opened(context=2_000)
    conv.user("fix it")
    work(conv, 30)
    conv.observe({"role": "assistant", "content": "on"})
    conv.budget = Budget(context=200)
    window = conv.plan_request()
    assert window.tokens <= 200
    assert contents(window)[:2] == [("system", "Be brief."), ("user", "fix it")]


def test_usage_calibrates_the_limit():
    conv = opened(context=400)
    conv.user("fix it")
    for number in range(30):
        window = conv.plan_request()
        assert window.tokens <= 400
        reply = {
            "choices": [{"message": asks(f"c{number}")}],
            "usage": {"prompt_tokens": 2 * window.size.tokens, "completion_tokens": 5},
        }
        conv.observe(reply)
        conv.tool_result(f"c{number}", words(20))
    assert conv.view.calibration > 1.9
    assert window.size.tokens < 220, "twice as dear, half as much"


def test_explain_says_what_became_of_every_fact():
    conv = opened(context=400, policy=OMISSION)
    conv.user("fix it")
    conv.append(ToolResult(call="nobody asked", parts=(Text("stray"),)))
    windows = work(conv, 24)
    rows = conv.explain()
    facts = [
        seq for seq in range(len(conv.log)) if type(conv.log[seq].body).__name__ in {"User", "Assistant", "ToolResult"}
    ]
    assert [row.entry for row in rows] == facts
    states = {row.state for row in rows}
    assert states == {"kept", "folded", "dropped"}
    assert sum(row.shown_tokens for row in rows) <= windows[-1].size.tokens
    folded = next(row for row in rows if row.state == "folded")
    assert folded.why == "compaction"
    assert conv.log[folded.edits[0]].body.text == contents(windows[-1])[2][1]
    stray = next(row for row in rows if row.state == "dropped")
    assert stray.why == "answers no open call: kept in the log, not shown"
    assert [row.state for row in conv.explain(at=1)] == ["kept", "dropped"]
