"""A tiny runner over a scripted provider: it records everything, and sends what the manager leaves."""

from __future__ import annotations

from uuid import UUID

import pytest
from message_lists import SYSTEM, Recorder, assistant, assistant_call, tool_result, user

import transom
from transom.conversation.request import render
from transom.history import (
    ConversationEntry,
    EngineManager,
    HistoryCurated,
    ObservableManager,
    Session,
    SlidingWindowManager,
    entry_to_provider_message,
    managed_policy,
    select_all,
)
from transom.wire.openai import violations

SCRIPT = [*(assistant_call(f"c{n}", text=f"step {n}") for n in range(8)), assistant("All done.")]


class ScriptedProvider:
    """A provider with scripted replies, which records the requests."""

    def __init__(self, lines):
        self.lines, self.requests = iter(lines), []

    def __call__(self, messages):
        assert not violations(messages)
        self.requests.append(messages)
        return next(self.lines)


class ConversationRunner:
    """Calls the provider until it asks for no more tools."""

    def __init__(self, provider, session, *, history_manager=None):
        self.provider, self.session, self.history_manager = provider, session, history_manager
        self.recorder = Recorder(session, UUID(int=5))
        self.messages = []

    def add(self, message):
        self.recorder.record(message)
        self.messages.append(message)

    def run(self, *messages):
        for message in messages:
            self.add(message)
        while True:
            sent = self.messages
            if self.history_manager is not None:
                sent = self.history_manager.curate(sent, session=self.session)
            reply = self.provider(list(sent))
            self.add(reply)
            if not reply.get("tool_calls"):
                return reply["content"]
            for call in reply["tool_calls"]:
                self.add(tool_result(call["id"], f"output of {call['id']}\n" * 30))


@pytest.mark.parametrize("manager", [SlidingWindowManager(4), EngineManager(budget=transom.Budget(context=400))])
def test_conversation_runner_uses_the_manager(manager):
    plain, curated = ScriptedProvider(SCRIPT), ScriptedProvider(SCRIPT)
    task = (SYSTEM, user("Count the files."))
    assert ConversationRunner(plain, Session()).run(*task) == "All done."
    session = Session()
    runner = ConversationRunner(curated, session, history_manager=ObservableManager(manager, bus=session))
    assert runner.run(*task) == "All done."

    assert len(plain.requests) == len(curated.requests) == len(SCRIPT)
    for whole, sent in zip(plain.requests, curated.requests, strict=True):
        assert sent == manager.curate(whole, session=session)
    assert len(curated.requests[-1]) < len(plain.requests[-1])
    assert curated.requests[0] == plain.requests[0], "a short list is not changed"
    recorded = select_all(session, ConversationEntry)
    assert [entry_to_provider_message(entry) for entry in recorded] == runner.messages
    events = select_all(session, HistoryCurated)
    assert [event.original_count for event in events] == [len(request) for request in plain.requests]
    assert [event.curated_count for event in events] == [len(request) for request in curated.requests]


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
