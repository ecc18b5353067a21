"""The public face of a conversation: what it takes, what it refuses, and from how many threads."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future

import pytest

import transom
from transom import Budget, Conversation, InvalidEdit, InvalidMessage, InvalidSetting, Tool
from transom.core.edit import Fold, Undo
from transom.evaluation.explanations import explain
from transom.stores import MemoryStore
from transom.testing.fakes import WordCounter

USER = {"role": "user", "content": "go"}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
TURN = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "found"}


def opened(**settings) -> Conversation:
    return Conversation.open("memory:", "x", **{"budget": 4_000, "counter": WordCounter(), **settings})


# ---- requests


def test_a_request_is_the_arguments_of_the_sdk_with_its_window():
    tool = Tool("look", "Looks.", {"type": "object", "properties": {}})
    with opened(system="Be brief.") as conv:
        conv.user("go")
        request = conv.request(tools=[tool])
        assert request.keys() == {"messages", "tools"}
        assert request["messages"] == [{"role": "system", "content": "Be brief."}, USER]
        assert request["tools"][0]["function"]["name"] == "look"
        assert request.window is conv.window()
        assert request == transom.render(request.window)
        assert [type(entry.body).__name__ for entry in conv.log.read()] == ["User", "Head", "Sent"]


@pytest.mark.parametrize(
    ("dialect", "keys"),
    [
        ("openai", {"messages", "tools"}),
        ("responses", {"input", "instructions", "tools"}),
        ("anthropic", {"messages", "system", "tools"}),
        ("gemini", {"contents", "config"}),
    ],
)
def test_each_dialect_has_its_own_arguments(dialect, keys):
    with opened(dialect=dialect, system="Be brief.") as conv:
        conv.user("go")
        assert conv.request(tools=[Tool("look")]).keys() == keys


def test_looking_logs_nothing():
    with opened() as conv:
        conv.user("go")
        conv.window(state={"todo": "write"})
        assert len(conv.log) == 1


def test_state_may_be_a_text_or_a_function_and_is_announced_when_it_changes():
    with opened(state={"mode": "plan"}) as conv:
        conv.user("go")
        assert conv.request()["messages"][-1]["content"] == "[mode] plan"
        conv.observe({"role": "assistant", "content": "so"})
        conv.state = {"mode": lambda: "act"}
        assert conv.request()["messages"][-1]["content"] == "[mode] act"


# ---- beginnings


def test_many_conversations_share_a_store_object_which_stays_open():
    store = MemoryStore()
    for name in ("a", "b"):
        with Conversation.open(store, name, budget=4_000) as conv:
            conv.user(name)
    assert store.names() == ["a", "b"]
    with Conversation.open(store, "a", budget=4_000) as conv:
        assert conv.request()["messages"] == [{"role": "user", "content": "a"}]


def test_a_path_is_a_store(tmp_path):
    for path in (tmp_path / "agent.db", str(tmp_path / "logs") + "/"):
        for length in (0, 1):
            with Conversation.open(path, "x", budget=4_000) as conv:
                assert len(conv.log) == length
                conv.user("go")


def test_messages_that_happened_elsewhere_begin_or_extend_a_conversation():
    messages = [{"role": "system", "content": "Be brief."}, USER, TURN, RESULT]
    conv = Conversation.from_messages(messages, budget=4_000)
    assert conv.request()["messages"] == messages
    conv.observe({"role": "assistant", "content": "so"})
    more = [{"role": "user", "content": "and?"}, {"role": "assistant", "content": "yes"}]
    assert [type(conv.log[seq].body).__name__ for seq in conv.extend(more)] == ["User", "Assistant"]
    assert conv.request()["messages"] == [*messages, {"role": "assistant", "content": "so"}, *more]


def test_extending_is_all_or_nothing():
    with opened() as conv:
        with pytest.raises(InvalidMessage, match="message 1"):
            conv.extend([USER, {"role": "user", "content": 5}])
        assert len(conv.log) == 0


def test_a_conversation_that_has_entries_is_not_begun_again():
    store = MemoryStore()
    Conversation.from_messages([USER], store=store, id="x", budget=4_000)
    with pytest.raises(InvalidSetting, match="'x' has 1 entries already: open and extend it"):
        Conversation.from_messages([USER], store=store, id="x", budget=4_000)


# ---- tool results


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"found": [1, None]}, '{"found":[1,null]}'),
        ([1, "a"], '[1,"a"]'),
        ([{"price": 3}], '[{"price":3}]'),
        ([], "[]"),
        (5, "5"),
        (True, "true"),
        (None, "[no output]"),
        ("", "[no output]"),
        (("a",), '["a"]'),
        ("é", "é"),
    ],
)
@pytest.mark.parametrize("dialect", ["openai", "anthropic", "responses"])
def test_a_tool_result_is_any_json_value(dialect, value, text):
    with opened(dialect="openai") as conv:
        conv.user("go")
        conv.observe(TURN)
        conv.tool_result("c1", value)
        assert conv.request()["messages"][-1] == {"role": "tool", "tool_call_id": "c1", "content": text}
        assert text in str(transom.render(conv.window(), dialect)).replace("\\'", "'")


def test_a_list_of_content_parts_stays_one():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    with opened() as conv:
        conv.user("go")
        conv.observe(TURN)
        conv.tool_result("c1", parts)
        assert conv.request()["messages"][-1]["content"] == parts


def test_a_result_for_a_call_that_nobody_made_raises_with_the_open_calls():
    with opened() as conv:
        conv.user("go")
        conv.observe(TURN)
        with pytest.raises(InvalidMessage) as caught:
            conv.tool_result("c2", "found")
        assert str(caught.value) == "tool_result: no open call has the id 'c2'; open calls: 'c1'"
        assert len(conv.log) == 2


def test_a_second_result_is_stored_with_a_warning(caplog):
    with opened() as conv:
        conv.user("go")
        conv.observe(TURN)
        conv.tool_result("c1", "found")
        with caplog.at_level(logging.WARNING):
            conv.tool_result("c1", "again")
        assert [record.message for record in caplog.records] == [
            "tool result: no open call has the id 'c1'; open calls: none; it is stored, and never shown"
        ]
        assert len(conv.log) == 4


def test_an_imported_result_without_a_call_is_stored_with_one_warning(caplog):
    with opened() as conv, caplog.at_level(logging.WARNING):
        conv.extend([USER, {**RESULT, "tool_call_id": "a"}, {**RESULT, "tool_call_id": "b"}])
        assert [record.message for record in caplog.records] == [
            ("tool result: no open call has the id 'a'; open calls: none; it is stored, and never shown (2 results)")
        ]
        assert len(conv.log) == 3


def test_a_result_may_answer_a_call_that_another_process_logged(tmp_path):
    with Conversation.open(tmp_path / "a.db", "x", budget=4_000) as conv:
        conv.user("go")
        with Conversation.open(tmp_path / "a.db", "x", budget=4_000) as other:
            other.observe(TURN)
        conv.tool_result("c1", "found")
        assert conv.request()["messages"][1:] == [TURN, RESULT]


# ---- settings


def test_a_budget_that_is_set_holds_for_the_next_request():
    with opened() as conv:
        conv.budget = 64_000
        assert conv.budget == Budget(context=64_000)
        conv.policy = "sliding"
        assert conv.policy.name == "sliding"
        for name, value in (("budget", "much"), ("budget", None), ("policy", "magic"), ("state", ["a"])):
            with pytest.raises(InvalidSetting):
                setattr(conv, name, value)
        assert (conv.budget, conv.policy.name, conv.state) == (Budget(context=64_000), "sliding", {})


@pytest.mark.parametrize("name", ["log", "dialect", "view", "head", "usage", "indexes"])
def test_what_must_not_change_is_read_only(name):
    with opened() as conv, pytest.raises(AttributeError):
        setattr(conv, name, getattr(conv, name))


# ---- undo


def test_undo_takes_back_the_last_compaction_as_a_whole():
    with opened(budget=600) as conv:
        for number in range(40):
            conv.user(f"step {number} " + "and so on " * 20)
            before = conv.view.length
            window = conv.plan_request()
            if window.breaks is not None:
                break
            conv.observe({"role": "assistant", "content": f"done {number}"})
        edits = [entry.seq for entry in conv.log.read(before) if isinstance(entry.body, Fold)]
        assert edits
        undone = conv.undo()
        assert {conv.log[seq].body.edit for seq in undone if isinstance(conv.log[seq].body, Undo)} >= set(edits)
        with pytest.raises(InvalidEdit, match=r"^last_edit: there is no live edit"):
            conv.last_edit()
        with pytest.raises(InvalidEdit, match=r"^undo: there is no live edit"):
            conv.undo()
        with pytest.raises(InvalidEdit, match=r"^undo: entry 0 is no live edit; no edit is live"):
            conv.undo(0)
        with pytest.raises(InvalidEdit, match="no live edit"):
            conv.undo()


# ---- threads


def test_threads_that_hammer_one_conversation_leave_a_sound_log(tmp_path):
    failures: list[BaseException] = []
    with Conversation.open(tmp_path / "a.db", "x", budget=2_000, counter=WordCounter()) as conv:
        conv.user("go")

        def work(name: int) -> None:
            try:
                for step in range(12):
                    call = {**CALL, "id": f"t{name}-{step}"}
                    conv.user(f"{name} {step} " + "words " * 30)
                    conv.observe({"role": "assistant", "content": "so", "tool_calls": [call]})
                    request = conv.request()
                    assert request.window.tokens <= 2_000
                    conv.tool_result(call["id"], {"step": step})
                    transom.render(conv.window(), "anthropic")
                    explain(conv.window())
                    assert conv.window_usage.budget == 2_000
            except BaseException as failure:  # noqa: BLE001 - told to the test's own thread
                failures.append(failure)

        threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert [entry.seq for entry in conv.log.read()] == list(range(len(conv.log)))
        users = sum(type(entry.body).__name__ == "User" for entry in conv.log.read())
        digest, length = conv.view.fingerprint(), conv.view.length
    assert users == 49
    with Conversation.open(tmp_path / "a.db", "x", budget=2_000, counter=WordCounter()) as again:
        assert (again.view.fingerprint(), again.view.length) == (digest, length)


def test_a_number_sets_the_context_window_and_leaves_the_other_limits():
    with opened() as conv:
        conv.budget = Budget(context=100_000, reserve=1_000, max_messages=40, max_bytes=9_999, max_images=3)
        conv.budget = 64_000
        assert conv.budget == Budget(context=64_000, reserve=1_000, max_messages=40, max_bytes=9_999, max_images=3)
        with pytest.raises(InvalidSetting, match="reserve 1,000 leaves nothing of context 500"):
            conv.budget = 500
        assert conv.budget.context == 64_000


def test_the_status_follows_the_fullest_limit():
    with Conversation.open("memory:", "x", budget=Budget(max_messages=4), counter=WordCounter()) as conv:
        conv.user("go")
        assert conv.window_usage.status == "normal"
        for step in range(12):
            conv.observe({"role": "assistant", "content": f"step {step}"})
            conv.user("go on")
        assert (conv.window_usage.status, conv.window_usage.percent < 1) == ("compacting", True)
        assert len(conv.request()["messages"]) <= 4
        kinds = {type(entry.body).__name__ for entry in conv.log.read()}
    assert "Fold" in kinds


@pytest.mark.parametrize("odd", [map(str, [1]), iter([1]), Future()], ids=["map", "iterator", "future"])
def test_what_has_nothing_to_read_is_no_tool_result(odd):
    with opened() as conv:
        conv.user("go")
        conv.observe(TURN)
        with pytest.raises(InvalidMessage, match=r"it is an iterator|a future"):
            conv.tool_result("c1", odd)


@pytest.mark.parametrize("error", [TimeoutError(), asyncio.CancelledError()])  # as `asyncio.gather` returns them
def test_an_exception_is_a_failed_tool_result(error):
    with opened() as conv:
        conv.user("go")
        conv.observe(TURN)
        entry = conv.log[conv.tool_result("c1", error)].body
        assert (entry.failed, type(error).__name__ in str(entry.parts)) == (True, True)
