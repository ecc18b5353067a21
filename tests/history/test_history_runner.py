"""The runner over a scripted provider: it records everything, and sends what the manager leaves."""

from __future__ import annotations

import pytest
from message_lists import SYSTEM, assistant, assistant_call, user

import transom
from transom.conversation.request import render
from transom.errors import InvalidMessage, InvalidSetting, ProviderError, RunStopped
from transom.history import (
    ConversationEntry,
    ConversationRunner,
    EngineManager,
    HistoryCurated,
    ObservableManager,
    PassthroughManager,
    Session,
    SlidingWindowManager,
    entry_to_provider_message,
    managed_policy,
    select_all,
)
from transom.providers.scripted import Fault, Reply, Scripted, ScriptedCall, calls
from transom.wire.openai import violations

SCRIPT = [*(assistant_call(f"c{n}", text=f"step {n}") for n in range(8)), assistant("All done.")]
STEPS = [*(Reply(text=f"step {n}", calls=(ScriptedCall("sh"),)) for n in range(8)), "All done."]


def sh() -> str:
    """Run a command."""
    return "output\n" * 30


@pytest.mark.parametrize("manager", [SlidingWindowManager(4), EngineManager(budget=transom.Budget(context=400))])
def test_conversation_runner_uses_the_manager(manager):
    plain, curated = Scripted(*STEPS), Scripted(*STEPS)
    task = (SYSTEM, user("Count the files."))
    assert ConversationRunner(plain, Session(), tools=[sh]).run(*task) == "All done."
    session = Session()
    runner = ConversationRunner(curated, session, tools=[sh], history_manager=ObservableManager(manager, bus=session))
    assert runner.run(*task) == "All done."

    assert plain.violations == curated.violations == []
    sent_plain, sent_curated = ([each["messages"] for each in model.requests] for model in (plain, curated))
    assert len(plain.requests) == len(curated.requests) == len(SCRIPT)
    for whole, sent in zip(sent_plain, sent_curated, strict=True):
        assert sent == manager.curate(whole, session=session)
    assert len(sent_curated[-1]) < len(sent_plain[-1])
    assert sent_curated[0] == sent_plain[0], "a short list is not changed"
    recorded = select_all(session, ConversationEntry)
    assert [entry_to_provider_message(entry) for entry in recorded] == runner.messages
    events = select_all(session, HistoryCurated)
    assert [event.original_count for event in events] == [len(request) for request in sent_plain]
    assert [event.curated_count for event in events] == [len(request) for request in sent_curated]


@pytest.mark.parametrize("manager", [None, PassthroughManager()])
def test_each_message_is_recorded_when_it_happens(manager):
    session, seen = Session(), []

    def look() -> str:
        """What is recorded now."""
        seen.append([entry.role.value for entry in select_all(session, ConversationEntry)])
        return "looked"

    provider = Scripted(calls(("look", {}), ("look", {})), "Done.")
    runner = ConversationRunner(provider, session, tools=[look], history_manager=manager)
    assert runner.run(user("Look twice.")) == "Done."
    assert seen == [["user", "assistant"], ["user", "assistant", "tool"]]
    entries = select_all(session, ConversationEntry)
    assert [entry.sequence for entry in entries] == [0, 1, 2, 3, 4]
    assert [entry.tool_name for entry in entries] == [None, None, "look", "look", None]
    assert len({entry.evaluation_id for entry in entries}) == 1
    assert runner.run(user("Again.")) == "OK."
    assert len({entry.evaluation_id for entry in select_all(session, ConversationEntry)}) == 2


def test_a_session_goes_on_where_its_log_ended(tmp_path):
    for text in ("One.", "Two."):
        with transom.Conversation.open(tmp_path / "h.db", "h", budget=4_000) as conv:
            provider = Scripted(text)
            assert ConversationRunner(provider, Session(conversation=conv)).run(user("Next")) == text
    sent = [each["content"] for each in provider.requests[0]["messages"]]
    assert sent == ["Next", "One.", "Next"]


def test_wrong_calls_are_results_and_an_interruption_closes_what_is_open():
    def stop() -> str:
        """Stop."""
        raise ValueError("no")

    session = Session()
    provider = Scripted(calls(("gone", {}), ("stop", {"x": 1}), ("stop", {})), Fault(kind="auth", status=401), "Done.")
    runner = ConversationRunner(provider, session, tools=[stop])
    with pytest.raises(ProviderError):
        runner.run(user("Go"))
    assert [each["content"] for each in runner.messages if each["role"] == "tool"] == [
        "[failed] there is no tool gone",
        "[failed] arguments: unknown: 'x'; the tool takes: none",
        "[failed] ValueError: no",
    ]
    assert runner.run() == "Done."
    assert provider.violations == []


def test_an_interruption_closes_the_open_calls():
    class Bus(Session):
        def publish(self, event):
            if event.entry.tool_name == "sh" and event.entry.content == "output\n" * 30:
                raise KeyboardInterrupt
            super().publish(event)

    session = Bus()
    provider = Scripted(calls(("sh", {}), ("sh", {})), "Done.")
    runner = ConversationRunner(provider, session, tools=[sh])
    with pytest.raises(KeyboardInterrupt):
        runner.run(user("Go"))
    assert [each["content"] for each in runner.messages if each["role"] == "tool"] == [
        "[stopped: the run was cancelled while this tool ran; it may have done a part of its work]",
        "[not started: the run was cancelled before this tool ran]",
    ]
    assert runner.run() == "Done."
    assert provider.violations == []


def test_a_manager_that_changes_its_input_changes_no_history():
    class Careless:
        def curate(self, messages, *, session):
            messages[-1]["content"] = "changed"
            return messages[-1:]

    session = Session()
    runner = ConversationRunner(Scripted("Done."), session, history_manager=Careless())
    runner.run(user("Go"))
    assert [each["content"] for each in runner.messages] == ["Go", "Done."]
    assert [entry.content for entry in select_all(session, ConversationEntry)] == ["Go", "Done."]


def test_no_message_is_recorded_if_one_is_wrong():
    session = Session()
    with pytest.raises(InvalidMessage):
        ConversationRunner(Scripted(), session).run(user("Go"), {"role": "nobody"})
    assert select_all(session, ConversationEntry) == ()


def test_limits_and_settings_that_are_none():
    with pytest.raises(RunStopped, match="no answer after 2 steps"):
        ConversationRunner(Scripted(then=STEPS[0]), Session(), tools=[sh], max_steps=2).run(user("Go"))
    with pytest.raises(InvalidSetting, match="must speak the openai dialect, not 'anthropic'"):
        ConversationRunner(Scripted(dialect="anthropic"), Session())
    with pytest.raises(InvalidSetting, match="max_steps"):
        ConversationRunner(Scripted(), Session(), max_steps=0)
    endless = {}
    endless["again"] = endless
    with pytest.raises(InvalidSetting, match="settings: 'again' is nested more than 100 levels deep, or contains itse"):
        ConversationRunner(Scripted(), Session(), settings=endless)


def test_the_same_manager_as_a_policy():
    policy = managed_policy(SlidingWindowManager(4), on_ignored=pytest.fail)
    with transom.Conversation.open("memory:", "r", budget=2_000, policy=policy, system="Be brief.") as conv:
        conv.user("Count the files.")
        for reply in SCRIPT:
            messages = render(conv.plan_request())["messages"]
            assert not violations(messages)
            assert len(messages) <= 1 + 2 + 4, "system, marker, task, and the manager's four"
            conv.observe(reply)
            for call in reply.get("tool_calls", ()):
                conv.tool_result(call["id"], f"output of {call['id']}\n" * 30)
        assert sum(row.role == "tool" and row.state == "folded" for row in conv.explain()) >= 5
