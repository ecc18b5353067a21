"""History managers: code that takes the messages of a conversation and returns those that the model shall see.

    from transom.history import SlidingWindowManager, managed_policy

    conv = transom.Conversation.open(url, id, budget=32_000, policy=managed_policy(SlidingWindowManager(20)))

A manager is any object with `curate(messages, *, session)`. `session` is any object or None: Transom passes it on, and
reads nothing of it. A manager can be used alone, between a runner and its provider. With `managed_policy` it becomes a
part of a policy: its changes are edits that can be undone, and every window is valid and within the budget.
`EngineManager` is the reverse: Transom's own planning as a manager.
"""

from transom.history.bridge import EngineManager, NotCurated, managed_policy
from transom.history.managers import (
    ComposedManager,
    HistoryManager,
    PassthroughManager,
    SlidingWindowManager,
    ToolResultTruncator,
    coherent,
)

__all__ = [
    "ComposedManager",
    "EngineManager",
    "HistoryManager",
    "NotCurated",
    "PassthroughManager",
    "SlidingWindowManager",
    "ToolResultTruncator",
    "coherent",
    "managed_policy",
]
