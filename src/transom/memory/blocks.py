"""A memory block as a value, and its edits as pure functions from one text to the next."""

from __future__ import annotations

from msgspec import Struct

from transom import texts
from transom.errors import InvalidSetting, MemoryConflict, quote

LIMIT = 2_000
"""Characters of a block, if nobody says."""

MOST_LABEL = 64
"""Characters of a label."""


class Block(Struct, frozen=True, kw_only=True):
    """One labelled text. `limit`: the most characters of it. `version`: how many edits made it; 0 before the first."""

    label: str
    text: str = ""
    description: str = ""
    limit: int = LIMIT
    version: int = 0


class BlockVersion(Struct, frozen=True, kw_only=True):
    """One edit of a block: its number from 1, when (seconds since the epoch), by which agent, by which operation, and
    the text that it made."""

    version: int
    at: float
    by: str
    operation: str
    text: str


def checked_label(label: object) -> str:
    """A label as it is stored. Raises InvalidSetting."""
    if (
        not isinstance(label, str)
        or not label.strip()
        or len(label) > MOST_LABEL
        or not label.isprintable()
        or set(label) & set("[]")
    ):
        raise InvalidSetting(
            f"memory: a label has 1 to {MOST_LABEL} printable characters and no square brackets, not {quote(label)}"
        )
    return label.strip()


def within_limit(block: Block, text: str) -> str:
    """The new text of a block. Raises InvalidSetting if it is too long."""
    if len(text) > block.limit:
        raise InvalidSetting(
            f"memory block {block.label}: {len(text):,} characters, limit {block.limit:,}: shorten the block first, or "
            "store the text in the archive"
        )
    return text


def appended(block: Block, text: str) -> str:
    """The text of a block with one more line."""
    return f"{block.text.rstrip()}\n{text}" if block.text.strip() else text


def replaced(block: Block, old: str, new: str, seen: int | None) -> str:
    """The text of a block with `old`, which it has once, replaced. Raises InvalidSetting; MemoryConflict if `old` is
    gone since version `seen`."""
    times = block.text.count(old) if old else 0
    if times == 1:
        return block.text.replace(old, new)
    if not times and old and seen is not None and seen != block.version:
        raise conflict(block)
    why = "is not in it" if old and not times else f"is in it {times:,} times: give more of it" if old else "is empty"
    raise InvalidSetting(f"memory block {block.label}: the old text {quote(old)} {why}")


def inserted(block: Block, text: str, line: int, seen: int | None) -> str:
    """The text of a block with a line inserted: 0 before the first, -1 behind the last. Raises InvalidSetting;
    MemoryConflict if its lines have changed since version `seen`."""
    if line == -1:
        return appended(block, text)
    require_newest(block, seen)
    lines = block.text.split("\n") if block.text else []
    if not 0 <= line <= len(lines):
        raise InvalidSetting(f"memory block {block.label}: there is no line {line}; it has {len(lines)} lines")
    return "\n".join([*lines[:line], text, *lines[line:]])


def require_newest(block: Block, seen: int | None) -> None:
    """Raises MemoryConflict, with the newest text, if somebody has changed a block since version `seen`."""
    if seen != block.version and block.version:
        raise conflict(block)


def conflict(block: Block) -> MemoryConflict:
    """The error that tells an agent what a block says now."""
    return MemoryConflict(block.label, texts.memory_text(block.text, block.limit))
