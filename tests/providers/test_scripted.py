"""The scripted provider gives one turn in every dialect, whole or streamed, and refuses what an API would refuse."""

from __future__ import annotations

import anyio
import pytest

import transom
from transom.core.message import Assistant
from transom.errors import InvalidSetting, ProviderError
from transom.providers import provider_named
from transom.providers.scripted import Fault, Reply, Scripted, ScriptedCall, call
from transom.wire.dialects import DIALECTS, dialect_named
from transom.wire.replies import stop_reason_of

REPLIES = [
    Reply(text="Hello there, 汉字."),
    Reply(text="I look.", reasoning="Hm, weather.", calls=(ScriptedCall("weather", '{"city": "Lisbon"}'),)),
    Reply(calls=(ScriptedCall("weather", '{"city": "Rome"}'), ScriptedCall("now"))),
]


def request_in(dialect: str) -> dict:
    with transom.Conversation.open("memory:", "c", budget=10_000, dialect=dialect) as conv:
        conv.user("Hello")
        return conv.request(tools=[transom.Tool("weather")])


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_is_the_same_turn_whole_and_streamed(dialect: str, reply: Reply) -> None:
    spoken, request = dialect_named(dialect), request_in(dialect)
    whole = Scripted(reply, dialect=dialect).complete(request)
    accumulator, text, reasoning = spoken.accumulator(), "", ""
    for chunk in Scripted(reply, dialect=dialect).stream(request):
        accumulator.feed(chunk)
        for delta in accumulator.take_deltas():
            text += delta.text if delta.kind == "text" else ""
            reasoning += delta.text if delta.kind == "reasoning" else ""
    turn = spoken.parse_reply(whole)
    assert accumulator.finished
    assert accumulator.turn() == turn
    assert (text, reasoning) == (reply.text, reply.reasoning)
    assert [(each.name, each.args) for each in turn.calls] == [
        (each.name, each.args) for each in accumulator.turn().calls
    ]
    assert len(turn.calls) == len(reply.calls)
    assert turn.usage is not None
    assert accumulator.stop == stop_reason_of(whole) != "unknown"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_cut_of_a_stream_is_a_valid_turn(dialect: str) -> None:
    spoken, request = dialect_named(dialect), request_in(dialect)
    chunks = list(Scripted(REPLIES[1], dialect=dialect).stream(request))
    for stop in range(1, len(chunks)):
        fault = Fault(kind="connection", after=stop, reply=REPLIES[1])
        accumulator, seen = spoken.accumulator(), 0
        with pytest.raises(ProviderError, match="connection"):  # noqa: PT012 - what came before it counts
            for chunk in Scripted(fault, dialect=dialect).stream(request):
                accumulator.feed(chunk)
                seen += 1
        assert seen == min(stop, len(chunks) - 2)
        assert isinstance(accumulator.turn(), Assistant)


def test_it_runs_on_asyncio_and_on_trio() -> None:
    request = request_in("anthropic")

    async def both() -> tuple[object, list[object]]:
        provider = Scripted("Yes.", "Yes.", dialect="anthropic")
        return await provider.acomplete(request), [chunk async for chunk in provider.astream(request)]

    for backend in ("asyncio", "trio"):
        whole, chunks = anyio.run(both, backend=backend)
        spoken = dialect_named("anthropic")
        assert spoken.parse_reply(whole) == spoken.parse_reply(chunks)


def test_an_invalid_request_is_refused_and_recorded() -> None:
    provider = Scripted("Yes.")
    with pytest.raises(ProviderError, match="invalid request") as refused:
        provider.complete({"messages": [{"role": "tool", "tool_call_id": "1", "content": "x"}]})
    assert (refused.value.kind, refused.value.status) == ("bad_request", 400)
    assert provider.violations
    assert provider.complete({"messages": [{"role": "user", "content": "x"}]})


def test_a_request_above_the_context_is_refused_as_openai_says_it() -> None:
    provider = Scripted("Yes.", context=20)
    with pytest.raises(ProviderError, match="maximum context length is 20 tokens") as refused:
        provider.complete({"messages": [{"role": "user", "content": "word " * 100}]})
    assert refused.value.status == 400
    with pytest.raises(ProviderError, match="5000 in the completion"):
        provider.complete({"messages": [{"role": "user", "content": "x"}]}, max_tokens=5_000)


def test_a_slow_reply_times_out() -> None:
    with pytest.raises(ProviderError, match="timeout"):
        Scripted(Reply(text="x", delay=9)).complete({"messages": [{"role": "user", "content": "x"}]}, timeout=0.1)


def test_steps_may_look_at_the_request() -> None:
    provider = Scripted(lambda body: f"{len(body['messages'])} message", call("now"), then=Fault(status=500))
    request = {"messages": [{"role": "user", "content": "x"}]}
    assert provider.complete(request)["choices"][0]["message"]["content"] == "1 message"
    assert provider.complete(request)["choices"][0]["finish_reason"] == "tool_calls"
    for _ in range(2):
        with pytest.raises(ProviderError, match=r"server \(500\)"):
            provider.complete(request)


def test_the_echo_is_named() -> None:
    provider = provider_named("scripted:gemini")
    assert provider.dialect == "gemini"
    assert dialect_named("gemini").parse_reply(provider.complete(request_in("gemini"))).parts[0].text == "Hello"
    for name in ("scripted:x", "", "nobody:m", "gpt-5"):
        with pytest.raises(InvalidSetting):
            provider_named(name)
    with pytest.raises(InvalidSetting, match="a name or a provider"):
        provider_named(3)
    assert provider_named(provider) is provider


def test_a_fault_of_a_kind_that_there_is_not_says_which_there_are():
    with pytest.raises(InvalidSetting, match=r"one of timeout, connection, .*, not 'overloaded'"):
        Fault(kind="overloaded")
