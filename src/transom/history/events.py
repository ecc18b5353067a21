"""What is told about a conversation's history: to sessions, and to whoever subscribed."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from transom.history.entries import ConversationEntry


class ConversationRecorded(Struct, frozen=True):
    """An entry was added to the history."""

    entry: ConversationEntry
    session_id: UUID | None
    created_at: datetime


class HistoryCurated(Struct, frozen=True):
    """A manager decided what a provider sees: how many messages there were, and how many it left."""

    prompt_name: str
    original_count: int
    curated_count: int
    strategy: str
    session_id: UUID | None
    created_at: datetime
