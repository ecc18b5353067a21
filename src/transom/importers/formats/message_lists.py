"""Files of programs that have lists of messages under keys of their own: chats, sessions, logs of evaluations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from transom.core.message import Raw
from transom.importers.formats.chat_builder import parsed_text
from transom.importers.formats.containers import Container, ConversationBody
from transom.importers.formats.openhands import OPENHANDS, is_event
from transom.importers.formats.shapes import found
from transom.wire.fields import as_dict, as_items, first_of, objects_in, text


def _under(key: str, name: str, label: str = "id") -> Callable[[Raw], Iterator[ConversationBody]]:
    """Make the `bodies` of a container with one list of messages under `key`, in the format `name`. `label`: the key of
    its id."""

    def bodies(value: Raw) -> Iterator[ConversationBody]:
        listed = cast("list[Any]", value[key])
        yield ConversationBody(
            id=text(value, label), messages=listed, format=name, system=value.get("system"), tools=value.get("tools")
        )

    return bodies


def _sharegpt(value: Raw) -> Iterator[ConversationBody]:
    tools = parsed_text(value.get("tools"))
    yield ConversationBody(
        id=text(value, "id"),
        messages=value["conversations"] if objects_in(value.get("conversations")) else value["conversation"],
        format="sharegpt",
        system=value.get("system"),
        tools=tools if isinstance(tools, list) else None,
    )


def _has_turns(value: Raw) -> bool:
    turns = [*objects_in(value.get("conversations")), *objects_in(value.get("conversation"))]
    return bool(turns) and all({"from", "value"} <= turn.keys() for turn in turns)


def _chat_store(value: Raw) -> object:
    return found(value, ("store", "chat_store.store"))


def _llama_index(value: Raw) -> Iterator[ConversationBody]:
    for key, listed in as_dict(_chat_store(value)).items():
        if isinstance(listed, list):
            yield ConversationBody(id=key, messages=cast("list[Any]", listed), format="llama_index")


def _openhands(value: Raw) -> Iterator[ConversationBody]:
    key = next(key for key in ("history", "trajectory", "items", "events") if isinstance(value.get(key), list))
    listed = cast("list[Any]", value[key])
    flat = [event for each in listed for event in as_items(each)]
    yield ConversationBody(id=text(value, "instance_id") or text(value, "id"), messages=flat, format="openhands")


def _has_events(value: Raw) -> bool:
    for key in ("history", "trajectory", "items", "events"):
        listed = value.get(key)
        first = next(iter(as_items(listed)), None)
        if is_event(next(iter(as_items(first)), None)):
            return True
    return False


def _adk(value: Raw) -> Iterator[ConversationBody]:
    """Yield the conversation of a session of Google ADK: each of its events has a content of Gemini."""
    events = objects_in(value["events"])
    contents = [each["content"] for each in events if as_dict(each.get("content"))]
    yield ConversationBody(id=text(value, "id"), messages=contents, format="gemini")


def _is_adk(value: Raw) -> bool:
    events = objects_in(value.get("events"))
    return bool(events) and all("author" in each for each in events) and any("content" in each for each in events)


# ---- logs of Inspect

_ATTACHED = "attachment://"


def _inspect(value: Raw) -> Iterator[ConversationBody]:
    samples = objects_in(value.get("samples")) if "samples" in value else [value]
    for sample in samples:
        attached = as_dict(sample.get("attachments"))
        messages = _resolved(sample.get("messages"), attached) or _resolved(sample.get("input"), attached)
        listed = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages or []
        label, epoch = sample.get("id"), sample.get("epoch")
        name = f"{label}" if label is not None else ""
        yield ConversationBody(
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


MESSAGE_LISTS = (
    Container(
        name="gemini_cli",
        is_one=lambda value: (
            {"sessionId", "projectHash", "messages"} <= value.keys() and isinstance(value["messages"], list)
        ),
        bodies=_under("messages", "gemini_cli", "sessionId"),
    ),
    Container(
        is_one=lambda value: (
            isinstance(value.get("history"), list)
            and bool(value["history"])
            and all("parts" in as_dict(each) and "content" not in as_dict(each) for each in value["history"])
        ),
        bodies=_under("history", "gemini"),
    ),
    Container(
        name="inspect",
        is_one=lambda value: (
            ("eval" in value and "samples" in value) or {"epoch", "input", "target", "messages"} <= value.keys()
        ),
        bodies=_inspect,
    ),
    Container(name="sharegpt", is_one=_has_turns, bodies=_sharegpt),
    Container(
        name="llama_index",
        is_one=lambda value: any("role" in first_of(each) for each in as_dict(_chat_store(value)).values()),
        bodies=_llama_index,
        texts=_chat_store,
    ),
    Container(name="openhands", is_one=_has_events, bodies=_openhands, labels=OPENHANDS.labels),
    Container(
        is_one=_is_adk, bodies=_adk, texts=lambda value: [each.get("content") for each in objects_in(value["events"])]
    ),
    Container(
        name="atif",
        is_one=lambda value: isinstance(value.get("steps"), list) and text(value, "schema_version").startswith("ATIF"),
        bodies=lambda value: [ConversationBody(id=text(value, "session_id"), messages=value["steps"], format="atif")],
    ),
)
