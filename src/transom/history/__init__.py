"""The bridge to lists of messages: history managers, conversation entries, sessions.

    from transom.history import SlidingWindowManager, managed_policy

    conv = transom.Conversation.open(url, id, budget=32_000, policy=managed_policy(SlidingWindowManager(20)))

Any object with `curate(messages, *, session)` is a manager. One can stand alone, between a runner and its provider; or
drive the engine (`managed_policy`), which keeps what it does valid, in budget and undoable; and `EngineManager` is the
engine as a manager.
"""

from transom.history.bridge import EngineManager, ManagedStrategy, NotCurated, managed_policy
from transom.history.coherence import coherent
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
from transom.history.events import ConversationRecorded, HistoryCurated
from transom.history.logged import entry_to_fact, entry_to_meta, evaluation_uuid, log_to_entries
from transom.history.managers import (
    ComposedManager,
    ObservableManager,
    ObservableSlidingWindowManager,
    PassthroughManager,
    SlidingWindowManager,
    ToolResultTruncator,
)
from transom.history.protocol import CurationContext, HistoryManager, Publisher, SessionProtocol
from transom.history.react import react
from transom.history.recording import Recorder
from transom.history.session import (
    Reducer,
    ReducerContext,
    Session,
    append,
    get_evaluation_history,
    get_role_history,
    get_run_history,
    replace_latest,
    select_all,
    select_where,
)

__all__ = [
    "ComposedManager",
    "ConversationEntry",
    "ConversationRecorded",
    "CurationContext",
    "EngineManager",
    "HistoryCurated",
    "HistoryManager",
    "ManagedStrategy",
    "MessageRole",
    "NotCurated",
    "ObservableManager",
    "ObservableSlidingWindowManager",
    "PassthroughManager",
    "Publisher",
    "Recorder",
    "Reducer",
    "ReducerContext",
    "Session",
    "SessionProtocol",
    "SlidingWindowManager",
    "SummarizationConfig",
    "ToolCall",
    "ToolResultTruncator",
    "append",
    "coherent",
    "entry_from_json",
    "entry_to_fact",
    "entry_to_json",
    "entry_to_meta",
    "entry_to_provider_message",
    "evaluation_uuid",
    "get_evaluation_history",
    "get_role_history",
    "get_run_history",
    "log_to_entries",
    "managed_policy",
    "provider_message_to_entry",
    "react",
    "replace_latest",
    "select_all",
    "select_where",
]
