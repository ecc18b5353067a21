"""Conversation entries: typed messages, each with its evaluation and its number there.

They are another form of the facts in a log, and are not stored a second time: `session` converts both ways.
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
from transom.wire.fields import json_copy
from transom.wire.openai import parse
from transom.wire.openai.reply import as_message
from transom.wire.turns import deep_copy
from transom.wire.violations import as_dict


class MessageRole(StrEnum):
    """The role of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ToolCall(Struct, frozen=True, omit_defaults=True):
    """A tool call of the assistant. `id`: the provider's id of the call. `name`: the tool's name. `arguments`: JSON
    text."""

    id: str
    name: str
    arguments: str


class ConversationEntry(Struct, frozen=True, omit_defaults=True):
    """One message of a conversation.

    - `content`: a text, content parts, or None.
    - `evaluation_id`: the same for all entries of one run of the runner; `sequence` counts these from 0.
    - `created_at`: when the message was recorded.
    - `tool_calls`: only an entry of the assistant has them. `tool_call_id`, `tool_name`: only the result of a tool has
      them.
    - `extra`: the fields of the provider's message that the other attributes do not give back unchanged.

    The other attributes are those of a log's `Meta`.
    """

    role: MessageRole
    """Who said it."""
    content: str | list[Raw] | None
    evaluation_id: UUID
    sequence: int
    created_at: datetime
    tool_calls: tuple[ToolCall, ...] | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    extra: Raw | None = None
    mode: str = ""
    """The mode it happened in."""
    run_id: str = ""
    """The run."""
    workflow_id: str = ""
    """The workflow."""
    agent_id: str = ""
    """The agent."""
    duration: float | None = None
    """Seconds that a tool took."""
    include_in_context: bool = True
    """False: people see it, and the model does not."""


_ROLES = {"developer": "system", "function": "tool"}
"""Roles that are represented by another role; `extra` has the original one."""


def provider_message_to_entry(
    msg: object, *, evaluation_id: UUID, sequence: int, created_at: datetime
) -> ConversationEntry:
    """Convert an OpenAI chat message (a dict, or an object of a client library) to an entry. The two share nothing.

    `entry_to_provider_message` gives an equal message back; only a missing content becomes null. Raises InvalidMessage
    if the message has no known role or a field of the wrong type.
    """
    message = as_message(msg)
    fact = parse(message)  # the rules for messages are in one place
    fields = json_copy(as_dict(message), "message")
    calls = fact.calls if isinstance(fact, Assistant) else ()
    is_result = isinstance(fact, ToolResult)
    entry = ConversationEntry(
        role=MessageRole(_ROLES.get(fields["role"], fields["role"])),
        content=fields.get("content"),
        evaluation_id=evaluation_id,
        sequence=sequence,
        created_at=created_at,
        tool_calls=tuple(ToolCall(call.id, call.name, call.args) for call in calls if not call.legacy) or None,
        tool_call_id=(fact.call or None) if is_result else None,
        tool_name=fields.get("name") if is_result else None,
    )
    given_back = entry_to_provider_message(entry)
    extra = {key: value for key, value in fields.items() if key not in given_back or given_back[key] != value}
    return replace(entry, extra=extra) if extra else entry


def entry_to_provider_message(entry: ConversationEntry) -> dict[str, Any]:
    """Convert an entry to an OpenAI chat message. The two share nothing."""
    message: Raw = {"role": entry.role.value, "content": deep_copy(entry.content)}
    if entry.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in entry.tool_calls
        ]
    if entry.tool_call_id is not None:
        message["tool_call_id"] = entry.tool_call_id
    return message | deep_copy(entry.extra or {})


def entry_to_json(entry: ConversationEntry) -> bytes:
    """An entry as JSON bytes; lone surrogates are written as escapes."""
    return plain(entry)


def entry_from_json(data: bytes) -> ConversationEntry:
    """The entry in the bytes that `entry_to_json` wrote. Raises ValueError for any other bytes."""
    return msgspec.convert(json.loads(data), ConversationEntry)
