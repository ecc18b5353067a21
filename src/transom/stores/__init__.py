"""Stores keep conversations: `open_store("agent.db")` opens one. The protocol of a store is `Store` in `base`."""

from __future__ import annotations

from transom.core.codec import decode as decode_entry
from transom.stores.base import Store, StoredLog, follow
from transom.stores.blobs import encode_entry
from transom.stores.conversation_list import StoredConversation, list_conversations
from transom.stores.fork import fork_log
from transom.stores.in_memory import MemoryStore
from transom.stores.jsonl import JsonlStore
from transom.stores.snapshot import open_view
from transom.stores.sqlite import SqliteStore
from transom.stores.urls import open_store
from transom.stores.usage import usage_by_conversation, usage_by_run, usage_of

__all__ = [
    "JsonlStore",
    "MemoryStore",
    "SqliteStore",
    "Store",
    "StoredConversation",
    "StoredLog",
    "decode_entry",
    "encode_entry",
    "follow",
    "fork_log",
    "list_conversations",
    "open_store",
    "open_view",
    "usage_by_conversation",
    "usage_by_run",
    "usage_of",
]
