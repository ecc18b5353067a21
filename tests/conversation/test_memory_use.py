"""What a process keeps of conversations that are over."""

from __future__ import annotations

import gc
import weakref

from transom import Conversation
from transom.providers.scripted import Scripted, call
from transom.stores.in_memory import MemoryStore


def look(n: int) -> str:
    """Look at a thing."""
    return f"found {n}"


def test_a_closed_conversation_is_freed_without_the_garbage_collector() -> None:
    """A server runs many: what only a full collection frees makes each of them longer, and it blocks every thread."""
    gc.collect()
    gc.disable()
    try:
        conv = Conversation.open(MemoryStore(), "trip", budget=8_000)
        conv.run("Look.", provider=Scripted(call("look", n=1), "Done."), tools=[look])
        indexes, itself = weakref.ref(conv.indexes), weakref.ref(conv)
        conv.close()
        del conv
        assert (itself(), indexes()) == (None, None)
    finally:
        gc.enable()
