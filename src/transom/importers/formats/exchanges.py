"""Replies of models, and exchanges of a request and its reply: of any API, or in the words of a library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from transom.core.message import Raw
from transom.importers.formats.chat_builder import parsed_text
from transom.importers.formats.containers import Container, ConversationBody
from transom.importers.formats.shapes import found
from transom.wire.fields import as_dict, first_of, text


def reply_messages(value: object) -> list[Any]:
    """Return the messages in what a model answered, which may be a reply of any API, a message, a list of messages or a
    text, or the JSON of one of these. Of a reply with several answers the first is taken. Empty if there is none.

    The messages stay in the form of their API or library; a text becomes a message of the assistant."""
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
    text, or the JSON of one of these. Empty if there is none.

    The messages stay in the form of their API or library; a text becomes a message of the user. The system instruction
    beside them is not among them."""
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


def exchange(asked: object, replied: object, label: str = "", tools: object = None) -> ConversationBody:
    """Make a conversation from a request and its reply: the messages of both, and the system instruction and the tools
    of the request. `asked`: as `request_messages` takes it; `replied`: as `reply_messages` takes it. `label`: the id of
    the conversation; `tools`: are taken if the request has none."""
    body = _asked(asked)
    keys = ("system", "instructions", "systemInstruction", "system_instruction")
    return ConversationBody(
        id=label,
        messages=[*request_messages(asked), *reply_messages(replied)],
        system=next((body[key] for key in keys if body.get(key)), None),
        tools=body.get("tools") or tools,
    )


_REPLY_KEYS = ("choices", "candidates", "generations", "output", "messages", "content")


def said_in(replied: object) -> object:
    """Return the list of the parts of a reply that hold what the model said; the whole reply if no key of it is known.
    The reply may be the JSON of one."""
    value = parsed_text(replied)
    fields = as_dict(value)
    return [fields[key] for key in _REPLY_KEYS if fields.get(key)] or value


def _is_reply(value: Raw) -> bool:
    if value.get("object") == "response" or text(value, "object").startswith("chat.completion"):
        return isinstance(value.get("output"), list) or isinstance(value.get("choices"), list)
    gemini = isinstance(value.get("candidates"), list) and "contents" not in value
    return gemini or ({"id", "model", "usage"} <= value.keys() and _is_reply_of_anthropic(value))


def _reply(value: Raw) -> Iterator[ConversationBody]:
    asked = request_messages(value["input"]) if value.get("input") else []
    replied = reply_messages(value)
    system, tools = value.get("instructions"), value.get("tools")
    yield ConversationBody(id=text(value, "id"), messages=[*asked, *replied], system=system, tools=tools)


def _is_exchange(value: Raw) -> bool:
    """True if a value holds a request and its reply: a line of a batch, a row of a data set, a body with `response`."""
    asked = _asked(value.get("request") or value.get("body") or value.get("params"))
    batch = "custom_id" in value and bool(asked or as_dict(value.get("response")))
    with_reply = isinstance(value.get("input"), str) and isinstance(value.get("output"), list)
    if (with_reply or isinstance(value.get("input"), list)) and "object" not in value:  # of a data set or of a trace
        return bool(request_messages(value["input"])) and bool(reply_messages(value.get("output")))
    flat = any(isinstance(value.get(key), list) for key in ("messages", "contents"))
    if flat and not asked:  # the request's own keys, and the response beside them
        return bool(reply_messages(value.get("response")))
    return batch or (bool(asked) and "response" in value and bool(request_messages(found(asked, "body") or asked)))


def _request(value: Raw) -> Raw:
    return as_dict(found(value, ("request.body", "request", "body", "params"))) or value


def _response(value: Raw) -> object:
    return found(value, ("response.body", "response.json", "response", "output"))


EXCHANGES = (
    Container(
        is_one=_is_reply,
        bodies=_reply,
        texts=lambda value: [value.get("input"), value.get("instructions"), said_in(value)],
    ),
    Container(
        is_one=_is_exchange,
        bodies=lambda value: [
            exchange(_request(value), _response(value), text(value, "custom_id") or text(value, "id"))
        ],
        texts=lambda value: [request_messages(_request(value)), said_in(_response(value))],
    ),
)
