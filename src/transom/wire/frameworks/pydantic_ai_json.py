"""Translates message histories of pydantic-ai to OpenAI Chat messages and back: the JSON that
`ModelMessagesTypeAdapter` dumps.

It is a list of requests and responses; each has parts, with their kind in `part_kind`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from transom.core.message import MediaKind, Raw
from transom.texts import tool_failed
from transom.wire.chat_json import chat_call, chat_media, name_and_arguments
from transom.wire.fields import (
    as_dict,
    as_items,
    compact_json,
    data_of,
    data_url,
    iso_time,
    objects_in,
    plain_text,
    text,
)

_URLS: dict[str, MediaKind] = {"image-url": "image", "document-url": "file", "audio-url": "file", "video-url": "file"}
"""The kinds of items that name an image or a file by its URL."""


def is_message(value: object) -> bool:
    """True if a value is a request or a response of pydantic-ai, as a dict that `ModelMessagesTypeAdapter` dumps."""
    fields = as_dict(value)
    parts = objects_in(fields.get("parts"))
    return text(fields, "kind") in {"request", "response"} and all("part_kind" in part for part in parts)


def to_chat(values: Iterable[object]) -> Iterator[Raw]:
    """Translate a history (requests and responses as dicts) to OpenAI Chat messages, in order. Instructions come as a
    system message, again only when they change: each request repeats them. Parts of kinds that we do not know are left
    out."""
    instructions = ""
    for fields in map(as_dict, values):
        said = text(fields, "instructions")
        if said and said != instructions:  # every request repeats them
            yield {"role": "system", "content": said}
        instructions = said or instructions
        parts = objects_in(fields.get("parts"))
        if fields.get("kind") == "response":
            yield turn(parts)
        else:
            yield from filter(None, map(request_message, parts))


def from_chat(messages: Iterable[tuple[Raw, float]]) -> Iterator[Raw]:
    """Translate OpenAI Chat messages to requests and responses, as dicts in the form that `ModelMessagesTypeAdapter`
    dumps.

    Each message comes with its time in seconds since the epoch. A message of the model becomes a response. The messages
    between two of the model become the parts of one request, which has the time of the first of them.
    """
    names: dict[str, str] = {}  # of the tools, by the id of the call
    waiting: list[Raw] = []
    since = 0.0
    for message, at in messages:
        if message.get("role") != "assistant":
            since = at if not waiting else since
            waiting.append(_request_part(message, at, names))
            continue
        if waiting:
            yield _request_of(waiting, since)
            waiting = []
        yield {"parts": _response_parts(message, names), "timestamp": iso_time(at), "kind": "response"}
    if waiting:
        yield _request_of(waiting, since)


def _request_of(parts: list[Raw], at: float) -> Raw:
    return {"parts": parts, "timestamp": iso_time(at), "kind": "request"}


def request_message(part: Raw) -> Raw | None:
    """The chat message of a part of a request; None for a part of a kind that we do not know."""
    kind, content = text(part, "part_kind"), part.get("content")
    if kind == "system-prompt":
        return {"role": "system", "content": content}
    if kind == "user-prompt":
        return {"role": "user", "content": content if isinstance(content, str) else _user_parts(content)}
    answers = text(part, "tool_call_id") if text(part, "tool_name") else ""
    if kind == "tool-return" or (kind == "retry-prompt" and answers):
        items = as_items(content)
        media = {"binary", *_URLS}  # the model gets them as such
        if kind == "tool-return" and any(text(as_dict(item), "kind") in media for item in items):
            return {"role": "tool", "tool_call_id": text(part, "tool_call_id"), "content": _user_parts(items)}
        said = content if isinstance(content, str) else compact_json(content)
        if kind == "retry-prompt" or text(part, "outcome") in {"failed", "denied"}:
            said = tool_failed(said)
        return {"role": "tool", "tool_call_id": text(part, "tool_call_id"), "content": said}
    if kind in {"retry-prompt", "retry-feedback"}:
        return {"role": "user", "content": content if isinstance(content, str) else compact_json(content)}
    return None


def _user_parts(content: object) -> list[Raw]:
    items = cast("list[object]", content) if isinstance(content, list) else []
    return [{"type": "text", "text": item} if isinstance(item, str) else _media(item) for item in items]


def _media(given: object) -> Raw:
    """Translate an image, a file or any other item of a user prompt or a result."""
    if not isinstance(given, dict):
        return {"type": "text", "text": compact_json(given)}
    item = as_dict(cast("object", given))
    kind, url = text(item, "kind"), text(item, "url")
    if kind == "binary":
        # pydantic writes base64 for URLs
        url = data_url(text(item, "media_type"), text(item, "data").replace("-", "+").replace("_", "/"))
        kind = "image-url" if text(item, "media_type").startswith("image/") else "document-url"
    if kind == "text" or kind not in _URLS:
        return {"type": "text", "text": text(item, "content") or compact_json(item)}
    return chat_media(_URLS[kind], url)


def turn(parts: list[Raw]) -> Raw:
    """The chat message of a response with these parts: its texts and its thoughts, each joined to one text, and its
    calls. Parts of other kinds are left out."""
    by_kind: dict[str, list[Raw]] = {}
    for part in parts:
        by_kind.setdefault(text(part, "part_kind"), []).append(part)
    said = "\n\n".join(text(part, "content") for part in by_kind.get("text", []))
    out: Raw = {"role": "assistant", "content": said or None}
    if thoughts := [text(part, "content") for part in by_kind.get("thinking", []) if text(part, "content")]:
        out["reasoning_content"] = "\n".join(thoughts)
    if calls := [_chat_call(part) for part in by_kind.get("tool-call", [])]:
        out["tool_calls"] = calls
    return out


def _chat_call(part: Raw) -> Raw:
    args: Any = part.get("args")
    given = args if isinstance(args, str) else compact_json(args if args is not None else {})
    return chat_call(text(part, "tool_call_id"), text(part, "tool_name"), given)


def _request_part(message: Raw, at: float, names: dict[str, str]) -> Raw:
    """The part of a request for a message that is not the model's. `names`: of tools, by the ids of their calls."""
    role, content, when = text(message, "role"), message.get("content"), iso_time(at)
    if role in {"system", "developer"}:
        return {"content": plain_text(content), "timestamp": when, "part_kind": "system-prompt"}
    if role in {"tool", "function"}:
        label = text(message, "tool_call_id") or text(message, "name")
        name = names.get(label) or text(message, "name") or label
        listed = [_prompt_part(part) for part in objects_in(content)]
        returned = plain_text(content) if all(isinstance(each, str) for each in listed) else listed
        said = {"tool_name": name, "content": returned, "tool_call_id": label}
        return {**said, "timestamp": when, "part_kind": "tool-return"}
    listed = content if isinstance(content, str) else [_prompt_part(part) for part in objects_in(content)]
    return {"content": listed, "timestamp": when, "part_kind": "user-prompt"}


def _prompt_part(part: Raw) -> str | Raw:
    """An item of a prompt for a part of a chat message. Any but a text, an image or a file becomes its JSON."""
    if isinstance(part.get("text"), str):
        return part["text"]
    url = text(as_dict(part.get("image_url")), "url") or text(as_dict(part.get("file")), "file_data")
    if (found := data_of(url)) is not None:
        return {"media_type": found[0], "data": found[1], "kind": "binary"}
    if url:
        return {"url": url, "kind": "image-url" if "image_url" in part else "document-url"}
    return compact_json(part)


def _response_parts(message: Raw, names: dict[str, str]) -> list[Raw]:
    """The parts of a response for a message of the model. Adds the names of its calls to `names`, by their ids."""
    parts: list[Raw] = []
    if thought := text(message, "reasoning_content") or text(message, "reasoning"):
        parts.append({"content": thought, "part_kind": "thinking"})
    if said := plain_text(message.get("content")):
        parts.append({"content": said, "part_kind": "text"})
    legacy = as_dict(message.get("function_call"))
    for call in objects_in(message.get("tool_calls")) or ([{"function": legacy}] if legacy else []):
        name, args = name_and_arguments(call)
        label = text(call, "id") or name
        names[label] = name
        parts.append({"tool_name": name, "args": args, "tool_call_id": label, "part_kind": "tool-call"})
    return parts
