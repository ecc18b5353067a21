"""What goes wrong with a request is a fact of the log; the run tries again, or ends in a typed error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from transom import BudgetImpossible, Conversation, Retry
from transom.conversation import events
from transom.core.message import Failure, ToolResult
from transom.errors import InvalidSetting, ProviderError
from transom.providers.scripted import Fault, Reply, Scripted, ScriptedCall, call

AT_ONCE = Retry(wait=0)
PARTIAL = Reply(text="The first half, the second half.", reasoning="Hm, hm.")


@pytest.fixture
def conv() -> Iterator[Conversation]:
    with Conversation.open("memory:", "c", budget=10_000) as opened:
        yield opened


def failures(conv: Conversation) -> list[Failure]:
    return [entry.body for entry in conv.log if isinstance(entry.body, Failure)]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(kind="timeout"), "timeout"),
        (Fault(kind="connection"), "connection"),
        (Fault(kind="rate_limit", status=429), "rate_limit"),
        (Fault(kind="server", status=500), "server"),
        (Fault(kind="server", status=529), "server"),
        (Reply(), "empty"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_may_pass_is_tried_again(conv: Conversation, fault: Fault | Reply, kind: str, stream: bool) -> None:
    provider = Scripted(fault, fault, "Yes.")
    run: Any = conv.stream if stream else conv.run
    result = run("Go", provider=provider, retry=AT_ONCE)
    if stream:
        *_, last = result
        result = last.result
    assert (result.text, result.failures) == ("Yes.", 2)
    assert [each.failure for each in failures(conv)] == [kind, kind]
    assert [each.shown for each in failures(conv)] == ["", ""]
    first, *others = provider.requests
    assert others == [first, first]
    assert conv.view.in_flight is None


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(kind="auth", status=401), "auth"),
        (Fault(kind="bad_request", status=400, body="no such field"), "bad_request"),
        (Reply(text="I will", stop="content_filter"), "filter"),
        (Reply(text="I look.", calls=(ScriptedCall("look", '{"a'),), stop="length"), "length"),
        (Reply(stop="length"), "length"),
    ],
)
def test_what_will_not_pass_ends_the_run(conv: Conversation, fault: Fault | Reply, kind: str) -> None:
    provider = Scripted(fault, "Yes.")
    with pytest.raises(ProviderError) as raised:
        conv.run("Go", provider=provider, retry=AT_ONCE)
    assert raised.value.kind == kind
    assert [each.failure for each in failures(conv)] == [kind]
    assert len(provider.requests) == 1
    assert conv.run("continue", provider=provider).text == "Yes."
    assert provider.violations == []


def test_a_cut_answer_is_an_answer_that_says_so(conv: Conversation) -> None:
    result = conv.run("Go", provider=Scripted(Reply(text="Half of", stop="length")))
    assert (result.text, result.stop) == ("Half of", "length")


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic", "gemini"])
def test_a_broken_stream_keeps_what_had_arrived_and_goes_on(dialect: str) -> None:
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        fault = Fault(kind="connection", after=9, reply=PARTIAL)
        provider = Scripted(fault, fault, "the second half.", dialect=dialect)
        with pytest.raises(ProviderError, match="connection"):
            list(conv.stream("Go", provider=provider, retry=Retry(attempts=2, wait=0)))
        first, last = failures(conv)
        assert first.shown == ""
        assert PARTIAL.text.startswith(last.text)
        assert last.text
        assert last.shown == f"{last.text}\n[the reply ended here: connection]"
        assert dialect == "gemini" or PARTIAL.reasoning.startswith(last.reasoning)
        assert conv.run("continue", provider=provider).text == "the second half."
        assert provider.violations == []
        assert last.text.strip() in str(provider.requests[-1])


def test_partial_calls_are_never_sent(conv: Conversation) -> None:
    asked = Reply(text="I look.", calls=(ScriptedCall("look", '{"city": "Rome"}'), ScriptedCall("look", '{"ci')))
    provider = Scripted(Fault(kind="connection", after=7, reply=asked), "Sorry.")
    with pytest.raises(ProviderError):
        list(conv.stream("Go", provider=provider, tools=[look], retry=Retry(attempts=1)))
    assert conv.run(provider=provider).text == "Sorry."
    assert "tool_calls" not in str(provider.requests[-1]["messages"])


class Cut(Scripted):
    """Anthropic ends the block and the message of its first answer, with half of the arguments of a call."""

    def __init__(self, stop: str) -> None:
        super().__init__("Sorry.", dialect="anthropic")
        self.stop = stop

    def stream(self, request: Any, **limits: Any) -> Iterator[object]:
        whole = list(super().stream(request, **limits))
        if len(self.requests) > 1:
            return iter(whole)
        started = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
        return iter(
            [
                {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {}}},
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "I look."}},
                {"type": "content_block_stop", "index": 0},
                {"type": "content_block_start", "index": 1, "content_block": started},
                {
                    "type": "content_block_delta",
                    "index": 1,
                    "delta": {"type": "input_json_delta", "partial_json": '{"ci'},
                },
                {"type": "content_block_stop", "index": 1},
                {"type": "message_delta", "delta": {"stop_reason": self.stop}, "usage": {}},
                {"type": "message_stop"},
            ]
        )


def test_a_streamed_reply_that_ended_inside_a_call_is_no_answer() -> None:
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        with pytest.raises(ProviderError, match="in a tool call: look") as raised:
            list(conv.stream("Go", provider=Cut("max_tokens"), tools=[look], retry=Retry(attempts=1)))
        assert raised.value.kind == "length"
        assert [each.failure for each in failures(conv)] == ["length"]


def test_a_call_whose_arguments_are_half_an_object_fails_if_the_model_meant_to_call() -> None:
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        list(conv.stream("Go", provider=Cut("tool_use"), tools=[look]))
        (answer,) = [entry.body for entry in conv.log.read() if isinstance(entry.body, ToolResult)]
        assert answer.failed
        assert "arguments: not valid JSON" in str(answer.parts)
        assert failures(conv) == []


def look(city: str) -> str:
    """Look at a city."""
    return city


def test_retries_wait_longer_each_time_and_as_long_as_asked() -> None:
    retry = Retry(attempts=9, wait=0.5, longest=3)
    assert [retry.wait_before(attempt) for attempt in range(2, 7)] == [0.5, 1, 2, 3, 3]
    for wrong in ({"attempts": 0}, {"attempts": 1.5}, {"wait": -1}, {"longest": float("inf")}, {"wait": "1"}):
        with pytest.raises(InvalidSetting, match="retry"):
            Retry(**wrong)


def waits(conv: Conversation, provider: Scripted, **settings: Any) -> list[float]:
    found = []
    try:
        for event in conv.stream("Go", provider=provider, **settings):
            if isinstance(event, events.Retrying):
                found.append(event.wait)
    except ProviderError:
        pass
    return found


def test_retry_after_is_honoured_up_to_the_longest_wait(conv: Conversation) -> None:
    def limited(seconds: float) -> Fault:
        return Fault(kind="rate_limit", status=429, retry_after=seconds)

    assert waits(conv, Scripted(limited(0.03), limited(0.01)), retry=Retry(wait=9)) == [0.03, 0.01]
    assert waits(conv, Scripted(then=limited(600)), retry=Retry(wait=9)) == []


def test_the_next_model_takes_over(conv: Conversation) -> None:
    down = Scripted(then=Fault(status=500), model="large")
    up = Scripted("Yes.", model="small", dialect="anthropic")
    result = conv.run("Go", provider=down, fallbacks=[up], retry=Retry(attempts=2, wait=0))
    assert (result.text, result.model, result.failures) == ("Yes.", "scripted:small", 2)
    assert [each.model for each in failures(conv)] == ["scripted:large"] * 2
    assert conv.dialect.name == "anthropic"
    assert down.violations == up.violations == []


def test_an_error_is_logged_without_keys(conv: Conversation) -> None:
    body = "Incorrect API key provided: sk-proj-abcdefghijklmnop1234. Authorization: Bearer abc.def2-ghi.jkl3"
    with pytest.raises(ProviderError):
        conv.run("Go", provider=Scripted(Fault(kind="auth", status=401, body=body)))
    (failure,) = failures(conv)
    assert "abcdefghijkl" not in failure.error
    assert "abc.def" not in failure.error


# ---- overflow


def long_conversation(budget: int = 20_000, dialect: str = "openai") -> Conversation:
    conv = Conversation.open("memory:", "c", budget=budget, dialect=dialect)
    for number in range(40):
        conv.user(f"Question {number}: " + "what about the weather in Lisbon? " * 10)
        conv.run(provider=Scripted(f"Answer {number}: " + "it is sunny there. " * 10, dialect=dialect))
    return conv


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic", "gemini"])
def test_a_limit_that_was_configured_too_high_is_learned(dialect: str) -> None:
    with long_conversation(dialect=dialect) as conv:
        provider = Scripted("Yes.", "Again.", dialect=dialect, context=3_000)
        result = conv.run("Go", provider=provider)
        assert result.text == "Yes."
        assert result.failures <= 2
        sizes = [len(str(request)) for request in provider.requests]
        assert sizes == sorted(sizes, reverse=True)
        assert len(set(sizes)) == len(sizes)
        assert {each.failure for each in failures(conv)} == {"overflow"}
        assert 0 < conv.view.learned_limits["scripted:scripted"] <= 3_000
        before = len(provider.requests)
        assert conv.run("And now?", provider=provider).text == "Again."
        assert len(provider.requests) == before + 1
        assert provider.violations == []


def test_a_learned_limit_is_in_the_log(tmp_path: Any) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    with Conversation.open(store, "c", budget=20_000) as conv:
        for _ in range(40):
            conv.user("what about the weather in Lisbon? " * 20)
        conv.run(provider=Scripted(context=2_000))
    with Conversation.open(store, "c", budget=20_000) as conv:
        provider = Scripted(context=2_000)
        conv.run("Go", provider=provider)
        assert len(provider.requests) == 1
        conv.run("Go", provider=Scripted(model="another", context=20_000))
        assert conv.window().limit == 20_000


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("tokens", [0.7, 1.5, 3.0])
def test_a_model_that_counts_otherwise_recovers_too(told: bool, tokens: float) -> None:
    """`told`: the error says how many tokens the request had. `tokens`: of the model, for one of ours."""
    with long_conversation() as conv:

        def count(body: Any) -> int:
            return int(tokens * conv.view.sent_tokens)

        class Curt(Scripted):
            def complete(self, request: Any, **limits: Any) -> object:
                try:
                    return super().complete(request, **limits)
                except ProviderError as error:
                    body = error.body if told else "This model's maximum context length is 4000 tokens."
                    raise ProviderError("bad_request", status=400, body=body) from None

        provider = Curt("Yes.", "Again.", context=4_000, count=count)
        assert conv.run("Go", provider=provider).text == "Yes."
        assert len(provider.requests) <= 3
        sizes = [len(str(request)) for request in provider.requests]
        assert sizes == sorted(set(sizes), reverse=True)


def test_three_refusals_end_the_run_with_the_bill() -> None:
    with long_conversation() as conv:
        body = "This model's maximum context length was exceeded. Please reduce the length of the messages."
        provider = Scripted(then=Fault(kind="bad_request", status=400, body=body))
        with pytest.raises(
            ProviderError,
            match=r"after 3 attempts: the last attempt had .* tokens by our count: system prompt and tools",
        ) as raised:
            conv.run("Go", provider=provider)
        assert raised.value.kind == "overflow"
        assert len(provider.requests) == 3
        sizes = [len(str(request)) for request in provider.requests]
        assert sizes[0] > sizes[1] > sizes[2]


def test_a_model_that_takes_nothing_ends_with_the_numbers() -> None:
    with long_conversation() as conv, pytest.raises((BudgetImpossible, ProviderError)) as raised:
        conv.run("Go", provider=Scripted(context=20))
    assert "still too long after 3 attempts: the last attempt had " in str(raised.value)


def test_only_the_answer_was_too_long(conv: Conversation) -> None:
    provider = Scripted("Yes.", context=2_000)
    assert conv.run("Go", provider=provider, max_tokens=5_000).text == "Yes."
    assert [each.failure for each in failures(conv)] == ["overflow"]
    assert provider.requests[0] == provider.requests[1]
    assert conv.view.learned_limits == {}


def test_an_overflow_inside_a_stream_counts(conv: Conversation) -> None:
    for number in range(30):
        conv.user(f"{number} " + "what about the weather in Lisbon? " * 10)

    class Streams(Scripted):
        def stream(self, request: Any, **limits: Any) -> Iterator[object]:
            if not self.requests:
                self.requests.append(dict(request))
                message = "This model's maximum context length is 1000 tokens. However, you requested 3000 tokens."
                yield {"error": {"message": message, "code": "context_length_exceeded"}}
                return
            yield from super().stream(request, **limits)

    provider = Streams("Yes.")
    *_, last = conv.stream("Go", provider=provider)
    assert isinstance(last, events.Finished)
    assert last.result.text == "Yes."
    assert [each.failure for each in failures(conv)] == ["overflow"]
    assert len(str(provider.requests[1])) < len(str(provider.requests[0]))


def test_a_stray_exception_of_a_provider_is_logged(conv: Conversation) -> None:
    class Broken(Scripted):
        def complete(self, request: Any, **limits: Any) -> object:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        conv.run("Go", provider=Broken())
    assert [each.failure for each in failures(conv)] == ["interrupted"]
    assert conv.view.in_flight is None
    assert conv.run(provider=Scripted(call("nothing"), "Yes.")).text == "Yes."
