"""Conversation entries: the messages of a list, typed, with the evaluation they belong to and their place in it.

They are a form of what the log holds, not a second home for it: see `logged` for the way there and back.
"""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum
from typing import Any, cast
from uuid import UUID

import msgspec
from msgspec import Struct

from transom.core.codec import plain
from transom.core.message import Raw
from transom.wire.openai_chat import parse
from transom.wire.openai_chat.reply import as_message
from transom.wire.reading import compact, owned
from transom.wire.saying import copied


class MessageRole(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ToolCall(Struct, frozen=True, omit_defaults=True):
    """A tool invocation that the assistant asked for: the provider's id, the tool, its arguments as JSON text.

    `raw`: the call as it came, where there is more to it than that.
    """

    id: str
    name: str
    arguments: str
    raw: Raw | None = None


class ConversationEntry(Struct, frozen=True, omit_defaults=True):
    """One message of a conversation.

    `content` is a text, content parts, or None. `evaluation_id` is shared by all entries of one run of the runner,
    `sequence` counts them from 0. `tool_calls` only for the assistant; `tool_call_id` and `tool_name` only for tools.
    `extra` holds the fields of the message that have no place here. The rest is where the entry belongs, as in a log.
    """

    role: MessageRole
    content: str | list[Raw] | None
    evaluation_id: UUID
    sequence: int
    created_at: datetime
    tool_calls: tuple[ToolCall, ...] | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    extra: Raw | None = None
    mode: str = ""
    run_id: str = ""
    workflow_id: str = ""
    agent_id: str = ""
    duration: float | None = None
    include_in_context: bool = True


_ROLES = {"developer": MessageRole.SYSTEM, "function": MessageRole.TOOL}
"""Roles that have another's place here; their own name stays in `extra`."""


def provider_message_to_entry(
    msg: object, *, evaluation_id: UUID, sequence: int, created_at: datetime
) -> ConversationEntry:
    """The entry for an OpenAI chat message (a dict, or a client library's object). Nothing is shared with it.

    `entry_to_provider_message` gives an equal message back, except that an absent content comes back as null. Raises
    InvalidMessage.
    """
    message = as_message(msg)
    parse(message)  # one set of rules for what a message is
    fields = owned(cast("dict[object, object]", message), "message")
    role = _ROLES.get(fields["role"])
    if role is None:
        role = MessageRole(fields.pop("role"))
    calls, answers = None, None
    if role is MessageRole.ASSISTANT and fields.get("tool_calls"):
        calls = tuple(_call(call) for call in fields.pop("tool_calls"))
    if role is MessageRole.TOOL and isinstance(fields.get("tool_call_id"), str):
        answers = fields.pop("tool_call_id")
    return ConversationEntry(
        role=role,
        content=fields.pop("content", None),
        evaluation_id=evaluation_id,
        sequence=sequence,
        created_at=created_at,
        tool_calls=calls,
        tool_call_id=answers,
        tool_name=fields.get("name") if role is MessageRole.TOOL else None,
        extra=fields or None,
    )


def entry_to_provider_message(entry: ConversationEntry) -> dict[str, Any]:
    """The OpenAI chat message an entry is. Nothing is shared with it."""
    message: Raw = {"role": entry.role.value, "content": copied(entry.content)}
    if entry.tool_calls:
        message["tool_calls"] = [
            copied(call.raw) if call.raw is not None else _regular(call) for call in entry.tool_calls
        ]
    if entry.tool_call_id is not None:
        message["tool_call_id"] = entry.tool_call_id
    return message | copied(entry.extra or {})


def entry_to_json(entry: ConversationEntry) -> bytes:
    """An entry as JSON; lone surrogates are escaped."""
    return plain(entry)


def entry_from_json(data: bytes) -> ConversationEntry:
    """The entry that `entry_to_json` wrote. Raises ValueError for anything else."""
    try:
        return msgspec.json.decode(data, type=ConversationEntry)
    except (msgspec.MsgspecError, UnicodeError):  # it may hold what only the standard library reads
        return msgspec.convert(json.loads(data), ConversationEntry)


def _call(call: Raw) -> ToolCall:
    kind = "custom" if call.get("type") == "custom" else "function"
    body: Raw = call[kind]
    arguments: Any = body.get("input" if kind == "custom" else "arguments")
    text = arguments if isinstance(arguments, str) else "" if arguments is None else compact(arguments)
    found = ToolCall(call.get("id") or "", body.get("name") or "", text)
    return found if _regular(found) == call else ToolCall(found.id, found.name, found.arguments, call)


def _regular(call: ToolCall) -> Raw:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
