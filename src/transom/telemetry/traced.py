"""Spans made from the events of a run."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import closing
from typing import Any, Self

from msgspec import Struct

from transom.conversation import events
from transom.conversation.events import Event, RunResult
from transom.core.message import Usage
from transom.extras import imports_of
from transom.telemetry.messages import newest_user_message, reply_message, request_attributes, result_text

with imports_of("telemetry"):
    from opentelemetry import trace
    from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, TracerProvider

_PROVIDERS = {"responses": "openai", "gemini": "gcp.gemini", "mistral": "mistral_ai"}
"""Providers that have another name in the conventions."""

_USAGE = {
    "input_tokens": "prompt",
    "output_tokens": "output",
    "cache_read.input_tokens": "cached",
    "cache_creation.input_tokens": "cache_write",
    "reasoning.output_tokens": "reasoning",
}
_OF_REQUEST = "gen_ai.usage."
_OF_RUN = "gen_ai.aggregated_usage."
"""A run's usage has a name of its own: tools that add up the spans of a trace would count it twice."""

_SETTINGS = ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty", "seed")
"""Settings of a request that the conventions name, `gen_ai.request.…`."""

NANO = 1_000_000_000
"""Nanoseconds in a second."""


def traced(
    run: Generator[Event, None, RunResult],
    *,
    conversation_id: str = "",
    user_id: str = "",
    agent: str = "",
    content: bool = False,
    tracer_provider: TracerProvider | None = None,
) -> Generator[Event, None, RunResult]:
    """Pass on the events of `conv.stream(…)`, record spans for them, and return the run's result as `conv.stream` does.
    The run is closed at the end.

    `conversation_id`, `user_id`: the session and the user under which the spans are found (`gen_ai.conversation.id`,
    `user.id`). `agent`: names the run's span (`invoke_agent NAME`). `content`: also record the system prompt, the
    messages, the schemas of the tools, and the arguments and results of calls: whoever reads the spans reads the
    conversation. `tracer_provider`: None: the global one.

    Nothing happens before the first event is asked for. Read to the end, or close the generator: only then the spans
    end, and the run is closed. An error ends the spans and is raised again. Only its kind is recorded, never its text.
    """
    common = _common(conversation_id, user_id)
    with closing(run), _RunSpans(common, agent, tracer_provider, content=content) as spans:
        while True:
            try:
                event = next(run)
            except StopIteration as done:
                return done.value
            spans.record(event)
            yield event


async def atraced(
    run: AsyncIterator[Event],
    *,
    conversation_id: str = "",
    user_id: str = "",
    agent: str = "",
    content: bool = False,
    tracer_provider: TracerProvider | None = None,
) -> AsyncGenerator[Event, None]:
    """Pass on the events of a run of an `AsyncConversation`, and record spans for them. The arguments, and all that
    `traced` says of spans and errors, are as there; but nothing is returned: the result of the run is in its last
    event, `Finished`. If you stop before that, `await …aclose()`."""
    common = _common(conversation_id, user_id)
    try:
        with _RunSpans(common, agent, tracer_provider, content=content) as spans:
            async for event in run:
                spans.record(event)
                yield event
    finally:
        if isinstance(run, AsyncGenerator):
            await run.aclose()


def _common(conversation_id: str, user_id: str) -> dict[str, str]:
    given = {"gen_ai.conversation.id": conversation_id, "user.id": user_id}
    return {name: value for name, value in given.items() if value}


class _Chat(Struct):
    """The span of the request at work, and what has arrived of its reply.

    Times are nanoseconds since 1970. `since`: when the request began. `first_chunk`: when the first piece of a streamed
    reply came; None until then. `replied`: the reply, once it is there, at the time `replied_at`; the span stays open
    until the calls of the reply are known.
    """

    span: Span
    since: int
    first_chunk: int | None = None
    reasoning: str = ""
    replied: events.Replied | None = None
    replied_at: int = 0


class _RunSpans:
    """The span of a run, and its children. It is a context, with whose block the spans end."""

    def __init__(
        self, common: Mapping[str, str], agent: str, tracer_provider: TracerProvider | None, *, content: bool
    ) -> None:
        self._tracer: Tracer = trace.get_tracer("transom", tracer_provider=tracer_provider)
        self._common, self._content = common, content
        self._chat: _Chat | None = None
        self._calls: dict[tuple[int, int], events.ToolCalled] = {}
        """The calls of the newest reply, by turn and index."""
        self._requests = 0
        name = {"gen_ai.agent.name": agent} if agent else {}
        self._span = self._tracer.start_span(
            f"invoke_agent {agent}".strip(), attributes={"gen_ai.operation.name": "invoke_agent", **common, **name}
        )

    def record(self, event: Event) -> None:
        """Record the next event of the run."""
        now = time.time_ns()
        match event:
            case events.TextDelta() | events.ReasoningDelta() if self._chat is not None:
                self._chat.first_chunk = self._chat.first_chunk or now
                if self._content and isinstance(event, events.ReasoningDelta):
                    self._chat.reasoning += event.text
            case events.Requested():
                self._begin_chat(event, now)
            case events.Replied() if self._chat is not None:
                self._chat.replied, self._chat.replied_at, self._calls = event, now, {}
            case events.ToolCalled():
                self._calls[event.turn, event.index] = event
            case events.ToolReturned():
                self._end_chat()
                self._tool(event, now)
            case events.RequestFailed():
                self._fail_chat(event, now)
            case events.Compacted():
                sizes = {"tokens_before": event.tokens_before, "tokens_after": event.tokens_after}
                made = {"edits": len(event.edits), "summary": event.summary is not None, "degraded": event.degraded}
                self._span.add_event("transom.compacted", {**sizes, **made}, now)
            case events.Finished():
                self._end_chat()
                self._finish(event.result)
            case _:
                pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if error is not None:
            self._fail(error)
        self._end_chat("interrupted")
        self._span.end()

    def _fail(self, error: BaseException) -> None:
        """Note that the run ended with this error: its `kind` or `reason`, else the name of its type. Its text is not
        recorded, as it may quote the conversation. A run that its reader closed (GeneratorExit) has no status of an
        error."""
        kind = str(getattr(error, "kind", None) or getattr(error, "reason", None) or type(error).__name__)
        self._end_chat(kind)
        self._span.set_attribute("error.type", kind)
        if not isinstance(error, GeneratorExit):
            self._span.set_status(Status(StatusCode.ERROR, kind))

    def _start(self, name: str, kind: SpanKind, start: int, attributes: dict[str, Any]) -> Span:
        """Start a child of the run's span."""
        return self._tracer.start_span(
            name,
            context=trace.set_span_in_context(self._span),
            kind=kind,
            attributes={**self._common, **attributes},
            start_time=start,
        )

    # ---- requests

    def _begin_chat(self, event: events.Requested, now: int) -> None:
        """Begin the span of a request."""
        self._end_chat()
        self._requests += 1
        provider, _, name = event.model.partition(":")
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
            "gen_ai.request.model": name,
            **_settings(event),
        }
        if self._content:
            attributes |= request_attributes(event.request)
            if self._requests == 1:
                self._span.set_attribute("gen_ai.input.messages", newest_user_message(event.request))
        self._chat = _Chat(self._start(f"chat {name}", SpanKind.CLIENT, now, attributes), now)

    def _end_chat(self, error: str = "") -> None:
        """End the span of the request at work at the time of its reply, or now with `error` as its `error.type`."""
        chat, self._chat = self._chat, None
        if chat is None:
            return
        if (reply := chat.replied) is None:
            if error:
                chat.span.set_attribute("error.type", error)
            chat.span.end()
            return
        attributes: dict[str, Any] = {
            "gen_ai.response.finish_reasons": (reply.stop,),
            **_usage(reply.usage, _OF_REQUEST),
            **_first_chunk(chat),
        }
        if reply.cost is not None:
            attributes["gen_ai.usage.cost"] = reply.cost
        if self._content:
            calls = [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in self._calls.values()]
            attributes["gen_ai.output.messages"] = reply_message(reply.text, chat.reasoning, calls, reply.stop)
        chat.span.set_attributes(attributes)
        chat.span.end(chat.replied_at)

    def _fail_chat(self, event: events.RequestFailed, now: int) -> None:
        """End the span of a request that has failed."""
        if event.kind == "overflow":
            known = {name: size for name, size in (("limit", event.limit), ("used", event.used)) if size}
            self._span.add_event("transom.overflow", {"model": event.model, **known}, now)
        chat, self._chat = self._chat, None
        if chat is None:
            return
        chat.span.set_attributes({"error.type": event.kind, **_usage(event.usage, _OF_REQUEST), **_first_chunk(chat)})
        if event.cost is not None:
            chat.span.set_attribute("gen_ai.usage.cost", event.cost)
        if self._content and event.text:
            chat.span.set_attribute("gen_ai.output.messages", reply_message(event.text, chat.reasoning, (), "error"))
        chat.span.set_status(Status(StatusCode.ERROR, event.kind))
        chat.span.end(now)

    def _finish(self, result: RunResult) -> None:
        """Record on the run's span what the run came to."""
        self._span.set_attributes(_usage(result.usage.tokens, _OF_RUN))
        if result.cost is not None:
            self._span.set_attribute("transom.run.cost", result.cost)
        if self._content:
            self._span.set_attribute("gen_ai.output.messages", reply_message(result.text, "", (), result.stop))

    # ---- tools

    def _tool(self, event: events.ToolReturned, now: int) -> None:
        """Record the span of a tool call that has returned."""
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.name,
            "gen_ai.tool.call.id": event.id,
            "gen_ai.tool.type": "function",
        }
        if self._content:
            called = self._calls.get((event.turn, event.index))
            attributes["gen_ai.tool.call.arguments"] = "" if called is None else called.arguments
            attributes["gen_ai.tool.call.result"] = result_text(event.content)
        start = now - int((event.duration or 0.0) * NANO)
        span = self._start(f"execute_tool {event.name}", SpanKind.INTERNAL, start, attributes)
        if event.failed:
            span.set_attribute("error.type", "tool_error")
            span.set_status(Status(StatusCode.ERROR))
        span.end(now)


def _usage(usage: Usage | None, prefix: str) -> dict[str, Any]:
    """The attributes for a usage, with this prefix before their names. Counts of 0 and unreported ones are left out."""
    if usage is None:
        return {}
    return {f"{prefix}{name}": value for name, field in _USAGE.items() if (value := getattr(usage, field))}


def _settings(event: events.Requested) -> dict[str, Any]:
    """The settings of a request that the conventions name. Gemini's are in `config`."""
    config: Any = event.settings.get("config")
    given: dict[str, Any] = {**event.settings, **(config if isinstance(config, Mapping) else {})}
    found: dict[str, Any] = {
        f"gen_ai.request.{name}": given[name] for name in _SETTINGS if isinstance(given.get(name), (int, float))
    }
    if event.max_tokens is not None:
        found["gen_ai.request.max_tokens"] = event.max_tokens
    if event.stream:
        found["gen_ai.request.stream"] = True
    return found


def _first_chunk(chat: _Chat) -> dict[str, Any]:
    if chat.first_chunk is None:
        return {}
    return {"gen_ai.response.time_to_first_chunk": (chat.first_chunk - chat.since) / NANO}
