"""OpenTelemetry spans of a run, named by the semantic conventions for generative AI. Needs `transom[telemetry]`.

    for event in traced(conv.stream("Find me a flight", provider=…), conversation_id="trip"):
        …

A run is one span, with a child for each request and for each tool call. They contain no text of the conversation. The
spans are made from the run's events, so they begin and end when the events come. Spans that a tool makes itself are not
children of them.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, TracerProvider

from transom.conversation import events
from transom.conversation.events import Event, RunResult
from transom.core.message import Usage

__all__ = ["atraced", "traced"]

_PROVIDERS = {"responses": "openai", "gemini": "gcp.gemini"}
"""Providers that have another name in the conventions."""

_USAGE = {
    "gen_ai.usage.input_tokens": "prompt",
    "gen_ai.usage.output_tokens": "output",
    "gen_ai.usage.cache_read.input_tokens": "cached",
    "gen_ai.usage.cache_creation.input_tokens": "cache_write",
    "gen_ai.usage.reasoning.output_tokens": "reasoning",
}

NANO = 1_000_000_000
"""Nanoseconds in a second."""


def traced(
    run: Generator[Event, None, RunResult],
    *,
    conversation_id: str = "",
    agent: str = "",
    tracer_provider: TracerProvider | None = None,
) -> Generator[Event, None, RunResult]:
    """Pass on the events of `conv.stream(…)`, and record spans for them.

    `agent`: the name of the run's span. `tracer_provider`: None: the global one.
    """
    spans = _RunSpans(conversation_id, agent, tracer_provider)
    try:
        while True:
            try:
                event = next(run)
            except StopIteration as done:
                return done.value
            spans.record(event)
            yield event
    except BaseException as error:
        spans.fail(error)
        raise
    finally:
        spans.end()
        run.close()


async def atraced(
    run: AsyncIterator[Event],
    *,
    conversation_id: str = "",
    agent: str = "",
    tracer_provider: TracerProvider | None = None,
) -> AsyncGenerator[Event, None]:
    """Pass on the events of a run of an `AsyncConversation`, and record spans for them. The arguments are as in
    `traced`."""
    spans = _RunSpans(conversation_id, agent, tracer_provider)
    try:
        async for event in run:
            spans.record(event)
            yield event
    except BaseException as error:
        spans.fail(error)
        raise
    finally:
        spans.end()
        if isinstance(run, AsyncGenerator):
            await run.aclose()


class _RunSpans:
    """The span of a run, and its children."""

    def __init__(self, conversation_id: str, agent: str, tracer_provider: TracerProvider | None) -> None:
        self._tracer: Tracer = trace.get_tracer("transom", tracer_provider=tracer_provider)
        self._common = {"gen_ai.conversation.id": conversation_id} if conversation_id else {}
        name = {"gen_ai.agent.name": agent} if agent else {}
        self._since = time.time_ns()
        self._first_chunk: int | None = None
        self._span = self._tracer.start_span(
            f"invoke_agent {agent}".strip(),
            attributes={"gen_ai.operation.name": "invoke_agent", **self._common, **name},
            start_time=self._since,
        )

    def record(self, event: Event) -> None:
        """Record the next event of the run."""
        now = time.time_ns()
        match event:
            case events.TextDelta() | events.ReasoningDelta():
                self._first_chunk = self._first_chunk or now
                return  # the request goes on
            case events.Replied():
                attributes = {"gen_ai.response.finish_reasons": (event.stop,), **_usage(event.usage)}
                self._request(event.model, now, attributes).end(now)
            case events.RequestFailed():
                span = self._request(event.model, now, {"error.type": event.kind})
                span.set_status(Status(StatusCode.ERROR, event.kind))
                span.end(now)
            case events.ToolReturned():
                self._tool(event, now)
            case events.Compacted():
                sizes = {"tokens_before": event.tokens_before, "tokens_after": event.tokens_after}
                self._span.add_event("transom.compacted", {**sizes, "edits": len(event.edits)}, now)
            case events.Finished():
                self._span.set_attributes(_usage(event.result.usage.tokens))
            case events.Retrying():
                now += int(event.wait * NANO)
            case _:
                pass
        self._since, self._first_chunk = now, None

    def fail(self, error: BaseException) -> None:
        """Note that the run ended with this error. Only its type is recorded: its text may quote the conversation."""
        kind = getattr(error, "kind", None) or getattr(error, "reason", None) or type(error).__name__
        self._span.set_attribute("error.type", str(kind))
        if not isinstance(error, GeneratorExit):
            self._span.set_status(Status(StatusCode.ERROR, str(kind)))

    def end(self) -> None:
        """End the span of the run."""
        self._span.end()

    def _start(self, name: str, kind: SpanKind, start: int, attributes: dict[str, Any]) -> Span:
        """Start a child of the run's span."""
        return self._tracer.start_span(
            name,
            context=trace.set_span_in_context(self._span),
            kind=kind,
            attributes={**self._common, **attributes},
            start_time=start,
        )

    def _request(self, model: str, now: int, attributes: dict[str, Any]) -> Span:
        """The span of a request that ends now. It began when the event before it came."""
        provider, _, name = model.partition(":")
        common = {"gen_ai.operation.name": "chat", "gen_ai.request.model": name}
        common["gen_ai.provider.name"] = _PROVIDERS.get(provider, provider)
        if self._first_chunk is not None:
            attributes["gen_ai.response.time_to_first_chunk"] = (self._first_chunk - self._since) / NANO
        return self._start(f"chat {name}", SpanKind.CLIENT, min(self._since, now), {**common, **attributes})

    def _tool(self, event: events.ToolReturned, now: int) -> None:
        """Record the span of a tool call that has returned."""
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.name,
            "gen_ai.tool.call.id": event.id,
            "gen_ai.tool.type": "function",
        }
        start = now - int((event.duration or 0.0) * NANO)
        span = self._start(f"execute_tool {event.name}", SpanKind.INTERNAL, start, attributes)
        if event.failed:
            span.set_attribute("error.type", "tool_error")
            span.set_status(Status(StatusCode.ERROR))
        span.end(now)


def _usage(usage: Usage | None) -> dict[str, Any]:
    """The attributes for a usage."""
    if usage is None:
        return {}
    return {name: value for name, field in _USAGE.items() if (value := getattr(usage, field))}
