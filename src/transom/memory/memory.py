"""The memory of one user, or of a store, under one name: blocks and an archive."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote as percent_encoded
from urllib.parse import unquote

from msgspec.structs import replace

from transom import quoting, texts
from transom.clock import Clock, system_clock
from transom.errors import InvalidSetting, MemoryConflict, UnknownLog, quote
from transom.memory import block_log, blocks
from transom.memory.archive import Archive
from transom.memory.blocks import DEFAULT_LIMIT, Block, BlockVersion
from transom.redaction import Redacting, redactor
from transom.stores import Store, StoredLog, open_store

if TYPE_CHECKING:
    from transom.core.view import View

ROOT = ".memory"
"""The beginning of the names of memory logs. A log below ".memory/" or ".memory-archive/" is no conversation."""


class Memory:
    """Labelled blocks that a model reads and edits, and an archive that it searches; they outlive a conversation.

    All of it belongs to `user_id` and `name`. A memory opened on the same store with the same two is the same memory,
    in other conversations, processes and agents; nobody else sees it. Without a user the memory belongs to the store.
    `agent`: the name that the history gives for the edits made here.

    Every edit makes a new version from the newest text, so no edit is lost, and returns the block with that version.
    Some edits depend on the text that this memory has read: `rethink`, `insert` at a line, and `replace` of a text that
    is gone. They raise MemoryConflict if the block has changed since then. The error has the newer text, which now
    counts as read: look at it, and edit again.

    `redact`: applied to each text before it is stored. A memory may be used from several threads. Raises InvalidSetting
    if `store` is no store, and for a wrong `redact`; `open` takes a URL too, and checks the names.
    """

    def __init__(
        self,
        store: Store,
        *,
        user_id: str | None = None,
        name: str = "memory",
        agent: str = "",
        clock: Clock = system_clock,
        redact: Redacting | None = None,
    ) -> None:
        if not callable(getattr(store, "open", None)):
            raise InvalidSetting(f"memory: must be given a store, or be opened with Memory.open, not {quote(store)}")
        self._store, self.user_id, self.name, self.agent, self._clock = store, user_id or "", name, agent, clock
        self._redact = redactor(redact)
        self._lock = threading.RLock()
        self._logs: dict[str, StoredLog] = {}
        self._seen: dict[str, int] = {}
        self._own_store = False

    @classmethod
    def open(
        cls,
        store: str | os.PathLike[str] | Store,
        *,
        user_id: str | None = None,
        name: str = "memory",
        agent: str = "",
        clock: Clock = system_clock,
        redact: Redacting | None = None,
    ) -> Self:
        """Open a memory in a store: a URL, a path, or a store object, as for `Conversation.open`.

        `close` closes the store unless you passed a store object.

        `user_id`: whose memory it is; None: the memory belongs to the store, and everybody who uses the store shares
        it. `redact`: what must not be stored, as for `Conversation.open`, because a memory is read in other
        conversations than the one where it was said. Raises InvalidSetting if `user_id` is empty, if `user_id`, `name`
        or `agent` is not a text, and for a wrong `redact`; and what opening the store raises.
        """
        if user_id is not None and (not isinstance(user_id, str) or not user_id):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidSetting(f"memory: user_id must be a text of at least one character, not {quote(user_id)}")
        for what, value in (("name", name), ("agent", agent)):
            if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without types
                raise InvalidSetting(f"memory: {what} must be a text, not {quote(value)}")
        opened = open_store(store)
        memory = cls(opened, user_id=user_id, name=name, agent=agent, clock=clock, redact=redact)
        memory._own_store = opened is not store
        return memory

    # ---- blocks

    def add_block(self, label: str, description: str = "", *, text: str = "", limit: int = DEFAULT_LIMIT) -> Block:
        """Create a block and return it. If there is one with this label, nothing changes, and that block is returned.
        In both cases it counts as read: see `block`.

        `label`: white space at its ends is removed. `description`: what it is for, which the model reads; `limit`: the
        most characters of its text, 2,000 if not given. Raises InvalidSetting if the label is not 1 to 64 printable
        characters without square brackets, if `limit` is not a whole number from 1, if `description` or `text` is not a
        text, or if `text` is longer than `limit`.
        """
        label = blocks.checked_label(label)
        description = blocks.checked_text(f"memory block {label}: description", description)
        text = blocks.checked_text(f"memory block {label}: text", text)
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidSetting(f"memory block {label}: limit must be a number of characters, not {quote(limit)}")
        with self._lock:
            block = block_log.newest(self._log(label), label)
            if block.version:
                return self._now_seen(block)
            new = Block(label=label, text=text, description=description, limit=limit)
            return self._edit(label, "add", lambda now: now if now.version else new)

    def blocks(self) -> list[Block]:
        """Return every block as it is now, sorted by label. All of them then count as read: see `block`."""
        with self._lock:
            return [self.block(label) for label in self.labels()]

    def labels(self) -> list[str]:
        """Return the labels of the blocks, sorted. The blocks do not count as read."""
        prefix = self._log_name("")
        return sorted(unquote(name.removeprefix(prefix)) for name in self._store.names(prefix))

    def block(self, label: str) -> Block:
        """Return a block as it is now. Raises InvalidSetting if there is none with this label.

        This version then counts as read: `rethink`, and `insert` at a line, raise MemoryConflict if the block has
        changed since.
        """
        label = blocks.checked_label(label)
        with self._lock:
            block = block_log.newest(self._log(label), label)
            if not block.version:
                self._logs.pop(label, None)
                raise InvalidSetting(
                    f"memory: there is no block {quote(label)}; there are: {', '.join(self.labels()) or 'none'}"
                )
            return self._now_seen(block)

    def append(self, label: str, text: str) -> Block:
        """Add a line at the end of a block. It is added whatever other agents have changed.

        Raises InvalidSetting if there is no such block, if `text` is not a text, or if the block would exceed its
        limit.
        """
        text = blocks.checked_text("memory: text", text)
        return self._edit_text(label, "append", lambda now, _: blocks.appended(now, text))

    def replace(self, label: str, old: str, new: str) -> Block:
        """Replace `old`, which the block must contain exactly once, by `new`; an empty `new` removes it. What other
        agents have changed elsewhere in the block stays.

        Raises InvalidSetting if there is no such block, if `old` or `new` is not a text, if `old` is empty or does not
        occur exactly once, or if the text would exceed the limit; MemoryConflict if `old` is not there and the block
        has changed since this memory read it.
        """
        old, new = blocks.checked_text("memory: old", old), blocks.checked_text("memory: new", new)
        return self._edit_text(label, "replace", lambda now, seen: blocks.replaced(now, old, new, seen))

    def insert(self, label: str, text: str, line: int = -1) -> Block:
        """Insert a line: before the first line (0), behind line number `line` (from 1), or at the end (-1). A block
        that this memory has not read yet is edited as it is now.

        Raises InvalidSetting if there is no such block or line, if `text` is not a text or `line` not a whole number,
        or if the block would exceed its limit; MemoryConflict, unless `line` is -1, if the block has changed since this
        memory read it.
        """
        text, line = blocks.checked_text("memory: text", text), blocks.checked_number("memory: line", line)
        return self._edit_text(label, "insert", lambda now, seen: blocks.inserted(now, text, line, seen))

    def rethink(self, label: str, text: str) -> Block:
        """Replace the whole text of a block. A block that this memory has not read yet is replaced as it is now.

        Raises InvalidSetting if there is no such block, if `text` is not a text, or if it exceeds the limit;
        MemoryConflict if the block has changed since this memory read it. The MemoryConflict has the newer text, which
        counts as read: so the same call again replaces it.
        """
        text = blocks.checked_text("memory: text", text)

        def whole(now: Block, seen: int | None) -> str:
            blocks.require_newest(now, seen)
            return text

        return self._edit_text(label, "rethink", whole)

    def history(self, label: str) -> list[BlockVersion]:
        """Return every version of a block, the oldest first. Raises InvalidSetting if there is no such block. The
        newest version then counts as read: see `block`."""
        label = blocks.checked_label(label)
        with self._lock:
            self.block(label)
            return list(block_log.versions(self._log(label)))

    def restore(self, label: str, version: int) -> Block:
        """Write the text of an older version as a new version, and return the block. Its description and limit stay as
        they are now.

        What other agents have changed meanwhile is replaced too; `history` still has it. Raises InvalidSetting if there
        is no such block or version.
        """
        found = next((one for one in self.history(label) if one.version == version), None)
        if found is None:
            raise InvalidSetting(f"memory block {label}: there is no version {quote(version)}")
        return self._edit_text(label, "restore", lambda _now, _seen: found.text)

    def forget(self, label: str) -> None:
        """Remove a block for good, with all its versions. Raises InvalidSetting if there is none."""
        label = blocks.checked_label(label)
        with self._lock:
            self.block(label)
            self._logs.pop(label, None)
            self._seen.pop(label, None)
            with suppress(UnknownLog):
                self._store.forget(self._log_name(label))

    # ---- the archive

    @property
    def archive(self) -> Archive:
        """The archive of this memory: texts that no window shows by itself. They are stored, and found by search."""
        return Archive(
            self._store,
            f"{ROOT}-archive/{_encoded(self.user_id)}/{_encoded(self.name)}",
            user_id=self.user_id,
            agent=self.agent,
            redact=self._redact,
            clock=self._clock,
        )

    # ---- for a conversation

    def state(self) -> dict[str, Callable[[], str]]:
        """Return a function for each block that renders it as state: `Conversation.open(…, state=memory.state())`. The
        keys are "memory LABEL". A conversation of another user refuses them.

        The model reads a block when it changes, in a note at the end of the window, so the cached prefix stays. If a
        block is forgotten, a note says so. A block that is added later has no function here.
        """
        return {f"memory {label}": _BlockState(self, label) for label in self.labels()}

    def head_part(self) -> Callable[[View], str]:
        """Return a function that renders all blocks, each behind "[memory LABEL]": `Conversation.open(…,
        head_parts={"memory": memory.head_part()})`. A conversation of another user refuses it.

        The conversation calls it again only when the cached prefix breaks anyway, so until then the model may read an
        older version.
        """
        return _BlocksInHead(self)

    def tools(self) -> list[Callable[..., Any]]:
        """Return the tools by which a model edits the blocks and uses the archive: `tools=[*memory.tools()]`.

        A model can neither create nor forget a block with them, and `archive_search` gives at most 10 texts with 8,000
        characters together. A model is told of a MemoryConflict, with the newer text; other errors of the memory are
        raised by the tool.
        """
        return _tools_of(self)

    def text_of(self, block: Block) -> str:
        """Render a block for the model: what it is for, how full it is, and its text, marked as data."""
        shown = texts.memory_text(block.text, block.limit, [f"memory {label}" for label in sorted(self._seen)])
        about = quoting.in_a_line(" ".join(block.description.split()))
        return f"{about} {shown}" if about else shown

    def close(self) -> None:
        """Close the store, if `open` opened it. Every edit is stored without it."""
        if self._own_store:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ---- how

    def _edit_text(self, label: str, operation: str, change: Callable[[Block, int | None], str]) -> Block:
        """Write `change(newest, seen)` as the new text of a block that must exist. `seen`: the version of it that this
        memory has read."""
        label = blocks.checked_label(label)
        with self._lock:
            seen = self._seen.get(label)
            if seen is None:
                self.block(label)  # raises if there is none; an edit without having read is of what there is now
                seen = self._seen[label]
            try:
                return self._edit(label, operation, lambda now: replace(now, text=change(now, seen)))
            except MemoryConflict:
                self.block(label)  # the error has told the newest text
                raise

    def _edit(self, label: str, operation: str, change: Callable[[Block], Block]) -> Block:
        """Write `change(newest)`, redacted, as the new version of a block. It then counts as read."""
        return self._now_seen(
            block_log.edit(
                self._log(label),
                label,
                lambda now: self._redacted(change(now)),
                operation=operation,
                by=self.agent,
                user_id=self.user_id,
                clock=self._clock,
            )
        )

    def _redacted(self, block: Block) -> Block:
        """The block, redacted. Its text may repeat a secret that only its description calls one, and the reverse."""
        if self._redact is None:
            return block
        secrets = self._redact.secrets((block.text, block.description))
        text, description = self._redact(block.text, secrets), self._redact(block.description, secrets)
        return replace(block, text=text, description=description)

    def _now_seen(self, block: Block) -> Block:
        """Note that this memory has read this version of a block; returns the block."""
        self._seen[block.label] = block.version
        return block

    def _log(self, label: str) -> StoredLog:
        if label not in self._logs:
            self._logs[label] = self._store.open(self._log_name(label))
        return self._logs[label]

    def _log_name(self, label: str) -> str:
        return "/".join([ROOT, *(_encoded(part) for part in (self.user_id, self.name, label))])


def _encoded(part: str) -> str:
    """Percent-encode a part of a log's name, so that it has no slash. An id may have lone surrogates."""
    return percent_encoded(part, safe="", errors="surrogatepass")


def is_memory_of(log: str, user_id: str) -> bool:
    """True if a log is a block or an archive of this user, in a memory of any name. `log`: the name of the log.
    `user_id`: empty for the memories that belong to the store."""
    user = _encoded(user_id)
    return log.startswith((f"{ROOT}/{user}/", f"{ROOT}-archive/{user}/"))


class _BlockState:
    """Reads a block as announced state. A conversation may call it from any thread."""

    def __init__(self, memory: Memory, label: str) -> None:
        self._memory, self._label = memory, label
        self.user_id = memory.user_id  # a conversation of another user refuses it

    def __call__(self) -> str:
        try:
            return self._memory.text_of(self._memory.block(self._label))
        except InvalidSetting:
            return texts.memory_forgotten(self._label)


class _BlocksInHead:
    """Renders all blocks as a part of the head."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.user_id = memory.user_id  # a conversation of another user refuses it

    def __call__(self, view: View) -> str:  # noqa: ARG002 - blocks do not depend on it
        memory = self._memory
        return "\n\n".join(f"[memory {block.label}] {memory.text_of(block)}" for block in memory.blocks())


MOST_FOUND = 10
"""The maximum number of texts that one search of the archive returns."""

MOST_CHARACTERS = 8_000
"""The maximum number of characters of all texts that one search returns."""


def _tools_of(memory: Memory) -> list[Callable[..., Any]]:
    """The tools of one memory, as functions, whose names and docstrings the model reads. Each returns a text for the
    model, also after a MemoryConflict. What else the memory raises, a tool raises too: for example InvalidSetting for
    an unknown label."""

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


def _edited(memory: Memory, edit: Callable[[], Block]) -> str:
    """Make an edit, and return the block as the model reads it; after a conflict the newest text, to edit that."""
    try:
        return memory.text_of(edit())
    except MemoryConflict as changed:
        return texts.memory_changed(changed.label, changed.newest)
