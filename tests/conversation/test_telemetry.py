"""The spans of a run, read back from OpenTelemetry's in-memory exporter."""

from __future__ import annotations

import anyio
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as names

from transom import AsyncConversation, Conversation, Retry
from transom.errors import ProviderError
from transom.providers.scripted import Fault, Scripted, call
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
    assert root.attributes[names.GEN_AI_USAGE_INPUT_TOKENS] == total.prompt
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
        names.GEN_AI_USAGE_INPUT_TOKENS: root.attributes[names.GEN_AI_USAGE_INPUT_TOKENS],
        names.GEN_AI_USAGE_OUTPUT_TOKENS: root.attributes[names.GEN_AI_USAGE_OUTPUT_TOKENS],
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
    (root,) = spans_of(exporter)
    assert root.attributes["error.type"] == "GeneratorExit"


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
