"""Traces of model calls: runs of LangSmith, traces of Langfuse, spans by the conventions of OpenInference and
OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from transom.core.message import Raw
from transom.importers.formats.chat_builder import parsed_text
from transom.importers.formats.containers import Container, ConversationBody
from transom.importers.formats.exchanges import exchange, request_messages, said_in
from transom.importers.formats.shapes import found
from transom.wire.chat_json import chat_call, chat_media
from transom.wire.fields import as_dict, objects_in, text


def _langsmith(value: Raw) -> Iterator[ConversationBody]:
    """Yield the model calls of a run and of the runs in it; the run itself if it has none."""
    calls = [run for run in _runs(value, "child_runs") if text(run, "run_type") in {"llm", "chat_model", "prompt"}]
    for run in calls or [value]:
        tools = found(run, ("inputs.tools", "extra.invocation_params.tools"))
        yield exchange(run.get("inputs"), run.get("outputs"), text(run, "id"), tools)


def _runs(value: Raw, key: str) -> Iterator[Raw]:
    stack = [value]
    while stack:
        run = stack.pop()
        yield run
        stack += objects_in(run.get(key))[::-1]


def _langfuse(value: Raw) -> Iterator[ConversationBody]:
    """Yield the generations of a trace; the trace itself if it has none."""
    seen = objects_in(value.get("observations")) or [value]
    calls = [each for each in seen if text(each, "type") == "GENERATION"]
    for each in calls or [value]:
        yield exchange(each.get("input"), each.get("output"), text(each, "id"))


def _is_langfuse(value: Raw) -> bool:
    held = objects_in(value.get("observations"))
    return "input" in value and (
        ("traceId" in value and "type" in value)
        or ("trace_id" in value and text(value, "type").isupper() and "run_type" not in value)
        or any("traceId" in each for each in held)
    )


def _span(value: Raw) -> Iterator[ConversationBody]:
    """Yield the model call that a span is: by the conventions of OpenInference or those of OpenTelemetry."""
    held = _attributes(value)
    asked, replied = found(held, "llm.input_messages"), found(held, "llm.output_messages")
    if asked or replied:
        said = [*_listed(asked), *_listed(replied)]
        messages = [_open_inference(found(each, "message") or each) for each in said]
        yield ConversationBody(id=_span_id(value), messages=messages, format="openai", tools=_span_tools(held))
        return
    asked, replied = found(held, "gen_ai.input.messages"), found(held, "gen_ai.output.messages")
    system = parsed_text(found(held, "gen_ai.system_instructions"))
    if asked or replied:
        said = [*_listed(parsed_text(asked)), *_listed(parsed_text(replied))]
        first: list[Any] = [{"role": "system", "parts": system}] if objects_in(system) else []
        yield ConversationBody(id=_span_id(value), messages=[*first, *said], format="otel")
        return
    asked, replied = found(held, "input.value"), found(held, "output.value")
    yield exchange(asked, replied, _span_id(value))


def _span_texts(value: Raw) -> object:
    held = _attributes(value)
    keys = ("input_messages", "output_messages")
    said = [found(held, f"llm.{key}") for key in keys]
    said += [found(held, f"gen_ai.{key}") for key in ("input.messages", "output.messages", "system_instructions")]
    return said if any(said) else [request_messages(found(held, "input.value")), found(held, "output.value")]


def _span_id(value: Raw) -> str:
    return str(found(value, ("context.span_id", "spanId", "span_id", "id")) or "")


def _is_span(value: Raw) -> bool:
    held = _attributes(value)
    kind = found(held, "openinference.span.kind")
    asked = found(
        held, ("llm.input_messages", "llm.output_messages", "gen_ai.input.messages", "gen_ai.output.messages")
    )
    return bool(asked) or kind == "LLM"


def _model_spans(value: Raw) -> list[Raw]:
    """Return the spans of model calls in what an OpenTelemetry exporter writes."""
    resources = objects_in(value.get("resourceSpans"))
    scopes = (scope for each in resources for scope in objects_in(each.get("scopeSpans")))
    return [span for scope in scopes for span in objects_in(scope.get("spans")) if _is_span(span)]


def _attributes(value: Raw) -> Raw:
    """Return the attributes of a span as nested objects. They may be nested already, have keys with dots, or be the
    list of keys and values of OTLP."""
    given = parsed_text(value.get("attributes"))
    flat: Raw = {key.removeprefix("attributes."): each for key, each in value.items() if key.startswith("attributes.")}
    for each in objects_in(given):
        held = as_dict(each.get("value"))
        flat[text(each, "key")] = next(iter(held.values()), None)
    flat |= as_dict(given)
    out: Raw = {}
    for key, each in flat.items():
        *path, last = key.split(".")
        at: Any = out
        for step in path:
            at = at.setdefault(step, {}) if isinstance(at.get(step, {}), dict) else {}
        known = at.get(last)
        both = isinstance(known, dict) and isinstance(each, dict)
        at[last] = {**cast("Raw", known), **cast("Raw", each)} if both else each
    return out


def _listed(value: object) -> list[Any]:
    """Return the items of a list, which may also be an object whose keys are the positions, or JSON. Any other object
    is the only item; any other value gives none."""
    value = parsed_text(value)
    if isinstance(value, list):
        return cast("list[Any]", value)
    fields = as_dict(value)
    if fields and all(key.isdecimal() for key in fields):
        return [fields[key] for key in sorted(fields, key=int)]
    return [fields] if fields else []


def _open_inference(value: object) -> Raw:
    """Translate a message of OpenInference, whose keys may have dots, to an OpenAI Chat message."""
    fields = _attributes({"attributes": {key.removeprefix("message."): each for key, each in as_dict(value).items()}})
    parts = [_nested(each, "message_content") for each in _listed(fields.get("contents"))]
    calls = [_nested(each, "tool_call") for each in _listed(fields.get("tool_calls"))]
    out: Raw = {"role": text(fields, "role") or "assistant", "content": fields.get("content")}
    if parts and not out["content"]:
        links = ((part, found(part, "image.image.url")) for part in parts)
        out["content"] = [
            chat_media("image", link) if link else {"type": "text", "text": text(part, "text")} for part, link in links
        ]
    if calls:
        out["tool_calls"] = [
            chat_call(
                text(each, "id") or f"call_{number}",
                str(found(each, "function.name") or ""),
                str(found(each, "function.arguments") or "{}"),
            )
            for number, each in enumerate(calls, start=1)
        ]
    if out["role"] == "tool":
        out["tool_call_id"] = text(fields, "tool_call_id")
    if out["content"] is None and not calls:
        out["content"] = ""
    return out


def _nested(value: object, prefix: str) -> Raw:
    """Return the fields of an item as nested objects, without the name of the item (`prefix`) before each."""
    held = {key.removeprefix(f"{prefix}."): each for key, each in as_dict(value).items()}
    fields = _attributes({"attributes": held})
    return as_dict(fields.get(prefix)) or fields


def _span_tools(held: Raw) -> list[Any] | None:
    schemas = [
        parsed_text(found(each, ("tool.json_schema", "json_schema"))) for each in _listed(found(held, "llm.tools"))
    ]
    return [each for each in schemas if isinstance(each, dict)] or None


TRACES = (
    Container(
        name="langsmith",
        title="LangSmith runs",
        is_one=lambda value: {"run_type", "inputs"} <= value.keys(),
        bodies=_langsmith,
        texts=lambda value: [[run.get("inputs"), said_in(run.get("outputs"))] for run in _runs(value, "child_runs")],
    ),
    Container(
        name="langfuse",
        title="Langfuse traces",
        is_one=_is_langfuse,
        bodies=_langfuse,
        texts=lambda value: [[each.get("input"), said_in(each.get("output"))] for each in _runs(value, "observations")],
    ),
    Container(name="otel", is_one=_is_span, bodies=_span, texts=_span_texts),
    Container(
        name="otel",
        is_one=lambda value: bool(_model_spans(value)),
        bodies=lambda value: [body for span in _model_spans(value) for body in _span(span)],
        texts=lambda value: [_span_texts(span) for span in _model_spans(value)],
    ),
)
