"""Memory that outlives a conversation: labelled blocks that the model reads and edits, and an archive that it searches.

`docs/memory.md` shows how to use it.
"""

from __future__ import annotations

from transom.memory.archive import Archive, Remembered
from transom.memory.blocks import Block, BlockVersion
from transom.memory.memory import Memory

__all__ = ["Archive", "Block", "BlockVersion", "Memory", "Remembered"]
