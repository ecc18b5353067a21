"""Conversation entries: the messages of a list, typed, with the evaluation they belong to and their place in it.

They are a form of what the log holds, not a second home for it: see `session` for the way there and back.
"""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from transom.core.codec import plain
from transom.core.message import Assistant, Raw, ToolResult
from transom.wire.checks import owned
from transom.wire.openai import parse
from transom.wire.openai.reply import as_message
from transom.wire.turns import copied
from transom.wire.validation import as_dict


class MessageRole(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ToolCall(Struct, frozen=True, omit_defaults=True):
    """A tool invocation that the assistant asked for: the provider's id, the tool, its arguments as JSON text."""

    id: str
    name: str
    arguments: str


class ConversationEntry(Struct, frozen=True, omit_defaults=True):
    """One message of a conversation.

    `content` is a text, content parts, or None. `evaluation_id` is shared by all entries of one run of the runner,
    `sequence` counts them from 0. `tool_calls` only for the assistant; `tool_call_id` and `tool_name` only for tools.
    `extra` holds the message's fields that the others do not give back as they came. The rest is where the entry
    belongs, as in a log.
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


_ROLES = {"developer": "system", "function": "tool"}
"""Roles that have another's place here; their own name stays in `extra`."""


def provider_message_to_entry(
    msg: object, *, evaluation_id: UUID, sequence: int, created_at: datetime
) -> ConversationEntry:
    """The entry for an OpenAI chat message (a dict, or a client library's object). Nothing is shared with it.

    `entry_to_provider_message` gives an equal message back, except that an absent content comes back as null. Raises
    InvalidMessage.
    """
    message = as_message(msg)
    fact = parse(message)  # one set of rules for what a message is
    fields = owned(as_dict(message), "message")
    calls = fact.calls if isinstance(fact, Assistant) else ()
    tool = isinstance(fact, ToolResult)
    entry = ConversationEntry(
        role=MessageRole(_ROLES.get(fields["role"], fields["role"])),
        content=fields.get("content"),
        evaluation_id=evaluation_id,
        sequence=sequence,
        created_at=created_at,
        tool_calls=tuple(ToolCall(call.id, call.name, call.args) for call in calls if not call.legacy) or None,
        tool_call_id=(fact.call or None) if tool else None,
        tool_name=fields.get("name") if tool else None,
    )
    said = entry_to_provider_message(entry)
    extra = {key: value for key, value in fields.items() if key not in said or said[key] != value}
    return replace(entry, extra=extra) if extra else entry


def entry_to_provider_message(entry: ConversationEntry) -> dict[str, Any]:
    """The OpenAI chat message an entry is. Nothing is shared with it."""
    message: Raw = {"role": entry.role.value, "content": copied(entry.content)}
    if entry.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in entry.tool_calls
        ]
    if entry.tool_call_id is not None:
        message["tool_call_id"] = entry.tool_call_id
    return message | copied(entry.extra or {})


def entry_to_json(entry: ConversationEntry) -> bytes:
    """An entry as JSON; lone surrogates are escaped."""
    return plain(entry)


def entry_from_json(data: bytes) -> ConversationEntry:
    """The entry that `entry_to_json` wrote. Raises ValueError for anything else."""
    return msgspec.convert(json.loads(data), ConversationEntry)
