"""The spans of a run, read back from OpenTelemetry's in-memory exporter."""

from __future__ import annotations

import json

import anyio
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as names

from transom import AsyncConversation, Conversation, Retry
from transom.errors import ProviderError
from transom.providers.model_prices import TokenPrices
from transom.providers.scripted import Fault, Reply, Scripted, ScriptedCall, call
from transom.telemetry import atraced, traced

SECRET = "the-word-of-the-user"


def weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError(city)
    return f"Clear, {SECRET}"


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def tracing(exporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


def spans_of(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    return list(exporter.get_finished_spans())


def script() -> Scripted:
    return Scripted(
        Fault(kind="server", status=500),
        call("weather", city="Lisbon"),
        call("weather", city="Atlantis"),
        "It is clear.",
    )


def test_a_run_is_a_span_with_its_requests_and_tool_calls_below_it(exporter, tracing):
    settings = {"provider": script(), "tools": [weather], "retry": Retry(wait=0)}
    with Conversation.open("memory:", "trip", budget=10_000) as conv:
        run = traced(
            conv.stream(f"Say {SECRET}.", **settings), conversation_id="trip", agent="guide", tracer_provider=tracing
        )
        *_, last = run
    spans = spans_of(exporter)
    assert [span.name for span in spans] == [
        "chat scripted",
        "chat scripted",
        "execute_tool weather",
        "chat scripted",
        "execute_tool weather",
        "chat scripted",
        "invoke_agent guide",
    ]
    root = spans[-1]
    assert all(span.parent.span_id == root.context.span_id for span in spans[:-1])
    assert all(span.attributes[names.GEN_AI_CONVERSATION_ID] == "trip" for span in spans)
    assert all(root.start_time <= span.start_time <= span.end_time <= root.end_time for span in spans)
    assert [span.status.is_ok for span in spans] == [False, True, True, True, False, True, True]
    assert spans[0].attributes["error.type"] == "server"
    assert spans[4].attributes["error.type"] == "tool_error"
    total = last.result.usage.tokens
    assert root.attributes["gen_ai.aggregated_usage.input_tokens"] == total.prompt
    assert not [name for name in root.attributes if name.startswith("gen_ai.usage.")]  # it would count twice
    assert sum(span.attributes.get(names.GEN_AI_USAGE_OUTPUT_TOKENS, 0) for span in spans[:-1]) == total.output
    assert SECRET not in "".join(span.to_json() for span in spans)


def test_a_request_has_the_attributes_of_the_conventions(exporter, tracing):
    with Conversation.open("memory:", "trip", budget=10_000) as conv:
        list(traced(conv.stream("Go", provider=Scripted("Yes.", model="m-1")), tracer_provider=tracing))
    chat, root = spans_of(exporter)
    assert root.name == "invoke_agent"
    first = chat.attributes[names.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK]
    assert 0 <= first < 10
    assert dict(chat.attributes) == {
        names.GEN_AI_OPERATION_NAME: "chat",
        names.GEN_AI_PROVIDER_NAME: "scripted",
        names.GEN_AI_REQUEST_MODEL: "m-1",
        names.GEN_AI_RESPONSE_FINISH_REASONS: ("stop",),
        "gen_ai.request.stream": True,
        names.GEN_AI_USAGE_INPUT_TOKENS: root.attributes["gen_ai.aggregated_usage.input_tokens"],
        names.GEN_AI_USAGE_OUTPUT_TOKENS: root.attributes["gen_ai.aggregated_usage.output_tokens"],
        names.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK: first,
    }


def test_a_run_that_fails_is_an_error_of_its_kind(exporter, tracing):
    failing = Scripted(then=Fault(kind="auth", status=401, body=SECRET))
    with Conversation.open("memory:", "trip", budget=10_000) as conv, pytest.raises(ProviderError):
        list(traced(conv.stream("Go", provider=failing), tracer_provider=tracing))
    chat, root = spans_of(exporter)
    assert [chat.attributes["error.type"], root.attributes["error.type"]] == ["auth", "auth"]
    assert not root.status.is_ok
    assert SECRET not in chat.to_json() + root.to_json()


def test_leaving_the_loop_early_ends_the_run_and_its_span(exporter, tracing):
    with Conversation.open("memory:", "trip", budget=10_000) as conv:
        run = traced(conv.stream("Go", provider=Scripted("A long answer, in many pieces.")), tracer_provider=tracing)
        next(run)
        run.close()
        assert conv.view.in_flight is None
    chat, root = spans_of(exporter)
    assert chat.attributes["error.type"] == root.attributes["error.type"] == "GeneratorExit"


def test_an_async_run_has_the_same_spans(exporter, tracing):
    async def go() -> None:
        conv = await AsyncConversation.open("memory:", "trip", budget=10_000)
        async for _ in atraced(
            conv.stream("Go", provider=script(), tools=[weather], retry=Retry(wait=0)), tracer_provider=tracing
        ):
            pass

    anyio.run(go)
    assert [span.name for span in spans_of(exporter)].count("chat scripted") == 4
    assert spans_of(exporter)[-1].name == "invoke_agent"


def test_content_is_what_the_model_read_and_said_in_the_form_of_the_conventions(exporter, tracing):
    looking = Reply(reasoning="Look it up.", calls=(ScriptedCall("weather", '{"city": "Lisbon"}'),))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    with Conversation.open("memory:", "trip", budget=10_000, system="Be brief.") as conv:
        run = conv.stream(
            [{"type": "text", "text": "The weather?"}, image],
            provider=Scripted(looking, "Clear."),
            tools=[weather],
            readback=False,
            settings={"temperature": 0.5},
            max_tokens=99,
        )
        list(traced(run, user_id="ann", content=True, tracer_provider=tracing))
    first, tool, second, root = spans_of(exporter)
    call_id = tool.attributes["gen_ai.tool.call.id"]
    asked = [
        {"type": "text", "content": "The weather?"},
        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "iVBORw0KGgo="},
    ]
    called = {"type": "tool_call", "id": call_id, "name": "weather", "arguments": {"city": "Lisbon"}}
    answered = {"type": "tool_call_response", "id": call_id, "response": f"Clear, {SECRET}"}
    assert json.loads(first.attributes[names.GEN_AI_SYSTEM_INSTRUCTIONS]) == [{"type": "text", "content": "Be brief."}]
    assert json.loads(first.attributes[names.GEN_AI_INPUT_MESSAGES]) == [{"role": "user", "parts": asked}]
    assert json.loads(first.attributes[names.GEN_AI_OUTPUT_MESSAGES]) == [
        {
            "role": "assistant",
            "parts": [{"type": "reasoning", "content": "Look it up."}, called],
            "finish_reason": "tool_call",
        }
    ]
    (definition,) = json.loads(first.attributes[names.GEN_AI_TOOL_DEFINITIONS])
    assert (definition["type"], definition["name"], definition["parameters"]["required"]) == (
        "function",
        "weather",
        ["city"],
    )
    assert (first.attributes["gen_ai.request.temperature"], first.attributes["gen_ai.request.max_tokens"]) == (0.5, 99)
    assert json.loads(tool.attributes["gen_ai.tool.call.arguments"]) == {"city": "Lisbon"}
    assert tool.attributes["gen_ai.tool.call.result"] == f"Clear, {SECRET}"
    assert json.loads(second.attributes[names.GEN_AI_INPUT_MESSAGES]) == [
        {"role": "user", "parts": asked},
        {"role": "assistant", "parts": [called]},
        {"role": "tool", "parts": [answered]},
    ]
    assert json.loads(root.attributes[names.GEN_AI_INPUT_MESSAGES]) == [{"role": "user", "parts": asked}]
    assert json.loads(root.attributes[names.GEN_AI_OUTPUT_MESSAGES])[0]["parts"] == [
        {"type": "text", "content": "Clear."}
    ]
    assert {span.attributes["user.id"] for span in (first, tool, second, root)} == {"ann"}


def test_what_requests_cost_adds_up_to_what_the_run_cost(exporter, tracing):
    prices = TokenPrices(input=3, output=15)
    with Conversation.open("memory:", "trip", budget=10_000) as conv:
        run = conv.stream("Go", provider=script(), tools=[weather], retry=Retry(wait=0), prices=prices)
        list(traced(run, tracer_provider=tracing))
        cost = conv.usage.cost
    *spans, root = spans_of(exporter)
    assert cost > 0
    assert sum(span.attributes.get("gen_ai.usage.cost", 0) for span in spans) == pytest.approx(cost)
    assert root.attributes["transom.run.cost"] == pytest.approx(cost)


def test_compactions_and_overflows_are_events_of_the_run(exporter, tracing):
    words = "This model's maximum context length is 4000 tokens. However, your messages resulted in 6000 tokens."
    with Conversation.open("memory:", "trip", budget=100_000) as conv:
        for turn in range(60):
            conv.user(f"Wish {turn}: " + "a room with a view of the harbour " * 10)
            conv.observe({"role": "assistant", "content": f"Noted {turn}."})
        provider = Scripted(Fault(kind="bad_request", status=400, body=words), "Done.")
        list(traced(conv.stream("Go", provider=provider), tracer_provider=tracing))
        limit = conv.view.learned_limits["scripted:scripted"]
    root = spans_of(exporter)[-1]
    overflow, compacted = root.events
    assert (overflow.name, dict(overflow.attributes)) == (
        "transom.overflow",
        {"model": "scripted:scripted", "limit": limit, "used": 6_000},
    )
    assert compacted.name == "transom.compacted"
    assert compacted.attributes["tokens_after"] <= limit < compacted.attributes["tokens_before"]


def test_a_text_that_utf8_does_not_have_is_recorded(exporter, tracing):
    with Conversation.open("memory:", "trip", budget=10_000) as conv:
        list(traced(conv.stream("Go \ud800", provider=Scripted("Yes.")), content=True, tracer_provider=tracing))
    chat, _ = spans_of(exporter)
    assert json.loads(chat.attributes[names.GEN_AI_INPUT_MESSAGES])[0]["parts"][0]["content"].startswith("Go ")
