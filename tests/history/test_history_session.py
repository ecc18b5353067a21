"""Sessions: events, slices, reducers; and a log in place of the slice."""

from __future__ import annotations

from uuid import UUID

import pytest
from message_lists import Recorder, assistant, assistant_call, history, tool_result, user
from msgspec import Struct

import transom
from transom.errors import InvalidMessage, InvalidSetting
from transom.history import (
    ConversationEntry,
    ConversationRecorded,
    MessageRole,
    Session,
    SlidingWindowManager,
    entry_to_provider_message,
)
from transom.testing import FakeClock

ONE, TWO = UUID(int=1), UUID(int=2)


class NoteAdded(Struct, frozen=True):
    text: str


def messages_of(entries):
    return [entry_to_provider_message(entry) for entry in entries]


def entries_of(session, evaluation):
    return session.select_where(ConversationEntry, lambda entry: entry.evaluation_id == evaluation)


def newest(slice_, event, *, context):
    return (event,)


@pytest.fixture(params=["memory", "log"])
def session(request):
    """A session that holds its entries itself, and one with a conversation that holds them."""
    if request.param == "memory":
        yield Session(ONE)
        return
    with transom.Conversation.open("memory:", "s", budget=4_000) as conv:
        yield Session(ONE, conversation=conv)


def test_events_without_a_reducer_are_appended_to_their_own_slice():
    session = Session()
    for text in "abc":
        session.publish(NoteAdded(text))
    assert session.select_all(NoteAdded) == (NoteAdded("a"), NoteAdded("b"), NoteAdded("c"))
    assert session.select_where(NoteAdded, lambda noted: noted.text > "a") == (NoteAdded("b"), NoteAdded("c"))
    assert session.select_all(int) == ()


def test_reducers_decide_what_a_slice_holds():
    session = Session()
    session.register_reducer(NoteAdded, newest)
    session.register_reducer(NoteAdded, lambda slice_, event, *, context: (*slice_, len(event.text)), slice_type=int)
    for text in ("a", "bb"):
        session.publish(NoteAdded(text))
    assert session.select_all(NoteAdded) == (NoteAdded("bb"),)
    assert session.select_all(int) == (1, 2)


def test_a_reducer_sees_the_session_and_one_that_raises_changes_nothing():
    session, seen = Session(ONE), []

    def fails(slice_, event, *, context):
        seen.append(context.session.session_id)
        raise RuntimeError("no")

    session.register_reducer(NoteAdded, newest)
    session.register_reducer(NoteAdded, fails, slice_type=int)
    with pytest.raises(RuntimeError):
        session.publish(NoteAdded("a"))
    assert seen == [ONE]
    assert session.select_all(NoteAdded) == ()


def test_evaluation_id_correlation(session):
    for evaluation in (ONE, TWO):
        recorder = Recorder(session, evaluation, clock=FakeClock())
        for message in history(3)[1:]:
            recorder.record(message)
    for evaluation in (ONE, TWO):
        entries = entries_of(session, evaluation)
        assert {entry.evaluation_id for entry in entries} == {evaluation}
        assert messages_of(entries) == history(3)[1:]
    assert len(session.select_all(ConversationEntry)) == 2 * len(history(3)[1:])


def test_sequence_ordering_within_an_evaluation(session):
    first, second = Recorder(session, ONE), Recorder(session, TWO)
    for n in range(6):  # two evaluations at once
        first.record(user(f"one {n}"))
        second.record(user(f"two {n}"))
    for evaluation in (ONE, TWO):
        assert [entry.sequence for entry in entries_of(session, evaluation)] == list(range(6))
    with pytest.raises(InvalidMessage):
        first.record({"role": "robot"})
    assert first.record(user("next")).sequence == 6, "what was refused has no number"


def test_queries_by_role_and_by_run(session):
    for run in ("r1", "r2"):
        recorder = Recorder(session, ONE, run_id=run, mode="run")
        for message in (user(f"go {run}"), assistant_call("a"), tool_result("a", run), assistant("done")):
            recorder.record(message)
    tools = session.select_where(ConversationEntry, lambda entry: entry.role == MessageRole.TOOL)
    assert [entry.content for entry in tools] == ["r1", "r2"]
    second = session.select_where(ConversationEntry, lambda entry: entry.run_id == "r2")
    assert [entry.content for entry in second] == ["go r2", None, "r2", "done"]
    assert {entry.mode for entry in session.select_all(ConversationEntry)} == {"run"}
    assert session.select_where(ConversationEntry, lambda entry: entry.content == "go r1")[0].sequence == 0


def test_session_records_complete_history_even_when_manager_curates(session):
    recorder, sent = Recorder(session, ONE), []
    manager = SlidingWindowManager(2)
    session.register_reducer(ConversationRecorded, lambda slice_, event, *, context: (*slice_, event))
    for message in history(10)[1:]:
        recorder.record(message)
        sent.append(message)
        assert len(manager.curate(sent, session=session)) <= 2
    assert messages_of(entries_of(session, ONE)) == history(10)[1:]
    assert [event.entry.sequence for event in session.select_all(ConversationRecorded)] == list(range(len(sent)))


def test_entries_that_were_appended_to_the_log_directly_are_selected_too():
    with transom.Conversation.open("memory:", "s", budget=4_000) as conv:
        session = Session(conversation=conv)
        Recorder(session, ONE, run_id="r1").record(user("first"))
        conv.plan_request()
        conv.observe(assistant("second"))
        assert [entry.content for entry in session.select_all(ConversationEntry)] == ["first", "second"]
        assert session.select_all(ConversationRecorded) == ()
        assert conv.log[0].meta.evaluation_id == str(ONE)
        with pytest.raises(InvalidSetting, match="the log of the conversation holds its entries"):
            session.register_reducer(ConversationRecorded, newest, slice_type=ConversationEntry)


def test_a_compacted_window_leaves_the_recorded_history_whole():
    with transom.Conversation.open("memory:", "s", budget=600) as conv:
        session = Session(conversation=conv)
        recorder = Recorder(session, ONE)
        for message in history(20)[1:]:
            if message["role"] == "assistant":
                assert conv.plan_request().tokens <= 600
            recorder.record(message)
        assert messages_of(entries_of(session, ONE)) == history(20)[1:]
