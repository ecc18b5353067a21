"""Opens files in which conversations lie within other things: exports of programs, logs of evaluations, traces,
replies.

A container is recognised by its keys. It is opened into bodies. The messages of each body are then read as if they
stood in a file of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from msgspec import Struct

from transom.core.message import Raw
from transom.importers.formats.chat_exports import chatgpt_messages, chatgpt_path, claude_ai_path
from transom.importers.formats.openhands import OPENHANDS, is_event
from transom.importers.formats.pieces import parsed_text
from transom.importers.formats.shapes import found
from transom.importers.formats.unread import unread_format
from transom.wire.fields import as_dict, as_items, first_of, objects_in, text


class Body(Struct, frozen=True, kw_only=True):
    """A conversation in a container.

    `id`: its own id, or empty. `messages`: in the format that `format` names; if that is empty, they are recognised.
    `system` and `tools`: as in the body of a request. `notes`: what of the conversation is left out, a line each.
    """

    id: str = ""
    messages: list[Any]
    format: str = ""
    system: Any = None
    tools: Any = None
    notes: tuple[str, ...] = ()


class Container(Struct, frozen=True, kw_only=True):
    """A kind of file that holds conversations within other things.

    `name` and `title`: as in `Format`. If the name is empty, a conversation has the format of its messages. `is_one`:
    true for a value of this kind, by its keys; `bodies`: the conversations in it. `texts`: the parts of the value that
    hold what was said; they are compared with the messages, to report what was left out. `labels`: keys in these parts
    under which there are no texts.
    """

    name: str = ""
    title: str = ""
    is_one: Callable[[Raw], bool]
    bodies: Callable[[Raw], Iterable[Body]]
    texts: Callable[[Raw], object]
    labels: frozenset[str] = frozenset()


def _branches(left_out: int) -> tuple[str, ...]:
    if not left_out:
        return ()
    return (f"left out {'1 message' if left_out == 1 else f'{left_out:,} messages'} of branches that were taken back",)


# ---- exports of chats


def _chatgpt(value: Raw) -> Iterator[Body]:
    path = chatgpt_path(value)
    yield Body(
        id=text(value, "conversation_id") or text(value, "id"),
        messages=list(chatgpt_messages(path.messages)),
        format="openai",
        notes=_branches(path.left_out),
    )


def _claude_ai(value: Raw) -> Iterator[Body]:
    path = claude_ai_path(value)
    yield Body(id=text(value, "uuid"), messages=path.messages, format="claude_ai", notes=_branches(path.left_out))


# ---- lists of messages under a key of their own


def _under(key: str, name: str, label: str = "id") -> Callable[[Raw], Iterator[Body]]:
    """Make the `bodies` of a container that has one list of messages, under `key`.

    `name`: the format of the messages; `label`: the key of the conversation's id.
    """

    def bodies(value: Raw) -> Iterator[Body]:
        listed = cast("list[Any]", value[key])
        yield Body(
            id=text(value, label), messages=listed, format=name, system=value.get("system"), tools=value.get("tools")
        )

    return bodies


def _turns(value: Raw) -> list[Any]:
    return next(
        cast("list[Any]", value[key]) for key in ("conversations", "conversation") if objects_in(value.get(key))
    )


def _sharegpt(value: Raw) -> Iterator[Body]:
    tools = parsed_text(value.get("tools"))
    yield Body(
        id=text(value, "id"),
        messages=_turns(value),
        format="sharegpt",
        system=value.get("system"),
        tools=tools if isinstance(tools, list) else None,
    )


def _has_turns(value: Raw) -> bool:
    turns = [*objects_in(value.get("conversations")), *objects_in(value.get("conversation"))]
    return bool(turns) and all({"from", "value"} <= turn.keys() for turn in turns)


def _llama_index(value: Raw) -> Iterator[Body]:
    store = found(value, ("store", "chat_store.store"))
    for key, listed in as_dict(store).items():
        if isinstance(listed, list):
            yield Body(id=key, messages=cast("list[Any]", listed), format="llama_index")


def _openhands(value: Raw) -> Iterator[Body]:
    key = next(key for key in ("history", "trajectory", "items", "events") if isinstance(value.get(key), list))
    listed = cast("list[Any]", value[key])
    flat = [event for each in listed for event in as_items(each)]
    yield Body(id=text(value, "instance_id") or text(value, "id"), messages=flat, format="openhands")


def _has_events(value: Raw) -> bool:
    for key in ("history", "trajectory", "items", "events"):
        listed = value.get(key)
        first = next(iter(as_items(listed)), None)
        if is_event(next(iter(as_items(first)), None)):
            return True
    return False


def _adk(value: Raw) -> Iterator[Body]:
    """Yield the conversation of a session of Google ADK: each of its events has a content of Gemini."""
    events = objects_in(value["events"])
    contents = [each["content"] for each in events if as_dict(each.get("content"))]
    yield Body(id=text(value, "id"), messages=contents, format="gemini")


def _is_adk(value: Raw) -> bool:
    events = objects_in(value.get("events"))
    return bool(events) and all("author" in each for each in events) and any("content" in each for each in events)


def _atif(value: Raw) -> Iterator[Body]:
    yield Body(id=text(value, "session_id"), messages=cast("list[Any]", value["steps"]), format="atif")


# ---- logs of Inspect

_ATTACHED = "attachment://"


def _inspect(value: Raw) -> Iterator[Body]:
    samples = objects_in(value.get("samples")) if "samples" in value else [value]
    for sample in samples:
        attached = as_dict(sample.get("attachments"))
        messages = _resolved(sample.get("messages"), attached) or _resolved(sample.get("input"), attached)
        listed = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages or []
        label, epoch = sample.get("id"), sample.get("epoch")
        name = f"{label}" if label is not None else ""
        yield Body(
            id=f"{name}-{epoch}" if name and isinstance(epoch, int) and epoch > 1 else name,
            messages=cast("list[Any]", listed),
            format="inspect",
        )


def _resolved(value: object, attached: Raw) -> Any:
    """Return a copy of a value with each reference `attachment://HASH` replaced by the long text that Inspect keeps
    apart under it. A reference to no text stays."""
    if isinstance(value, str):
        held = attached.get(value.removeprefix(_ATTACHED)) if value.startswith(_ATTACHED) else None
        return held if isinstance(held, str) else value
    if isinstance(value, list):
        return [_resolved(each, attached) for each in cast("list[object]", value)]
    if isinstance(value, dict):
        return {key: _resolved(each, attached) for key, each in cast("Raw", value).items()}
    return value


# ---- replies, and exchanges of a request and its reply


def reply_messages(value: object) -> list[Any]:
    """Return the messages in what a model answered, which may be a reply of any API, a message, a list of messages or a
    text, or the JSON of one of these. Of a reply with several answers the first is taken. Empty if there is none."""
    value = parsed_text(value)
    if isinstance(value, str):
        return [{"role": "assistant", "content": value}] if value else []
    if isinstance(value, list):
        listed = cast("list[Any]", value)
        if len(listed) == 1 and isinstance(listed[0], list):
            return reply_messages(cast("object", listed[0]))
        return [found(each, "message") or each for each in listed if as_dict(each)]
    fields = as_dict(value)
    if isinstance(fields.get("choices"), list):
        first = first_of(fields["choices"])
        return [first["message"]] if as_dict(first.get("message")) else []
    if isinstance(fields.get("candidates"), list):
        first = first_of(fields["candidates"])
        return [first["content"]] if as_dict(first.get("content")) else []
    if isinstance(fields.get("generations"), list):
        listed = cast("list[Any]", fields["generations"])
        first = first_of(next(iter(listed), None)) or first_of(cast("list[object]", listed))
        return [first["message"]] if as_dict(first.get("message")) else reply_messages(first.get("text") or "")
    if fields.get("role") or fields.get("type") in {"ai", "AIMessage", "constructor"} or "lc" in fields:
        return [{key: fields[key] for key in ("role", "content")} if _is_reply_of_anthropic(fields) else fields]
    for key in ("messages", "output", "message", "content", "response", "answer", "text"):
        if fields.get(key):
            return reply_messages(fields[key])
    return []


def _is_reply_of_anthropic(fields: Raw) -> bool:
    return fields.get("type") == "message" and "stop_reason" in fields and isinstance(fields.get("content"), list)


def request_messages(value: object) -> list[Any]:
    """Return the messages in what a model was asked, which may be a body of any API, a message, a list of messages or a
    text, or the JSON of one of these. Empty if there is none."""
    value = parsed_text(value)
    if isinstance(value, str):
        return [{"role": "user", "content": value}] if value else []
    if isinstance(value, list):
        listed = cast("list[Any]", value)
        return cast("list[Any]", listed[0]) if len(listed) == 1 and isinstance(listed[0], list) else listed
    fields = as_dict(value)
    for key in ("messages", "contents", "input", "prompt", "question", "query", "text"):
        if fields.get(key):
            return request_messages(fields[key])
    return [fields] if "role" in fields and "content" in fields else []


def _asked(value: object) -> Raw:
    """Return the body of a request; an empty object for a value that is no object."""
    return as_dict(parsed_text(value))


def _exchange(asked: object, replied: object, label: str = "", tools: object = None) -> Body:
    """Make the conversation of a request and its reply. `label`: its id; `tools`: those of a request that has none."""
    body = _asked(asked)
    keys = ("system", "instructions", "systemInstruction", "system_instruction")
    return Body(
        id=label,
        messages=[*request_messages(asked), *reply_messages(replied)],
        system=next((body[key] for key in keys if body.get(key)), None),
        tools=body.get("tools") or tools,
    )


_REPLY_KEYS = ("choices", "candidates", "generations", "output", "messages", "content")


def _said_in(replied: object) -> object:
    """Return the parts of a reply that hold what the model said; the whole reply if no key of it is known."""
    value = parsed_text(replied)
    fields = as_dict(value)
    return [fields[key] for key in _REPLY_KEYS if fields.get(key)] or value


def _is_reply(value: Raw) -> bool:
    if value.get("object") == "response" or text(value, "object").startswith("chat.completion"):
        return isinstance(value.get("output"), list) or isinstance(value.get("choices"), list)
    gemini = isinstance(value.get("candidates"), list) and "contents" not in value
    return gemini or ({"id", "model", "usage"} <= value.keys() and _is_reply_of_anthropic(value))


def _reply(value: Raw) -> Iterator[Body]:
    asked = request_messages(value["input"]) if value.get("input") else []
    replied = reply_messages(value)
    system, tools = value.get("instructions"), value.get("tools")
    yield Body(id=text(value, "id"), messages=[*asked, *replied], system=system, tools=tools)


def _is_exchange(value: Raw) -> bool:
    """True if a value holds a request and its reply: a line of a batch, a row of a data set, a body with `response`."""
    asked = _asked(value.get("request") or value.get("body") or value.get("params"))
    batch = "custom_id" in value and bool(asked or as_dict(value.get("response")))
    if isinstance(value.get("input"), list) and "object" not in value:  # a row of a data set or of a trace
        return bool(request_messages(value["input"])) and bool(reply_messages(value.get("output")))
    flat = any(isinstance(value.get(key), list) for key in ("messages", "contents"))
    if flat and not asked:  # the request's own keys, and the response beside them
        return bool(reply_messages(value.get("response")))
    return batch or (bool(asked) and "response" in value and bool(request_messages(found(asked, "body") or asked)))


def _exchanges(value: Raw) -> Iterator[Body]:
    yield _exchange(_request(value), _response(value), text(value, "custom_id") or text(value, "id"))


def _request(value: Raw) -> Raw:
    return as_dict(found(value, ("request.body", "request", "body", "params"))) or value


def _response(value: Raw) -> object:
    return found(value, ("response.body", "response.json", "response", "output"))


# ---- traces


def _langsmith(value: Raw) -> Iterator[Body]:
    """Yield the model calls of a run and of the runs in it; the run itself if it has none."""
    calls = [run for run in _runs(value, "child_runs") if text(run, "run_type") in {"llm", "chat_model", "prompt"}]
    for run in calls or [value]:
        tools = found(run, ("inputs.tools", "extra.invocation_params.tools"))
        yield _exchange(run.get("inputs"), run.get("outputs"), text(run, "id"), tools)


def _runs(value: Raw, key: str) -> Iterator[Raw]:
    stack = [value]
    while stack:
        run = stack.pop()
        yield run
        stack += objects_in(run.get(key))[::-1]


def _langfuse(value: Raw) -> Iterator[Body]:
    """Yield the generations of a trace; the trace itself if it has none."""
    seen = objects_in(value.get("observations")) or [value]
    calls = [each for each in seen if text(each, "type") == "GENERATION"]
    for each in calls or [value]:
        yield _exchange(each.get("input"), each.get("output"), text(each, "id"))


def _is_langfuse(value: Raw) -> bool:
    held = objects_in(value.get("observations"))
    return "input" in value and (
        ("traceId" in value and "type" in value)
        or ("trace_id" in value and text(value, "type").isupper() and "run_type" not in value)
        or any("traceId" in each for each in held)
    )


def _span(value: Raw) -> Iterator[Body]:
    """Yield the model call that a span is: by the conventions of OpenInference or those of OpenTelemetry."""
    held = _attributes(value)
    asked, replied = found(held, "llm.input_messages"), found(held, "llm.output_messages")
    if asked or replied:
        said = [*_listed(asked), *_listed(replied)]
        messages = [_open_inference(found(each, "message") or each) for each in said]
        yield Body(id=_span_id(value), messages=messages, format="openai", tools=_span_tools(held))
        return
    asked, replied = found(held, "gen_ai.input.messages"), found(held, "gen_ai.output.messages")
    system = parsed_text(found(held, "gen_ai.system_instructions"))
    if asked or replied:
        said = [*_listed(parsed_text(asked)), *_listed(parsed_text(replied))]
        first: list[Any] = [{"role": "system", "parts": system}] if objects_in(system) else []
        yield Body(id=_span_id(value), messages=[*first, *said], format="otel")
        return
    asked, replied = found(held, "input.value"), found(held, "output.value")
    yield _exchange(asked, replied, _span_id(value))


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
            {"type": "image_url", "image_url": {"url": link}} if link else {"type": "text", "text": text(part, "text")}
            for part, link in links
        ]
    if calls:
        out["tool_calls"] = [
            {
                "id": text(each, "id") or f"call_{number}",
                "type": "function",
                "function": {
                    "name": str(found(each, "function.name") or ""),
                    "arguments": str(found(each, "function.arguments") or "{}"),
                },
            }
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


CONTAINERS = (
    Container(
        name="chatgpt",
        title="ChatGPT export",
        is_one=lambda value: isinstance(value.get("mapping"), dict),
        bodies=_chatgpt,
        texts=lambda value: [each.get("content") for each in chatgpt_path(value).messages],
    ),
    Container(
        name="claude_ai",
        title="Claude.ai export",
        is_one=lambda value: isinstance(value.get("chat_messages"), list),
        bodies=_claude_ai,
        texts=lambda value: claude_ai_path(value).messages,
    ),
    Container(
        name="gemini_cli",
        title="Gemini CLI chat",
        is_one=lambda value: (
            {"sessionId", "projectHash", "messages"} <= value.keys() and isinstance(value["messages"], list)
        ),
        bodies=_under("messages", "gemini_cli", "sessionId"),
        texts=lambda value: value["messages"],
    ),
    Container(
        is_one=lambda value: (
            isinstance(value.get("history"), list)
            and bool(value["history"])
            and all("parts" in as_dict(each) and "content" not in as_dict(each) for each in value["history"])
            and unread_format(value) is None
        ),
        bodies=_under("history", "gemini"),
        texts=lambda value: value["history"],
    ),
    Container(
        name="inspect",
        title="Inspect log",
        is_one=lambda value: (
            ("eval" in value and "samples" in value) or {"epoch", "input", "target", "messages"} <= value.keys()
        ),
        bodies=_inspect,
        texts=lambda value: [body.messages for body in _inspect(value)],
    ),
    Container(name="sharegpt", title="ShareGPT conversation", is_one=_has_turns, bodies=_sharegpt, texts=_turns),
    Container(
        name="llama_index",
        title="LlamaIndex messages",
        is_one=lambda value: any(
            "role" in first_of(each) for each in as_dict(found(value, ("store", "chat_store.store"))).values()
        ),
        bodies=_llama_index,
        texts=lambda value: found(value, ("store", "chat_store.store")),
    ),
    Container(
        name="openhands",
        title="OpenHands events",
        is_one=_has_events,
        bodies=_openhands,
        texts=lambda value: [body.messages for body in _openhands(value)],
        labels=OPENHANDS.labels,
    ),
    Container(
        is_one=_is_adk, bodies=_adk, texts=lambda value: [each.get("content") for each in objects_in(value["events"])]
    ),
    Container(
        name="atif",
        title="ATIF trajectory",
        is_one=lambda value: isinstance(value.get("steps"), list) and text(value, "schema_version").startswith("ATIF"),
        bodies=_atif,
        texts=lambda value: value["steps"],
    ),
    Container(
        name="langsmith",
        title="LangSmith runs",
        is_one=lambda value: {"run_type", "inputs"} <= value.keys(),
        bodies=_langsmith,
        texts=lambda value: [[run.get("inputs"), _said_in(run.get("outputs"))] for run in _runs(value, "child_runs")],
    ),
    Container(
        name="langfuse",
        title="Langfuse traces",
        is_one=_is_langfuse,
        bodies=_langfuse,
        texts=lambda value: [
            [each.get("input"), _said_in(each.get("output"))] for each in _runs(value, "observations")
        ],
    ),
    Container(name="otel", title="OpenTelemetry spans", is_one=_is_span, bodies=_span, texts=_span_texts),
    Container(
        name="otel",
        title="OpenTelemetry spans",
        is_one=lambda value: bool(_model_spans(value)),
        bodies=lambda value: [body for span in _model_spans(value) for body in _span(span)],
        texts=lambda value: [_span_texts(span) for span in _model_spans(value)],
    ),
    Container(
        is_one=_is_reply,
        bodies=_reply,
        texts=lambda value: [value.get("input"), value.get("instructions"), _said_in(value)],
    ),
    Container(
        is_one=_is_exchange,
        bodies=_exchanges,
        texts=lambda value: [request_messages(_request(value)), _said_in(_response(value))],
    ),
)
"""All kinds of containers. The first one that recognises a value opens it, so those with the most particular keys come
first."""


def container_of(value: object) -> Container | None:
    """Return the kind of container that a value is; None if it is no container."""
    fields = as_dict(value)
    return next((each for each in CONTAINERS if fields and each.is_one(fields)), None)
