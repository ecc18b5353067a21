"""Anthropic's own tools: their calls and results over several turns, cut replies, containers."""

from __future__ import annotations

import pytest

import transom
from transom import texts
from transom.core.message import Assistant
from transom.wire.anthropic import ANTHROPIC, violations


def fetch(label: str, name: str = "web_fetch", kind: str = "server_tool_use") -> dict:
    return {"type": kind, "id": label, "name": name, "input": {"url": "https://e.org"}}


def fetched(label: str, kind: str = "web_fetch_tool_result") -> dict:
    return {"type": kind, "tool_use_id": label, "content": [{"type": "text", "text": "a page"}]}


def use(label: str, caller: str = "") -> dict:
    by = {"caller": {"type": "code_execution_20250825", "tool_id": caller}} if caller else {}
    return {"type": "tool_use", "id": label, "name": "db", "input": {}, **by}


def text(words: str) -> dict:
    return {"type": "text", "text": words}


def answer(*blocks: dict, stop: str = "tool_use", **more: object) -> dict:
    return {"type": "message", "role": "assistant", "content": [*blocks], "stop_reason": stop, **more}


def kinds(body: dict) -> list[list[str]]:
    return [
        ["text"] if isinstance(each["content"], str) else [block["type"] for block in each["content"]]
        for each in body["messages"]
    ]


@pytest.fixture
def conv():
    with transom.Conversation.open("memory:", "x", budget=20_000, dialect="anthropic") as opened:
        opened.user("Compare the page with the database.")
        opened.request()
        yield opened


def test_a_turn_says_which_calls_reach_into_other_turns():
    assert ANTHROPIC.parse_reply(answer(fetch("s1"), use("t1"))).pending_calls == ("s1",)
    assert ANTHROPIC.parse_reply(answer(fetch("s1"), fetched("s1"), use("t1"))) == Assistant(
        parts=ANTHROPIC.parse_reply(answer(fetch("s1"), fetched("s1"))).parts,
        calls=ANTHROPIC.parse_reply(answer(use("t1"))).calls,
        shape="parts",
        dialect="anthropic",
    )
    later = ANTHROPIC.parse_reply(answer(fetched("s1"), fetch("s2"), use("t2", caller="s0")))
    assert (later.pending_calls, later.continued_calls) == (("s2", "s0"), ("s1", "s0"))


def test_a_message_of_the_user_goes_behind_the_reply_with_the_result_of_a_server_tool(conv):
    conv.observe(answer(text("I look."), fetch("s1"), use("t1")))
    conv.user("And the weather?")
    conv.tool_result("t1", "4 rows")
    conv.state = {"mode": "plan"}
    first = conv.request()
    assert kinds(first) == [["text"], ["text", "server_tool_use", "tool_use"], ["tool_result"]]
    assert violations(first) == []
    conv.observe(answer(fetched("s1"), text("Both say 4."), stop="end_turn"))
    second = conv.request()
    assert second["messages"][:3] == first["messages"]
    assert kinds(second)[3:] == [["web_fetch_tool_result", "text"], ["text", "text", "text"]]
    assert second["messages"][4]["content"][0] == text("And the weather?")
    assert violations(second) == []


def test_a_message_of_the_user_waits_over_several_turns(conv):
    conv.observe(answer(fetch("s1"), use("t1")))
    conv.user("Hurry.")
    conv.tool_result("t1", "4 rows")
    conv.request()
    conv.observe(answer(fetched("s1"), fetch("s2"), use("t2")))
    conv.tool_result("t2", "5 rows")
    assert kinds(conv.request())[-2:] == [["web_fetch_tool_result", "server_tool_use", "tool_use"], ["tool_result"]]
    conv.observe(answer(fetched("s2"), text("Done."), stop="end_turn"))
    assert conv.request()["messages"][-1]["content"] == [text("Hurry."), text(texts.CONTINUE)]


def test_a_result_that_never_comes_takes_its_call_out_and_lets_the_user_speak(conv):
    conv.observe(answer(text("I look."), fetch("s1"), use("t1")))
    conv.tool_result("t1", "4 rows")
    conv.user("Hurry.")
    conv.request()
    conv.observe(answer(text("Never mind the page."), stop="end_turn"))
    conv.user("Why?")
    body = conv.request()
    assert kinds(body)[1:4] == [["text", "tool_use"], ["tool_result", "text"], ["text"]]
    assert violations(body) == []


def test_code_that_calls_tools_keeps_its_call_and_its_container(conv):
    conv.observe(answer(fetch("s1", "code_execution"), use("t1", caller="s1"), container={"id": "box"}))
    conv.tool_result("t1", "1")
    assert conv.request()["container"] == "box"
    conv.observe(answer(use("t2", caller="s1"), container={"id": "box"}))
    conv.tool_result("t2", "2")
    body = conv.request()
    assert (body["container"], violations(body)) == ("box", [])
    assert list(conv.view.waiting.values()) == [conv.view.slots[1].first]
    conv.observe(answer(fetched("s1", "code_execution_tool_result"), text("3"), stop="end_turn"))
    conv.user("Thanks")
    body = conv.request()
    assert "container" not in body
    assert body["messages"][3]["content"] == [use("t2", caller="s1")]
    assert violations(body) == []


def test_a_streamed_reply_has_its_container():
    events = [
        {"type": "message_start", "message": {"content": [], "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": fetch("s1", "code_execution")},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "pause_turn", "container": {"id": "box"}}, "usage": {}},
    ]
    assert ANTHROPIC.parse_reply(events).container == "box"


def test_without_its_code_a_call_loses_its_caller():
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [use("t1", caller="gone")]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}]},
    ]
    assert [each.rule for each in violations({"messages": messages})] == ["A16"]
    fitted = transom.fit(messages, budget=10_000, dialect="anthropic")
    assert fitted[1]["content"] == [use("t1")]


def test_what_waits_beside_code_whose_result_never_came_is_left_out_with_it(conv):
    """Only the calls of the code lead from turn to turn: without their caller they lead nowhere."""
    conv.observe(answer(fetch("s1", "code_execution"), use("t1", caller="s1")))
    conv.tool_result("t1", "1")
    conv.request()
    conv.observe(answer(fetch("s2", "echo", "mcp_tool_use"), use("t2", caller="s1")))
    conv.tool_result("t2", "2")
    conv.request()
    conv.observe(answer(use("t3", caller="s1")))
    conv.tool_result("t3", "3")
    conv.request()
    conv.observe(answer(fetched("s2", "mcp_tool_result"), text("Done."), stop="max_tokens"))
    conv.user("Go on.")
    body = conv.request()
    assert violations(body) == []
    assert kinds(body) == [
        ["text"],
        ["tool_use"],
        ["tool_result"],
        ["tool_use"],
        ["tool_result"],
        ["tool_use"],
        ["tool_result"],
        ["text", "text"],
        ["text"],
    ]


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "model_context_window_exceeded"])
@pytest.mark.parametrize("call", [fetch("s1"), fetch("s1", "echo", "mcp_tool_use"), fetch("s1", "bash_code_execution")])
def test_a_reply_that_ended_early_has_no_call_without_a_result(conv, stop, call):
    conv.observe(answer(text("I look."), call, stop=stop))
    conv.user("go on")
    assert kinds(conv.request()) == [["text"], ["text"], ["text"]]


def test_a_paused_turn_goes_on_and_a_user_who_speaks_ends_it(conv):
    conv.observe(answer(text("I look."), fetch("s1"), stop="pause_turn"))
    assert kinds(conv.request())[-1] == ["text", "server_tool_use"]
    with conv.fork() as other:
        other.observe(answer(fetched("s1"), text("Done."), stop="end_turn"))
        other.user("Thanks")
        assert kinds(other.request())[1:3] == [["text", "server_tool_use", "web_fetch_tool_result", "text"], ["text"]]
    conv.user("Stop that.")
    assert kinds(conv.request())[1:] == [["text"], ["text"]]


@pytest.mark.parametrize("policy", ["default", "sliding", "recall", "letta"])
def test_no_fold_leaves_half_a_pair(policy):
    with transom.Conversation.open("memory:", "x", budget=1_500, dialect="anthropic", policy=policy) as conv:
        conv.user("Compare all pages with the database.")
        for at in range(25):
            body = conv.request()
            assert violations(body) == []
            top = [fetched(f"s{at - 1}")] if at else []
            conv.observe(answer(*top, text(f"Page {at} " * 20), fetch(f"s{at}"), use(f"t{at}")))
            conv.tool_result(f"t{at}", "row " * 60)
        assert any(slot.first != slot.last for slot in conv.view.slots)


def test_a_fold_ends_where_no_pair_is_cut():
    with transom.Conversation.open("memory:", "x", budget=2_000, dialect="anthropic", policy="sliding") as conv:
        conv.user("Compare all pages with the database.")
        for at in range(30):
            conv.request()
            conv.observe(answer(text(f"Page {at} " * 20), fetch(f"s{at}"), use(f"t{at}")))
            conv.tool_result(f"t{at}", "row " * 30)
            body = conv.request()
            conv.observe(answer(fetched(f"s{at}"), text("Same."), stop="end_turn"))
            conv.user("Next page.")
            placeholders = [
                block for each in body["messages"] for block in each["content"] if "left out]" in str(block)
            ]
            assert [block for block in placeholders if block.get("text") == "[part left out]"] == []
        assert any(slot.first != slot.last for slot in conv.view.slots)


def test_the_rules_find_what_is_not_paired():
    def found(*messages: tuple[str, list[dict]]) -> list[str]:
        request = {"messages": [{"role": role, "content": content} for role, content in messages]}
        return [str(each.why) for each in violations(request) if each.rule == "A16"]

    begin, result = ("user", [text("go")]), {"type": "tool_result", "tool_use_id": "t1", "content": "1"}
    assert found(begin, ("assistant", [fetch("s1"), use("t1")]), ("user", [result])) == []
    assert found(begin, ("assistant", [fetch("s1"), use("t1")]), ("user", [result, text("and?")])) == [
        "no result for the provider's own call 's1'"
    ]
    assert found(begin, ("assistant", [fetched("s1"), text("a")]), begin) == [
        "a web_fetch_tool_result for 's1', which no call before it waits for"
    ]
    assert found(begin, ("assistant", [fetch("s1"), text("a")]), begin) == [
        "no result for the provider's own call 's1'"
    ]
    assert found(begin, ("assistant", [fetch("s1"), fetch("s1")])) == ["a second server_tool_use 's1'"]


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use"])
def test_an_input_that_no_log_can_hold_stays_an_object(conv, kind):
    """The API takes back only an object."""
    call, result = fetch("s1", kind=kind), fetched("s1", f"{'mcp' if kind[0] == 'm' else 'web_fetch'}_tool_result")
    conv.observe(answer({**call, "input": {"a": float("inf")}}, result, text("Done."), stop="end_turn"))
    conv.user("More?")
    sent = dict(conv.request())["messages"][1]["content"][0]
    assert sent["input"] == {"arguments": '{"a": Infinity}'}
