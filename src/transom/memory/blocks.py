"""A memory block as a value, its edits as pure functions from one text to the next, and the checks of what callers pass
to a memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from msgspec import Struct

from transom import texts
from transom.errors import InvalidSetting, MemoryConflict, quote

DEFAULT_LIMIT = 2_000
"""The limit of a block if the caller gives none, in characters of its text."""

MAX_LABEL_CHARACTERS = 64
"""The maximum number of characters of a label."""


class Block(Struct, frozen=True, kw_only=True):
    """A labelled text that a model reads and edits.

    `description`: what it is for. `limit`: the maximum number of characters of `text`, 2,000 if not given. `version`:
    the number of the edit that made it, from 1; 0 if the block does not exist yet.
    """

    label: str
    """The name of the block, by which the model and the tools name it."""
    text: str = ""
    description: str = ""
    limit: int = DEFAULT_LIMIT
    version: int = 0


class BlockVersion(Struct, frozen=True, kw_only=True):
    """One edit of a block, and the text that it made.

    `version`: its number, from 1. `at`: the time, in seconds since the epoch. `by`: the name of the agent; empty if it
    has none. `operation`: "add", "append", "replace", "insert", "rethink" or "restore".
    """

    version: int
    at: float
    by: str
    operation: str
    text: str
    """The whole text after the edit."""


def checked_label(label: object) -> str:
    """Return the label without white space at both ends.

    Raises InvalidSetting unless it is a text of 1 to 64 printable characters, with that white space, not only blanks,
    without square brackets.
    """
    if (
        not isinstance(label, str)
        or not label.strip()
        or len(label) > MAX_LABEL_CHARACTERS
        or not label.isprintable()
        or set(label) & set("[]")
    ):
        raise InvalidSetting(
            f"memory: a label has 1 to {MAX_LABEL_CHARACTERS} printable characters and no square brackets, "
            f"not {quote(label)}"
        )
    return label.strip()


def within_limit(block: Block, text: str) -> str:
    """Return `text` unchanged. Raises InvalidSetting if it has more characters than the block's limit."""
    if len(text) > block.limit:
        raise InvalidSetting(
            f"memory block {block.label}: {len(text):,} characters, limit {block.limit:,}: shorten the block first, or "
            "store the text in the archive"
        )
    return text


def appended(block: Block, text: str) -> str:
    """Return the text of the block with `text` as a new line, or several, at its end. White space at the end of the old
    text is removed; in a blank block, `text` is all. The limit is not checked: see `within_limit`."""
    return f"{block.text.rstrip()}\n{text}" if block.text.strip() else text


def replaced(block: Block, old: str, new: str, seen: int | None) -> str:
    """Return the text of the block with `old`, which must occur exactly once, replaced by `new`. The limit is not
    checked.

    `seen`: the version of the block that the caller has read, None if none. Raises InvalidSetting if `old` is empty,
    occurs more than once or not at all; MemoryConflict instead if it does not occur, and the caller has read another
    version (`seen` is neither None nor the newest).
    """
    times = block.text.count(old) if old else 0
    if times == 1:
        return block.text.replace(old, new)
    if not times and old and seen is not None and seen != block.version:
        raise conflict(block)
    why = "is not in it" if old and not times else f"is in it {times:,} times: give more of it" if old else "is empty"
    raise InvalidSetting(f"memory block {block.label}: the old text {quote(old)} {why}")


def inserted(block: Block, text: str, line: int, seen: int | None) -> str:
    """Return the text of the block with `text` inserted: before the first line (0), behind line `line` (from 1), or at
    the end (-1, as `appended`). The limit is not checked.

    `seen`: the version of the block that the caller has read, None if none. Raises InvalidSetting if there is no such
    line; MemoryConflict, unless `line` is -1, if the newest version is not `seen`, also if `seen` is None.
    """
    if line == -1:
        return appended(block, text)
    require_newest(block, seen)
    lines = block.text.split("\n") if block.text else []
    if not 0 <= line <= len(lines):
        raise InvalidSetting(f"memory block {block.label}: there is no line {line}; it has {len(lines)} lines")
    return "\n".join([*lines[:line], text, *lines[line:]])


def require_newest(block: Block, seen: int | None) -> None:
    """Raise MemoryConflict, with the newest text, if the block has another version than `seen`, also if `seen` is None.
    A block that does not exist (version 0) never raises."""
    if seen != block.version and block.version:
        raise conflict(block)


def conflict(block: Block) -> MemoryConflict:
    """Make the error for a block that somebody else has changed; the caller raises it. It tells the agent what the
    block contains now, quoted as data (`texts.memory_text`)."""
    return MemoryConflict(block.label, texts.memory_text(block.text, block.limit))


def checked_text(what: str, value: object) -> str:
    """Return `value` if it is a text. A value of a subclass of `str` becomes a plain `str`. Raises InvalidSetting for
    any other value. `what`: how the error names the value."""
    if not isinstance(value, str):
        raise InvalidSetting(f"{what} must be a text, not {quote(value)}")
    return str.__str__(value)


def checked_number(what: str, value: object) -> int:
    """Return a whole number unchanged. `what`: how the error names it. Raises InvalidSetting for anything else, also
    for a bool."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidSetting(f"{what} must be a whole number, not {quote(value)}")
    return value


def checked_tags(value: object) -> list[str]:
    """Return the tags of a text of the archive as a list. Raises InvalidSetting unless it is an iterable of texts, such
    as a list; a single text, bytes and a mapping are refused."""
    if isinstance(value, str | bytes | bytearray | Mapping) or not isinstance(value, Iterable):
        raise InvalidSetting(f"archive: tags must be a list of texts, not {quote(cast('object', value))}")
    return [checked_text("archive: a tag", tag) for tag in cast("Iterable[object]", value)]
