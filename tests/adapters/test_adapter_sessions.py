"""The seam of all adapters, on LangChain messages: what is new is logged, what was taken back is a fork."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from transom import ConversationBusy, InvalidMessage, InvalidSetting
from transom.adapters.model_call import error_of
from transom.adapters.sessions import Sessions
from transom.core.message import Assistant, Failure, Text, ToolResult, User
from transom.stores import open_store
from transom.wire.frameworks import FORMATS

LONG = "a long line of output\n" * 1_200


class BadRequestError(Exception):
    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status_code, self.body = status, {"message": message, "code": None}


def sessions(store: Any = "memory:", **settings: Any) -> Sessions:
    return Sessions(store, FORMATS["langchain"], **{"budget": 32_000, **settings})


def called(number: int) -> list[Any]:
    call = {"name": "read", "args": {"n": number}, "id": f"call_{number}"}
    return [AIMessage("", tool_calls=[call], id=f"ai{number}"), ToolMessage(LONG, tool_call_id=call["id"])]


def facts(session: Any) -> list[str]:
    return [type(entry.body).__name__ for entry in session.conversation.log.read()]


def test_each_call_logs_what_is_new_and_gives_the_originals() -> None:
    session = sessions().session("trip")
    history: list[Any] = [HumanMessage("Count.", id="task")]
    call = session.begin(history, system="Be kind.", tools=[{"name": "read", "parameters": {}}])
    assert [id(each) for each in call.messages] == [id(history[0])]
    reply, result = called(1)
    call.observe(reply)
    history += [reply, result]
    call = session.begin(history, system="Be kind.", tools=[{"name": "read", "parameters": {}}])
    assert [id(each) for each in call.messages] == [id(each) for each in history]
    assert facts(session) == ["User", "Head", "Sent", "Assistant", "ToolResult", "Sent"]
    assert session.conversation.head.messages[0].parts == (Text("Be kind."),)


def test_a_session_whose_id_begins_with_that_of_another_is_no_branch_of_it() -> None:
    opened = sessions()
    history: list[Any] = [HumanMessage("Hello.")]
    opened.session("ann@example.com").begin(history).observe(AIMessage("The code is TANGERINE."))
    assert opened.session("ann").conversation.log.name == "ann"
    opened.session("ann").begin([*history, AIMessage("Hi."), HumanMessage("What is the code?")])
    assert opened.store.names() == ["ann@example.com", "ann"]


def test_forks_and_new_logs_are_found_again_as_branches() -> None:
    opened = sessions()
    for name in ("trip", "trip@41", "trip@41 (2)", "trip@new-1", "trip@41@7", "trip@home", "trip@new-1b"):
        opened.open(name).user("Hello.")
    names = [branch.conversation.log.name for branch in opened.session("trip")._opened()]
    assert names == ["trip", "trip@41", "trip@41 (2)", "trip@new-1", "trip@41@7"]


def test_leading_system_messages_are_the_head_and_come_back() -> None:
    session = sessions().session("trip")
    history = [SystemMessage("Be kind.", id="s"), HumanMessage("Count.", id="task")]
    assert [each.id for each in session.begin(history).messages] == ["s", "task"]
    assert [id(each) for each in session.begin(history).messages] == [id(each) for each in history]


def test_a_request_that_was_too_long_is_sent_again_with_less_and_the_limit_is_learned() -> None:
    session = sessions().session("trip")
    history: list[Any] = [HumanMessage("Count. The password is TANGERINE.", id="task")]
    for number in range(4):
        history += called(number)
    call = session.begin(history, model="openai:some-model")
    before = call.window.tokens
    said = f"This model's maximum context length is 14000 tokens. However, your messages resulted in {before} tokens."
    assert call.failed(BadRequestError(said))
    assert call.window.tokens < 14_000 < before
    assert "TANGERINE" in call.messages[0].text
    call.observe(AIMessage("done"))
    failure = next(entry.body for entry in session.conversation.log.read() if isinstance(entry.body, Failure))
    assert (failure.failure, failure.model, failure.used) == ("overflow", "openai:some-model", before)
    again = session.begin([*history, AIMessage("done"), HumanMessage("Again.")], model="openai:some-model")
    assert again.window.tokens < 14_000


def test_what_a_refusal_taught_holds_for_other_sessions_and_for_a_list_that_began_anew() -> None:
    opened = sessions()
    history: list[Any] = [HumanMessage("Count.")]
    for number in range(4):
        history += called(number)
    call = opened.session("trip").begin(history, model="openai:some-model")
    used = 2 * call.window.size.tokens
    said = f"This model's maximum context length is 14000 tokens. However, your messages resulted in {used} tokens."
    assert call.failed(BadRequestError(said))
    for name in ("trip", "walk"):
        other = opened.session(name).begin([HumanMessage("Sum."), *history[1:]], model="openai:some-model")
        assert other.window.limit == 7_000


def test_other_errors_are_the_frameworks_own_and_are_logged() -> None:
    session = sessions().session("trip")
    call = session.begin([HumanMessage("hi")])
    assert not call.failed(BadRequestError("slow down", 429))
    kinds = [entry.body.failure for entry in session.conversation.log.read() if isinstance(entry.body, Failure)]
    assert kinds == ["rate_limit"]


def test_a_call_that_has_failed_says_nothing_about_a_later_call() -> None:
    session = sessions().session("trip")
    failed = session.begin([HumanMessage("Count.")])
    assert not failed.failed(BadRequestError("slow down", 429))
    later = session.begin([HumanMessage("Count.")])
    assert not failed.failed(asyncio.CancelledError())
    later.observe(AIMessage("Ten."))
    assert not failed.failed(asyncio.CancelledError())
    assert facts(session) == ["User", "Sent", "Failure", "Sent", "Assistant"]


def test_a_stream_that_broke_off_as_too_long_leaves_no_request_open() -> None:
    session = sessions().session("trip")
    history: list[Any] = [HumanMessage("Count.", id="task")]
    for number in range(4):
        history += called(number)
    call = session.begin(history, model="openai:some-model")
    before = call.window.tokens
    said = f"This model's maximum context length is 14000 tokens. However, your messages resulted in {before} tokens."
    error = BadRequestError(said)
    assert not call.failed(error, may_ask_again=False)
    assert facts(session)[-1] == "Failure"
    assert not session.is_waiting
    assert error.__notes__
    assert session.begin(history, model="openai:some-model").window.tokens < 14_000


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()])
def test_a_call_that_was_given_up_does_not_keep_others_waiting(error: BaseException) -> None:
    store = open_store("memory:")
    given_up = sessions(store).session("trip").begin([HumanMessage("Count.")])

    def ask(_: Any) -> Any:
        raise error

    with pytest.raises(type(error)):
        given_up.send(ask, lambda reply: reply)
    session = sessions(store).session("trip")
    session.begin([HumanMessage("Count.")]).observe(AIMessage("Ten."))
    assert facts(session) == ["User", "Sent", "Failure", "Sent", "Assistant"]


def test_an_error_after_the_reply_is_not_the_calls() -> None:
    session = sessions().session("trip")
    call = session.begin([HumanMessage("Count.")])
    call.observe(AIMessage("Ten."))
    assert not call.failed(GeneratorExit())
    assert facts(session) == ["User", "Sent", "Assistant"]


def test_a_call_that_ends_without_a_reply_does_not_keep_others_waiting() -> None:
    store = open_store("memory:")
    session = sessions(store).session("trip")
    call = session.begin([HumanMessage("Count.")])
    assert call.send(lambda _: "nothing", lambda _: None) == "nothing"
    assert not session.is_waiting
    assert not call.failed(GeneratorExit())
    other = sessions(store).session("trip")
    other.begin([HumanMessage("Count.")]).observe(AIMessage("Ten."))
    assert facts(other) == ["User", "Sent", "Failure", "Sent", "Assistant"]


def test_a_call_whose_reply_cannot_be_read_does_not_keep_others_waiting() -> None:
    store = open_store("memory:")
    session = sessions(store).session("trip")
    with pytest.raises(InvalidMessage):
        session.begin([HumanMessage("Count.")]).observe(HumanMessage("Ten."))
    assert not session.is_waiting
    other = sessions(store).session("trip")
    other.begin([HumanMessage("Count.")]).observe(AIMessage("Ten."))
    assert facts(other) == ["User", "Sent", "Failure", "Sent", "Assistant"]


def test_a_busy_conversation_says_what_a_framework_can_do() -> None:
    store = open_store("memory:")
    _running = sessions(store).session("trip").begin([HumanMessage("Count.")])
    with pytest.raises(ConversationBusy, match="in use by this process: another run of this session has not ended: "):
        sessions(store).session("trip").begin([HumanMessage("Count.")])


def test_a_request_that_passes_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    opened = sessions()
    for _ in range(2):
        opened.warn_unchanged("conversation_id", "say store=False")
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith("requests with `conversation_id` are passed on as they came: ")
    assert said.endswith("; say store=False")


def test_what_cannot_be_made_smaller_says_so() -> None:
    session = sessions(readback=False).session("trip")
    call = session.begin([HumanMessage("word " * 20_000)])
    limit = BadRequestError("maximum context length is 100 tokens. However, your messages resulted in 20003 tokens.")
    assert not all(call.failed(limit) for _ in range(5))
    assert "still too long after 3 attempts" in limit.__notes__[0]


def test_a_wrapped_error_is_found() -> None:
    outer = RuntimeError("the model failed")
    outer.__cause__ = BadRequestError("maximum context length is 10 tokens")
    assert (error_of(outer).status, "maximum" in error_of(outer).body) == (400, True)

    class ContextWindowOverflowException(Exception):
        pass

    assert error_of(ContextWindowOverflowException("Input is too long")).status == 413


def test_messages_that_were_taken_back_make_a_fork() -> None:
    opened = sessions()
    session = opened.session("trip")
    task = HumanMessage("Count.")
    call = session.begin([task])
    call.observe(AIMessage("Ten."))
    session.begin([task, AIMessage("Ten."), HumanMessage("Sure?")])
    session.begin([task, AIMessage("Ten."), HumanMessage("In French?")])
    names = opened.store.names()
    assert [name for name in names if name.startswith("trip")] == names
    assert len(names) == 2
    said = [entry.body for entry in session.conversation.log.read() if isinstance(entry.body, (User, Assistant))]
    assert [each.parts for each in said] == [(Text("Count."),), (Text("Ten."),), (Text("In French?"),)]


def test_replies_that_the_framework_stores_in_another_form_keep_the_folds() -> None:
    session, history, sent, breaks = sessions(budget=4_000, readback=False).session("trip"), [], [], []
    for turn in range(60):
        history.append(HumanMessage(f"Question {turn}: " + "word " * 100))
        call = session.begin(history)
        now = [message.text for message in call.messages]
        if now[: len(sent)] != sent:
            breaks.append(turn)
        sent = now
        call.observe(AIMessage(f"Answer {turn}"))
        history.append(AIMessage(f"<p>Answer {turn}</p>"))
    assert len(breaks) > 3
    assert not any(after - before == 1 for before, after in pairwise(breaks))


def test_the_fork_is_found_again_by_another_process(tmp_path: Path) -> None:
    url, task = f"sqlite:///{tmp_path}/agent.db", HumanMessage("Count.")
    first = sessions(url)
    call = first.session("trip").begin([task])
    call.observe(AIMessage("Ten."))
    first.session("trip").begin([task, AIMessage("Eleven.")])
    name = first.session("trip").conversation.log.name
    first.close()
    second = sessions(url)
    second.session("trip").begin([task, AIMessage("Eleven."), HumanMessage("Sure?")])
    assert second.session("trip").conversation.log.name == name != "trip"
    assert len(second.store.names()) == 2
    second.close()


def test_a_list_whose_beginning_was_dropped_goes_on_in_the_same_log() -> None:
    opened = sessions()
    session = opened.session("trip")
    history: list[Any] = [HumanMessage("Count."), *called(1), *called(2)]
    session.begin(history)
    shorter = [*history[1:], AIMessage("done"), HumanMessage("Sure?")]
    call = session.begin(shorter)
    assert opened.store.names() == ["trip"]
    assert call.messages[0].text == "Count."
    assert [id(each) for each in call.messages[1:]] == [id(each) for each in shorter]


def test_a_list_with_nothing_in_common_begins_a_log_and_the_first_one_goes_on() -> None:
    opened = sessions()
    session = opened.session("trip")
    main: list[Any] = [HumanMessage("Count.")]
    session.begin(main).observe(AIMessage("", tool_calls=called(1)[0].tool_calls))
    session.begin([HumanMessage("A task of a sub-agent.")]).observe(AIMessage("done"))
    main += called(1)
    session.begin(main)
    assert session.conversation.log.name == "trip"
    assert opened.store.names() == ["trip", "trip@new-1"]


def test_a_result_is_the_one_of_its_call_whatever_it_says() -> None:
    session = sessions().session("trip")
    history: list[Any] = [HumanMessage("Count."), *called(1)]
    session.begin(history)
    history[-1] = ToolMessage("shortened by the framework", tool_call_id="call_1")
    session.begin([*history, AIMessage("done"), HumanMessage("Sure?")])
    results = [entry.body for entry in session.conversation.log.read() if isinstance(entry.body, ToolResult)]
    assert [each.parts for each in results] == [(Text(LONG),)]


def test_sessions_that_nobody_waits_for_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.adapters.sessions.MOST_OPEN_SESSIONS", 3)
    opened = sessions()
    for number in range(9):
        opened.session(f"s{number}").begin([HumanMessage("hi")]).observe(AIMessage("hello"))
    assert len(opened._sessions) == 3
    waiting = opened.session("s0")
    waiting.begin([HumanMessage("hi"), AIMessage("hello"), HumanMessage("more")])
    for number in range(1, 9):
        opened.session(f"s{number}").begin([HumanMessage("hi")]).observe(AIMessage("hello"))
    assert opened.session("s0") is waiting


def test_wrong_settings_are_an_error_at_once() -> None:
    with pytest.raises(InvalidSetting, match="unknown policy"):
        sessions(policy="none such")


def test_there_are_no_readback_tools_in_a_small_budget() -> None:
    assert sessions(budget=4_000).readback_tools == ()
    assert len(sessions().readback_tools) == 4
    session = sessions().session("trip")
    session.begin([HumanMessage("Count to TANGERINE.")])
    assert "TANGERINE" in session.readback("transom_grep", {"pattern": "TANG"})


def asked(*numbers: int) -> AIMessage:
    calls = [{"name": "read", "args": {"n": number}, "id": f"call_{number}"} for number in numbers]
    return AIMessage("", tool_calls=calls, id=f"ai{numbers[0]}")


def result(number: int, text: str = LONG) -> ToolMessage:
    return ToolMessage(text, tool_call_id=f"call_{number}", id=f"r{number}")


def arrive(session: Any, *numbers: int) -> dict[int, ToolMessage]:
    """The results as the framework keeps them, in the order in which they arrive."""
    return {at: result(at, session.tool_result(result(at)) or LONG) for at in numbers}


def begun(session: Any, *numbers: int) -> list[Any]:
    history: list[Any] = [HumanMessage("Count.", id="task"), asked(*numbers)]
    session.begin(history[:1]).observe(history[1])
    return history


def test_a_long_result_is_logged_whole_and_given_as_the_window_shows_it() -> None:
    session = sessions(budget=6_000).session("trip")
    history = begun(session, 1)
    history.append(arrive(session, 1)[1])
    assert facts(session) == ["User", "Sent", "Assistant", "ToolResult", "Trim"]
    assert session.conversation.log[3].body.parts == (Text(LONG),)
    assert "truncated of 1,201 lines; whole in entry 3" in history[2].text
    assert len(history[2].text) < len(LONG) / 3
    assert [id(each) for each in session.begin(history).messages] == [id(each) for each in history]
    assert facts(session)[-1] == "Sent"  # nothing was logged twice, nothing trimmed again


def test_results_of_tools_that_run_at_once_may_arrive_in_any_order(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/agent.db"
    here = sessions(url, budget=6_000)
    session = here.session("trip")
    history = begun(session, 1, 2, 3)
    kept = arrive(session, 3, 1)  # the second one is not seen
    history += [kept[1], result(2), kept[3]]
    here.close()
    there = sessions(url, budget=6_000).session("trip")  # another process goes on
    window = there.begin(history)
    assert there.conversation.log.name == "trip"
    answered = [entry.body.call for entry in there.conversation.log.read() if isinstance(entry.body, ToolResult)]
    assert answered == ["call_3", "call_1", "call_2"]
    assert {each.tool_call_id for each in window.messages[2:]} == {"call_1", "call_2", "call_3"}
    assert all("whole in entry" in each.text for each in window.messages[2:])
    assert window.window.tokens < 6_000


def test_a_result_that_the_framework_lost_stays_in_the_conversation() -> None:
    session = sessions(budget=6_000).session("trip")
    history = begun(session, 1, 2)
    arrive(session, 1, 2)
    messages = session.begin([*history, HumanMessage("Go on.", id="on")]).messages
    assert [type(each).__name__ for each in messages] == [
        "HumanMessage",
        "AIMessage",
        "ToolMessage",
        "ToolMessage",
        "HumanMessage",
    ]
    assert [entry for entry in session.conversation.log.read() if getattr(entry.body, "synthetic", False)] == []


def test_a_trim_that_is_undone_gives_the_model_the_whole() -> None:
    session = sessions(budget=32_000, policy="codex").session("trip")
    history = begun(session, 1)
    history.append(arrive(session, 1)[1])
    assert "truncated" in session.begin(history).messages[2].text
    session.conversation.undo()
    assert session.begin(history).messages[2].text == LONG


def test_what_the_framework_has_changed_itself_stays_as_it_has_it() -> None:
    session = sessions().session("trip")
    history = begun(session, 1)
    assert arrive(session, 1)[1].text == LONG
    cleared = result(1, "[cleared]")
    assert session.begin([*history, cleared]).messages[2] is cleared


def test_a_text_that_only_names_its_entry_is_not_our_clip() -> None:
    session = sessions(budget=32_000, policy="codex").session("trip")
    history = begun(session, 1)
    kept = arrive(session, 1)[1]
    session.conversation.undo()
    noted = result(1, f"{kept.text}\nThe rest is in entry 3, I say.")
    assert session.begin([*history, noted]).messages[2] is noted


def test_the_parts_of_a_clipped_result_are_known(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/agent.db"
    here = sessions(url, budget=32_000, policy="codex")
    session = here.session("trip")
    history = begun(session, 1)
    parts = [{"type": "text", "text": text} for text in ("Two files.", LONG, LONG.upper())]
    shorter = session.tool_result(ToolMessage(parts, tool_call_id="call_1", id="r1"))
    assert shorter is not None
    here.close()
    there = sessions(url, budget=32_000, policy="codex").session("trip")
    kept = result(1, shorter)
    assert there.begin([*history, kept]).messages[2].text != LONG
    there.conversation.undo()
    assert there.begin([*history, kept]).messages[2].content == parts


def test_the_result_of_a_call_that_has_one_is_not_logged() -> None:
    session = sessions(budget=6_000).session("trip")
    begun(session, 1)
    arrive(session, 1)
    assert session.tool_result(result(1, "read again")) is None
    assert session.tool_result(result(7)) is None
    assert facts(session) == ["User", "Sent", "Assistant", "ToolResult", "Trim"]


def test_a_policy_that_clips_nothing_leaves_results_as_they_are() -> None:
    session = sessions(budget=6_000, policy="sliding").session("trip")
    begun(session, 1)
    assert session.tool_result(result(1)) is None
    assert facts(session) == ["User", "Sent", "Assistant", "ToolResult"]
