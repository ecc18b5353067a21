"""Reads and writes the layout of the unified conversation context: `conversations/index.json`, and `<id>/messages.json`
beside it.

A message is an OpenAI Chat message with an id, a time, and fields of the program that shows it: its mode, run, workflow
and agent, and whether it may be sent (`includeInContext`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from transom import private_files
from transom.core.entry import Meta
from transom.core.message import Raw
from transom.errors import InvalidMessage, InvalidSetting, quote
from transom.importers.files.open_file import INDEX, MESSAGES, parsed
from transom.wire.fields import kind_of
from transom.wire.json_values import dumped, iso_time, objects_in
from transom.wire.violations import as_dict, text

_CHAT = ("role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content", "function_call")
"""The keys of a message that go to a model."""


def is_message(value: object) -> bool:
    """True if a value is a message of this layout."""
    fields = as_dict(value)
    return {"id", "role", "createdAt"} <= fields.keys()


def index_of(path: Path) -> Path | None:
    """Find the index that a path names: the file itself, or the one in the folder or in its `conversations`.

    None if there is none, or if no conversation is beside it.
    """
    places = [path / INDEX, path / "conversations" / INDEX] if path.is_dir() else [path]
    found = next((place for place in places if place.name == INDEX and place.is_file()), None)
    return found if found is not None and any(found.parent.glob(f"*/{MESSAGES}")) else None


def records_in(index: object, where: str) -> Iterator[Raw]:
    """Yield the entry of each conversation in the JSON value of an `index.json`.

    Raises InvalidMessage if it holds no list of conversations.
    """
    listed: object = cast("object", index) if isinstance(index, list) else as_dict(index).get("conversations")
    if not isinstance(listed, list):
        raise InvalidMessage(where, f"must hold a list of conversations, not {kind_of(listed)}")
    yield from objects_in(cast("object", listed))


def to_chat(message: Raw) -> Raw:
    """Return the OpenAI Chat message within a stored message, without the fields of the program that stored it.

    Missing content becomes an empty text, or None beside tool calls. A message of another shape is not refused here,
    but by the caller that parses the result.
    """
    out: Raw = {key: message[key] for key in _CHAT if message.get(key) is not None}
    out.setdefault("content", None if "tool_calls" in out else "")
    if out.get("role") == "tool" and "tool_call_id" not in out:
        out["tool_call_id"] = ""
    return out


def meta_of(message: Raw) -> Meta | None:
    """Return the metadata of a message: mode, run, workflow, agent, and whether it is sent.

    None if it has none of these.
    """
    took = message.get("duration")
    meta = Meta(
        include_in_context=message.get("includeInContext") is not False,
        duration=float(took) if isinstance(took, int | float) and not isinstance(took, bool) else None,
        mode=text(message, "mode"),
        run_id=text(message, "runId"),
        workflow_id=text(message, "workflowId"),
        agent_id=text(message, "agentId"),
        tool_name=text(message, "toolName"),
    )
    return None if meta == Meta() else meta


def time_of(message: Raw) -> float | None:
    """Return when a message was created, in seconds since the epoch; None if it does not say."""
    created = message.get("createdAt")
    if isinstance(created, int | float) and not isinstance(created, bool):
        return created / 1000
    try:
        return datetime.fromisoformat(text(message, "createdAt")).timestamp()
    except (ValueError, OverflowError):
        return None


def from_chat(message: Raw, at: float, meta: Meta | None) -> Raw:
    """Make a stored message from an OpenAI Chat message, its time and its metadata.

    The id is a hash of the message and its time.
    """
    created = iso_time(at)
    label = blake2b(f"{created}{dumped(message)}".encode("utf-8", "replace"), digest_size=8).hexdigest()
    return {"id": f"msg_{label}", "createdAt": created, **message, **_fields_of(meta or Meta())}


def _fields_of(meta: Meta) -> Raw:
    """Return the fields of a stored message that say what `meta_of` reads."""
    fields: Raw = {
        "mode": meta.mode,
        "runId": meta.run_id,
        "workflowId": meta.workflow_id,
        "agentId": meta.agent_id,
        "toolName": meta.tool_name,
        "duration": meta.duration,
        "includeInContext": None if meta.include_in_context else False,
    }
    return {key: value for key, value in fields.items() if value not in ("", None)}


def messages_path(folder: Path, name: str) -> Path:
    """Return the path of a conversation's messages.

    Raises InvalidSetting for an id that is no name of a folder ("..", or with a slash or backslash).
    """
    if not name or name in {".", ".."} or any(mark in name for mark in "/\\\0"):
        raise InvalidSetting(f"conversation {quote(name)}: its id cannot be the name of a folder")
    return folder / name / MESSAGES


def add_to_index(folder: Path, record: Raw) -> None:
    """Write a conversation's record into the folder's index, in place of one with the same id, or at the end."""
    path = folder / INDEX
    index: Any = json.loads(path.read_bytes()) if path.exists() else []
    listed = cast("list[Any]", index["conversations"] if isinstance(index, dict) else index)
    at = next((n for n, one in enumerate(listed) if as_dict(one).get("id") == record.get("id")), len(listed))
    if listed[at : at + 1] != [record]:
        listed[at : at + 1] = [record]
        with private_files.opened(path) as file:
            file.write(f"{json.dumps(index, ensure_ascii=False, indent=2)}\n".encode())


def recorded_in(index: Path, progress: Callable[[float], None]) -> Iterator[tuple[Raw, Path]]:
    """Yield the record of each conversation of an index that has messages, and the path of its messages.

    `progress`: called with the share of the records that was read. Raises InvalidMessage if the index is not JSON or
    holds no list of conversations, OSError.
    """
    records = list(records_in(parsed(index.read_bytes(), str(index)), str(index)))
    for number, record in enumerate(records):
        progress(number / len(records))
        path = messages_path(index.parent, text(record, "id"))
        if path.is_file():
            yield record, path
