"""The tools by which a model edits its memory. Their names and docstrings are what the model reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from transom import texts
from transom.errors import MemoryConflict

if TYPE_CHECKING:
    from transom.memory.archive import Archive
    from transom.memory.blocks import Block


class EditableMemory(Protocol):
    """What the tools need of a memory: see `Memory`."""

    @property
    def archive(self) -> Archive: ...
    def append(self, label: str, text: str) -> Block: ...
    def replace(self, label: str, old: str, new: str) -> Block: ...
    def insert(self, label: str, text: str, line: int = -1) -> Block: ...
    def rethink(self, label: str, text: str) -> Block: ...
    def text_of(self, block: Block) -> str: ...


MOST_FOUND = 10
"""The maximum number of texts that one search of the archive returns."""

MOST_CHARACTERS = 8_000
"""The maximum number of characters of all texts that one search returns."""


def memory_tools(memory: EditableMemory) -> list[Callable[..., Any]]:
    """Return the tools of one memory, as functions. Each returns a text for the model, also after a MemoryConflict.
    What else the memory raises, a tool raises too: for example InvalidSetting for an unknown label."""

    def memory_append(label: str, text: str) -> str:
        """Add a line to the end of one of your memory blocks.

        Args:
            label: the block
            text: what to remember
        """
        return _edited(memory, lambda: memory.append(label, text))

    def memory_replace(label: str, old: str, new: str) -> str:
        """Replace a text in one of your memory blocks. An empty new text removes the old one.

        Args:
            label: the block
            old: a text that the block has exactly once
            new: what stands there from now on
        """
        return _edited(memory, lambda: memory.replace(label, old, new))

    def memory_insert(label: str, text: str, line: int = -1) -> str:
        """Insert a line into one of your memory blocks.

        Args:
            label: the block
            text: the line
            line: behind which line; 0 is the beginning, -1 the end
        """
        return _edited(memory, lambda: memory.insert(label, text, line))

    def memory_rethink(label: str, text: str) -> str:
        """Write one of your memory blocks anew, for example to make it shorter.

        Args:
            label: the block
            text: the whole new text
        """
        return _edited(memory, lambda: memory.rethink(label, text))

    def archive_store(text: str, tags: list[str] | None = None) -> str:
        """Store a text for later that need not be in every window. Find it again with archive_search.

        Args:
            text: what to store
            tags: a few words that it belongs to
        """
        return texts.archived(memory.archive.store(text, tags or ()))

    def archive_search(query: str, limit: int = 5) -> str:
        """Find texts that were stored with archive_store, also in other conversations.

        Args:
            query: what to look for, in a few words
            limit: the most texts to give
        """
        found = memory.archive.search(query, max(1, min(int(limit), MOST_FOUND)))
        left, shown = MOST_CHARACTERS, list[str]()
        for at, one in enumerate(found):
            if not left:
                shown.append(texts.archive_more(len(found) - at))
                break
            shown.append(texts.archive_text(one.number, one.text[:left], one.tags, cut=len(one.text) > left))
            left -= min(left, len(one.text))
        return "\n".join(shown) or texts.NOTHING_FOUND

    return [memory_append, memory_replace, memory_insert, memory_rethink, archive_store, archive_search]


def _edited(memory: EditableMemory, edit: Callable[[], Block]) -> str:
    """Make an edit, and return the block as the model reads it. After a conflict, return the newest text instead, so
    that the model can edit that."""
    try:
        return memory.text_of(edit())
    except MemoryConflict as changed:
        return texts.memory_changed(changed.label, changed.newest)
