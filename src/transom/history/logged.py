"""Conversation entries and the log: each is read from the other, so that there is one store and not two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from msgspec.structs import replace

from transom.core.entry import Entry, Meta
from transom.core.message import Assistant, Fact
from transom.history.entries import (
    ConversationEntry,
    entry_to_provider_message,
    provider_message_to_entry,
)
from transom.wire.foreign import adopted
from transom.wire.openai_chat import message, parse

NO_EVALUATION = UUID(int=0)
"""Of an entry that belongs to no evaluation."""


def entry_to_fact(entry: ConversationEntry) -> Fact:
    """What an entry says, as a fact for a log. Raises InvalidMessage."""
    return parse(entry_to_provider_message(entry))


def entry_to_meta(entry: ConversationEntry) -> Meta:
    """Where an entry belongs, as a log keeps it."""
    return Meta(
        include_in_context=entry.include_in_context,
        evaluation_id="" if entry.evaluation_id == NO_EVALUATION else str(entry.evaluation_id),
        sequence=entry.sequence,
        mode=entry.mode,
        run_id=entry.run_id,
        workflow_id=entry.workflow_id,
        agent_id=entry.agent_id,
        tool_name=entry.tool_name or "",
        duration=entry.duration,
    )


def log_to_entries(log: Iterable[Entry]) -> Iterator[ConversationEntry]:
    """The facts of a log, in order, as OpenAI chat would say them; edits, traces and heads are no messages.

    A result without a tool's name gets that of the call it answers. `created_at` is the log's time.
    """
    tools: dict[str, str] = {}
    for entry in log:
        fact = entry.body
        if not isinstance(fact, Fact):
            continue
        if isinstance(fact, Assistant):
            tools.update((call.id, call.name) for call in fact.calls)
        found = _entry(entry, fact)
        if found.tool_call_id is not None and not found.tool_name:
            found = replace(found, tool_name=tools.get(found.tool_call_id))
        yield found


def evaluation_uuid(name: str) -> UUID:
    """The id that stands for an evaluation's name: itself if it is one, else always the same one made from it."""
    if not name:
        return NO_EVALUATION
    try:
        return UUID(name)
    except ValueError:
        return uuid5(NAMESPACE_OID, name)


def _entry(entry: Entry, fact: Fact) -> ConversationEntry:
    meta = entry.meta or Meta()
    said = provider_message_to_entry(
        message(adopted(fact, "") if fact.dialect else fact),
        evaluation_id=evaluation_uuid(meta.evaluation_id),
        sequence=meta.sequence,
        created_at=datetime.fromtimestamp(entry.at, UTC),
    )
    changed: dict[str, Any] = {
        name: getattr(meta, name)
        for name in ("mode", "run_id", "workflow_id", "agent_id", "duration", "include_in_context")
    }
    if meta.tool_name and said.tool_call_id is not None:
        changed["tool_name"] = meta.tool_name
    return replace(said, **changed)
