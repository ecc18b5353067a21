"""The agent loop on a scripted provider, sync and async, in every dialect: answers, tools, limits, cancellation."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import anyio
import anyio.lowlevel
import msgspec
import pytest
from msgspec.structs import replace

import transom
from transom import AsyncConversation, Conversation, Retry, RunResult, RunStopped
from transom.conversation import events
from transom.core.entry import Sent
from transom.core.message import Assistant, Failure, Text, ToolResult, User
from transom.errors import ConversationBusy, InvalidMessage, InvalidSetting, ProviderError
from transom.providers.model_prices import TokenPrices
from transom.providers.scripted import Fault, Reply, Scripted, ScriptedCall, call, calls
from transom.readback import TOOLS
from transom.wire.dialects import DIALECTS
from transom.wire.openai.dialect import OpenAIChatDialect

EXPECTED = "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
AT_ONCE = Retry(wait=0)


@pytest.fixture
def conv() -> Iterator[Conversation]:
    with Conversation.open("memory:", "c", budget=10_000, system="Be brief.") as opened:
        yield opened


def weather(city: str, days: int = 1) -> dict[str, Any]:
    """The weather in a city.

    Args:
        city: the city's name
        days: how many days
    """
    return {"city": city, "days": days}


def bodies(conv: Conversation, kind: type) -> list[Any]:
    return [entry.body for entry in conv.log if isinstance(entry.body, kind)]


def results(conv: Conversation) -> list[tuple[str, bool]]:
    found = bodies(conv, ToolResult)
    return [("".join(part.text for part in each.parts), each.failed) for each in found]


def run_sync(conv: Conversation, **settings: Any) -> RunResult:
    return conv.run("Go", **settings)


def run_asyncio(conv: Conversation, **settings: Any) -> RunResult:
    return anyio.run(lambda: AsyncConversation(conv).run("Go", **settings), backend="asyncio")


def run_trio(conv: Conversation, **settings: Any) -> RunResult:
    return anyio.run(lambda: AsyncConversation(conv).run("Go", **settings), backend="trio")


def stream_sync(conv: Conversation, **settings: Any) -> RunResult:
    *_, last = conv.stream("Go", **settings)
    assert isinstance(last, events.Finished)
    return last.result


def stream_asyncio(conv: Conversation, **settings: Any) -> RunResult:
    async def main() -> RunResult:
        *_, last = [event async for event in AsyncConversation(conv).stream("Go", **settings)]
        return last.result

    return anyio.run(main)


RUNS = [run_sync, run_asyncio, run_trio, stream_sync, stream_asyncio]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("run", RUNS)
def test_a_run_calls_tools_and_answers(run: Callable[..., RunResult], dialect: str) -> None:
    steps = [
        calls(("weather", {"city": "Lisbon"}), ("weather", {"city": "Rome", "days": 3})),
        Fault(status=503),
        "It is sunny.",
    ]
    provider = Scripted(*steps, dialect=dialect)
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        result = run(conv, provider=provider, tools=[weather], retry=AT_ONCE)
        assert (result.text, result.stop, result.failures) == ("It is sunny.", "stop", 1)
        assert (result.usage.requests, result.usage.tool_calls) == (2, 2)
        assert result.entries == (0, len(conv.log))
        assert provider.violations == []
        assert sorted(results(conv)) == [
            ('{"city":"Lisbon","days":1}', False),
            ('{"city":"Rome","days":3}', False),
        ] or (dialect == "gemini")
        assert conv.view.in_flight is None


def test_the_log_says_what_a_run_did(conv: Conversation) -> None:
    conv.run("Go", provider=Scripted(call("weather", city="Rome"), "Sunny."), tools=[weather])
    kinds = [type(entry.body).__name__ for entry in conv.log]
    assert kinds == ["User", "Head", "Sent", "Assistant", "ToolResult", "Sent", "Assistant"]
    metas = [entry.meta for entry in conv.log if entry.meta is not None]
    assert [(meta.evaluation_id, meta.sequence, meta.tool_name) for meta in metas] == [
        ("run 0", 1, ""),
        ("run 0", 2, ""),
        ("run 0", 3, "weather"),
        ("run 0", 4, ""),
    ]
    assert metas[2].duration is not None


def test_events_come_in_order(conv: Conversation) -> None:
    provider = Scripted(Reply(reasoning="Hm.", calls=(ScriptedCall("weather", '{"city": "Rome"}'),)), "It is sunny.")
    happened = list(conv.stream("Go", provider=provider, tools=[weather]))
    kinds = [type(event).__name__ for event in happened]
    assert kinds == [
        "Requested",
        "ReasoningDelta",
        "Replied",
        "ToolCalled",
        "ToolReturned",
        "Requested",
        "TextDelta",
        "TextDelta",
        "Replied",
        "Finished",
    ]
    assert happened[4].content == {"city": "Rome", "days": 1}
    assert conv.log[happened[8].entry].body.parts == (Text("It is sunny."),)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reply_with_calls_stops_for_them_in_every_dialect(dialect: str) -> None:
    """Responses and Gemini say only that the model is done."""
    with Conversation.open("memory:", "w", budget=8_000, dialect=dialect) as conv:
        provider = Scripted(call("weather", city="Rome"), "Sunny.", dialect=dialect)
        happened = list(conv.stream("Go", provider=provider, tools=[weather]))
    assert [event.stop for event in happened if isinstance(event, events.Replied)] == ["tool_calls", "stop"]


# ---- input


def test_messages_must_end_with_the_user(conv: Conversation) -> None:
    provider = Scripted("Yes.")
    with pytest.raises(InvalidMessage, match="last message must be the user's"):
        conv.run(messages=[{"role": "assistant", "content": "x"}], provider=provider)
    assert len(conv.log) == 0
    with pytest.raises(InvalidSetting, match="not both"):
        conv.run("x", messages=[{"role": "user", "content": "x"}], provider=provider)
    with pytest.raises(InvalidMessage, match="nothing to answer"):
        conv.run(provider=provider)
    said = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}, {"role": "user", "content": "z"}]
    assert conv.run(messages=said, provider=provider).text == "Yes."


def test_settings_are_checked_before_anything_is_logged(conv: Conversation) -> None:
    wrong: list[dict[str, Any]] = [
        {},
        {"provider": "nobody:x"},
        {"provider": 3},
        {"tools": weather},
        {"tools": ["weather"]},
        {"tools": [weather, weather]},
        {"max_steps": 0},
        {"max_cost": True},
        {"timeout": "3"},
        {"retry": 3},
    ]
    for each in wrong:
        with pytest.raises(InvalidSetting):
            conv.run("Go", **({"provider": Scripted()} if each else {}) | each)
    with pytest.raises(TypeError, match="'max_step'"):
        conv.run("Go", provider=Scripted(), max_step=3)
    assert len(conv.log) == 0


def test_one_run_at_a_time(conv: Conversation) -> None:
    running = conv.stream("Go", provider=Scripted("A long answer."))
    next(running)
    with pytest.raises(ConversationBusy, match="another run"):
        conv.run("Go", provider=Scripted())
    running.close()
    assert conv.run("Go", provider=Scripted("Yes.")).text == "Yes."


def test_the_role_of_digests_is_kept_where_the_dialect_has_it() -> None:
    with Conversation.open("memory:", "c", budget=10_000, digest_role="developer") as conv:
        conv.run("Go", provider=Scripted(dialect="responses"))
        assert conv.dialect.digest_role == "developer"
        conv.run("Go", provider=Scripted(dialect="anthropic"))
        assert conv.dialect.digest_role == "user"


# ---- tools


class OwnReplies(OpenAIChatDialect, frozen=True):
    """A dialect of the caller's that reads replies in its own way."""

    def parse_reply(self, reply: object) -> Assistant:
        return replace(super().parse_reply(reply), parts=(Text("read by us"),))


def test_a_run_reads_replies_with_the_conversation_s_own_dialect() -> None:
    with Conversation.open("memory:", "c", budget=10_000, dialect=OwnReplies()) as conv:
        assert conv.run("Go", provider=Scripted("done")).text == "read by us"
        conv.user("And?")
        conv.request()
        conv.observe({"role": "assistant", "content": "done"})
        assert [turn.parts[0].text for turn in bodies(conv, Assistant)] == ["read by us"] * 2


def test_what_the_model_gets_wrong_is_a_failed_result(conv: Conversation) -> None:
    wrong = Reply(
        calls=(
            ScriptedCall("weather", '{"city": 3}'),
            ScriptedCall("weather", "{city"),
            ScriptedCall("weather", "{}"),
            ScriptedCall("weather", '{"city": "Rome", "town": 1}'),
            ScriptedCall("nothing"),
            ScriptedCall(""),
        )
    )
    conv.run("Go", provider=Scripted(wrong, "Sorry."), tools=[weather], readback=False)
    assert results(conv) == [
        ("arguments: Expected `str`, got `int` - at `$.city`", True),
        (f"arguments: not valid JSON: {EXPECTED}", True),
        ("arguments: Object missing required field `city`", True),
        ("arguments: unknown: 'town'; the tool takes: city, days", True),
        ("there is no tool nothing; there are: weather", True),
        ("there is no tool without a name; there are: weather", True),
    ]


@pytest.mark.parametrize("written", ["null", " null\n", " ", "{}"])
def test_a_tool_without_parameters_is_called_with_null_or_nothing(conv: Conversation, written: str) -> None:
    def ping() -> str:
        """Ping."""
        return "pong"

    provider = Scripted(Reply(calls=(ScriptedCall("ping", written),)), "Done.")
    assert conv.run("Go", provider=provider, tools=[ping]).text == "Done."
    assert results(conv) == [("pong", False)]
    assert provider.violations == []


@pytest.mark.parametrize("run", RUNS)
def test_an_exception_is_a_failed_result(conv: Conversation, run: Callable[..., RunResult]) -> None:
    def fails() -> str:
        raise ValueError("no such file")

    async def fails_later() -> str:
        await anyio.sleep(0.001)
        raise KeyError("x")

    run(conv, provider=Scripted(calls(("fails", {}), ("fails_later", {}))), tools=[fails, fails_later])
    assert sorted(results(conv)) == [("KeyError: 'x'", True), ("ValueError: no such file", True)]


@pytest.mark.parametrize("run", RUNS)
def test_a_tool_that_hangs_times_out_and_others_go_on(conv: Conversation, run: Callable[..., RunResult]) -> None:
    release = threading.Event()

    def hangs() -> None:
        release.wait(2)

    start = time.monotonic()
    run(
        conv,
        provider=Scripted(calls(("hangs", {}), ("weather", {"city": "Rome"}))),
        tools=[transom.FunctionTool(hangs, timeout=0.05), weather],
    )
    assert time.monotonic() - start < 1.5
    release.set()
    assert results(conv) == [
        ('{"city":"Rome","days":1}', False),
        ("timed out after 0.05 seconds; the tool may still be at work", True),
    ]


def test_parallel_calls_run_at_once(conv: Conversation) -> None:
    meet = threading.Barrier(2, timeout=5)

    def waits() -> str:
        meet.wait()
        return "met"

    conv.run("Go", provider=Scripted(calls(("waits", {}), ("waits", {}))), tools=[waits])
    assert results(conv) == [("met", False), ("met", False)]


@pytest.mark.parametrize("run", RUNS)
def test_calls_are_approved_first(conv: Conversation, run: Callable[..., RunResult]) -> None:
    asked: list[str] = []

    async def approve(called: events.ToolCalled) -> object:
        asked.append(called.arguments)
        return {"Rome": True, "Oslo": False}.get(json.loads(called.arguments)["city"], "Ask for a city in Italy.")

    cities = calls(*[("weather", {"city": city}) for city in ("Rome", "Oslo", "Bern")])
    run(conv, provider=Scripted(cities), tools=[weather], approve=approve)
    assert len(asked) == 3
    assert sorted(results(conv)) == [
        ("not run: the call was not approved", True),
        ("not run: the call was not approved: Ask for a city in Italy.", True),
        ('{"city":"Rome","days":1}', False),
    ]


def test_an_error_of_an_async_approve_is_alone(conv: Conversation) -> None:
    async def approve(called: events.ToolCalled) -> bool:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as raised:
        conv.run("Go", provider=Scripted(call("weather", city="Rome")), tools=[weather], approve=approve)
    assert raised.value.__context__ is None


def test_a_sync_run_inside_an_event_loop_asks_an_async_approve(conv: Conversation) -> None:
    async def approve(called: events.ToolCalled) -> bool:
        await anyio.lowlevel.checkpoint()
        return called.name == "weather"

    async def notebook() -> None:
        conv.run("Go", provider=Scripted(call("weather", city="Rome")), tools=[weather], approve=approve)

    anyio.run(notebook)
    assert results(conv) == [('{"city":"Rome","days":1}', False)]


def test_unavailable_tools_are_refused_and_stay_in_the_request(conv: Conversation) -> None:
    provider = Scripted(call("weather", city="Rome"))
    conv.run("Go", provider=provider, tools=[weather], unavailable={"weather"}, readback=False)
    assert results(conv) == [("not run: the tool weather is not available now", True)]
    assert all(len(request["tools"]) == 1 for request in provider.requests)


def test_the_readback_tools_need_no_function(conv: Conversation) -> None:
    conv.user("The code is 4711.")
    provider = Scripted(call("transom_grep", pattern="4711"))
    conv.run("Which code?", provider=provider, tools=[*TOOLS])
    ((text, failed),) = results(conv)
    assert "4711" in text
    assert not failed


class Place(msgspec.Struct):
    city: str
    country: str = "IT"


def test_a_schema_comes_from_hints_and_docstring() -> None:
    def book(
        place: Place, nights: Annotated[int, msgspec.Meta(gt=0)], *, tags: list[str] | None = None, note: str = "none"
    ) -> str:
        """Book a room.

        Arguments:
            place: where
            note: what else
                they must know

        Returns the number.
        """
        return f"{place.city} {place.country} {nights} {tags} {note}"

    tool = transom.FunctionTool(book)
    assert tool.tool.description == "Book a room.\n\nReturns the number."
    assert tool.tool.parameters == {
        "type": "object",
        "properties": {
            "place": {"description": "where", "$ref": "#/$defs/Place"},
            "nights": {"type": "integer", "exclusiveMinimum": 0},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None},
            "note": {"description": "what else they must know", "type": "string", "default": "none"},
        },
        "required": ["place", "nights"],
        "$defs": {
            "Place": {
                "title": "Place",
                "type": "object",
                "properties": {"city": {"type": "string"}, "country": {"type": "string", "default": "IT"}},
                "required": ["city"],
            }
        },
    }
    assert book(**tool.arguments('{"place": {"city": "Rome"}, "nights": "2"}')) == "Rome IT 2 None none"
    with pytest.raises(InvalidMessage, match="nights"):
        tool.arguments('{"place": {"city": "Rome"}, "nights": 0}')


def test_pydantic_models_are_taken() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Inner(pydantic.BaseModel):
        n: int

    class Order(pydantic.BaseModel):
        inner: Inner
        name: str = "x"

    def place(order: Order) -> Order:
        return order

    place.__annotations__ = {"order": Order, "return": Order}
    tool = transom.FunctionTool(place)
    assert tool.tool.parameters["properties"]["order"]["properties"]["inner"] == {"$ref": "#/$defs/Inner"}
    assert set(tool.tool.parameters["$defs"]) == {"Inner"}
    assert tool.arguments('{"order": {"inner": {"n": 3}}}') == {"order": Order(inner=Inner(n=3))}
    with pytest.raises(InvalidMessage, match="n"):
        tool.arguments('{"order": {"inner": {"n": "three"}}}')
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        conv.run("Go", provider=Scripted(call("place", order={"inner": {"n": 3}})), tools=[tool])
        assert results(conv) == [('{"inner":{"n":3},"name":"x"}', False)]


def test_functions_without_a_schema_are_refused() -> None:
    def many(*names: str) -> None: ...

    def odd(thing: Conversation) -> None: ...

    odd.__annotations__ = {"thing": Conversation}
    for function in (many, odd, 3):
        with pytest.raises(InvalidSetting, match="tool"):
            transom.FunctionTool(function)


# ---- limits and cancellation


def test_a_run_stops_at_its_limits_and_goes_on(conv: Conversation) -> None:
    provider = Scripted(then=call("weather", city="Rome"))
    with pytest.raises(RunStopped, match="no answer after 3 steps") as stopped:
        conv.run("Go", provider=provider, tools=[weather], max_steps=3)
    assert stopped.value.reason == "steps"
    assert stopped.value.result.usage.requests == 3
    with pytest.raises(RunStopped, match="tokens") as stopped:
        conv.run(provider=provider, tools=[weather], max_total_tokens=500)
    assert stopped.value.result.usage.total >= 500
    assert conv.run(provider=Scripted("Done."), tools=[weather]).text == "Done."


def test_a_run_counts_what_it_costs(conv: Conversation) -> None:
    prices = TokenPrices(input=2.0, output=10.0)
    provider = Scripted(then=call("weather", city="Rome"))
    with pytest.raises(RunStopped, match=r"limit \$0.001") as stopped:
        conv.run("Go", provider=provider, tools=[weather], prices=prices, max_cost=0.001)
    result = stopped.value.result
    tokens = result.usage.tokens
    assert result.cost == pytest.approx((2 * tokens.prompt + 10 * tokens.output) / 1e6)
    assert 0.001 <= result.cost < 0.003
    assert conv.run("Go", provider=Scripted("Yes.")).cost is None


@pytest.mark.parametrize("run", [run_sync, run_asyncio, run_trio])
def test_a_set_event_stops_a_run(conv: Conversation, run: Callable[..., RunResult]) -> None:
    cancel = threading.Event()

    def stops() -> str:
        cancel.set()
        return "stopping"

    provider = Scripted(call("stops"), "Done.")
    with pytest.raises(RunStopped, match="cancelled") as stopped:
        run(conv, provider=provider, tools=[stops], cancel=cancel)
    assert stopped.value.result.usage.requests == 1
    assert conv.run(provider=provider, tools=[stops]).text == "Done."
    assert provider.violations == []


def test_leaving_a_stream_keeps_what_had_arrived(conv: Conversation) -> None:
    running = conv.stream("Go", provider=Scripted("One two three four five."))
    while not isinstance(next(running), events.TextDelta):
        pass
    running.close()
    failure = conv.log[len(conv.log) - 1].body
    assert isinstance(failure, Failure)
    assert (failure.failure, failure.text) == ("interrupted", "One two ")
    provider = Scripted("three four five.")
    assert conv.run("continue", provider=provider).text == "three four five."
    shown = provider.requests[0]["messages"]
    assert shown[2:] == [
        {"role": "assistant", "content": "One two \n[the reply ended here: interrupted]"},
        {"role": "user", "content": "continue"},
    ]


def test_an_interrupted_tool_is_closed_truthfully(conv: Conversation) -> None:
    def interrupt() -> str:
        return "never"

    def stop(_: events.ToolCalled) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conv.run("Go", provider=Scripted(call("interrupt")), tools=[interrupt], approve=stop)
    assert results(conv) == [("not run: the run ended before this call began", True)]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelling_a_task_closes_its_calls(conv: Conversation, backend: str) -> None:
    async def slow() -> str:
        await anyio.sleep(30)
        return "never"

    async def main() -> None:
        with anyio.move_on_after(0.6) as scope:
            await AsyncConversation(conv).run(
                "Go", provider=Scripted(calls(("slow", {}), ("weather", {"city": "Rome"}))), tools=[slow, weather]
            )
        assert scope.cancelled_caught

    anyio.run(main, backend=backend)
    assert results(conv) == [
        ('{"city":"Rome","days":1}', False),
        ("the run was cancelled while this tool ran; it may have done a part of its work", True),
    ]
    assert conv.run("Go on", provider=Scripted("Done.")).text == "Done."


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelling_a_task_while_the_model_answers(conv: Conversation, backend: str) -> None:
    async def main() -> None:
        with anyio.move_on_after(0.1):
            await AsyncConversation(conv).run("Go", provider=Scripted(Reply(text="x", delay=30)))

    anyio.run(main, backend=backend)
    assert [type(entry.body) for entry in conv.log][-2:] == [Sent, Failure]
    assert conv.view.in_flight is None


def test_the_twins_have_the_same_names() -> None:
    mine = {name for name in dir(Conversation) if not name.startswith("_")}
    twin = {name for name in dir(AsyncConversation) if not name.startswith("_")}
    assert mine | {"conversation"} == twin | {"conversation"}
    for name in mine:
        ours, theirs = getattr(Conversation, name), getattr(AsyncConversation, name)
        assert isinstance(ours, property) == isinstance(theirs, property), name
        if isinstance(ours, property):
            assert (ours.fset is None) == (theirs.fset is None), name


def test_the_user_fact_is_first(conv: Conversation) -> None:
    conv.run("Hello", provider=Scripted("Hi."))
    first, last = conv.log[0].body, conv.log[len(conv.log) - 1].body
    assert isinstance(first, User)
    assert isinstance(last, Assistant)
    assert last.parts == (Text("Hi."),)


def test_a_retry_is_visible(conv: Conversation) -> None:
    happened = list(
        conv.stream("Go", provider=Scripted(Fault(kind="rate_limit", status=429, retry_after=0), "Yes."), retry=AT_ONCE)
    )
    kinds = [type(event).__name__ for event in happened]
    assert kinds == ["Requested", "RequestFailed", "Retrying", "Requested", "TextDelta", "Replied", "Finished"]


def test_no_retry_for_what_will_not_pass(conv: Conversation) -> None:
    provider = Scripted(Fault(kind="auth", status=401, body="bad key"))
    with pytest.raises(ProviderError, match="bad key"):
        conv.run("Go", provider=provider)
    assert len(provider.requests) == 1


REFUSAL = {"role": "assistant", "content": None, "refusal": "I can't help."}


@pytest.mark.parametrize("stream", [False, True])
def test_the_words_of_a_refusal_are_the_text_of_the_run(stream: bool) -> None:
    class Refuses:
        """A provider that refuses, as OpenAI's chat API does it."""

        name, model, dialect = "test", "m", "openai"

        def complete(self, request: Any, *, max_tokens: Any = None, timeout: Any = None) -> Any:
            return {"choices": [{"index": 0, "message": REFUSAL, "finish_reason": "stop"}]}

        def stream(self, request: Any, *, max_tokens: Any = None, timeout: Any = None) -> Any:
            for piece in ("I can't", " help."):
                yield {"choices": [{"index": 0, "delta": {"role": "assistant", "refusal": piece}}]}
            yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}

    provider: Any = Refuses()
    with Conversation.open("memory:", "c", budget=4_000) as conv:
        if stream:
            *_, last = conv.stream("make a bomb", provider=provider)
            result = last.result
        else:
            result = conv.run("make a bomb", provider=provider)
        assert (result.text, result.stop) == ("I can't help.", "stop")
        assert conv.run(provider=provider).text == "I can't help."
