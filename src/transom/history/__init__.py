"""A bridge for code that works on lists of messages: history managers, conversation entries, sessions.

    from transom.history import SlidingWindowManager, managed_policy

    conv = transom.Conversation.open(url, id, budget=32_000, policy=managed_policy(SlidingWindowManager(20)))

A manager is any object with `curate(messages, *, session)`, which returns the messages that the model shall see. It can
be used alone, between a runner and its provider. With `managed_policy` it is a part of a policy: its changes become
edits that can be undone, and every window is valid and within the budget. `EngineManager` is the reverse: Transom's own
planning as a manager.
"""

from transom.conversation.bus import ConversationRecorded, HistoryCurated
from transom.history.bridge import EngineManager, NotCurated, managed_policy
from transom.history.config import SummarizationConfig
from transom.history.entries import (
    ConversationEntry,
    MessageRole,
    ToolCall,
    entry_from_json,
    entry_to_json,
    entry_to_provider_message,
    provider_message_to_entry,
)
from transom.history.managers import (
    ComposedManager,
    HistoryManager,
    ObservableManager,
    PassthroughManager,
    SessionProtocol,
    SlidingWindowManager,
    ToolResultTruncator,
    coherent,
)
from transom.history.session import Session, append, log_to_entries

__all__ = [
    "ComposedManager",
    "ConversationEntry",
    "ConversationRecorded",
    "EngineManager",
    "HistoryCurated",
    "HistoryManager",
    "MessageRole",
    "NotCurated",
    "ObservableManager",
    "PassthroughManager",
    "Session",
    "SessionProtocol",
    "SlidingWindowManager",
    "SummarizationConfig",
    "ToolCall",
    "ToolResultTruncator",
    "append",
    "coherent",
    "entry_from_json",
    "entry_to_json",
    "entry_to_provider_message",
    "log_to_entries",
    "managed_policy",
    "provider_message_to_entry",
]
