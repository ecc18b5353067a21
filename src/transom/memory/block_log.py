"""Reads and writes the log of a memory block: each edit is an entry with the whole new text, so no version is lost.

Two agents may edit at once. An append names the length that the log must have. So the append of the agent that comes
second fails, and its edit is computed again from the newer text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, cast

from transom.clock import Clock
from transom.core.entry import Entry, Meta
from transom.core.message import Note
from transom.errors import Conflict
from transom.memory.blocks import DEFAULT_LIMIT, Block, BlockVersion, within_limit
from transom.stores import StoredLog

NOTE_FIELD = "memory"
"""The key of our fields in `Note.extra`."""


def newest(log: StoredLog, label: str) -> Block:
    """Return the newest version of a block. What other writers have appended to its log is read first. If the log has
    no version, a block of version 0 without text."""
    log.refresh()
    versions = (log[seq] for seq in range(len(log) - 1, -1, -1))
    return next((_block(entry, label) for entry in versions if isinstance(entry.body, Note)), Block(label=label))


def edit(
    log: StoredLog, label: str, change: Callable[[Block], Block], *, operation: str, by: str, user_id: str, clock: Clock
) -> Block:
    """Append `change(newest)` as a new version of the block, and return it.

    `change` is called again, with the newer block, if another writer appended first. Raises InvalidSetting if the new
    text is longer than the block's limit, and whatever `change` raises; nothing is stored then. `operation`, `by`:
    stored for the history; `user_id`: stored in the first entry.
    """

    def note_of() -> Note:
        changed = change(newest(log, label))
        within_limit(changed, changed.text)
        fields = {"operation": operation, "description": changed.description, "limit": changed.limit}
        return Note(key=label, text=changed.text, extra={NOTE_FIELD: fields})

    return _block(append_note(log, note_of, by=by, user_id=user_id, clock=clock), label)


def append_note(log: StoredLog, note_of: Callable[[], Note], *, by: str, user_id: str, clock: Clock) -> Entry:
    """Append the note that `note_of` makes, after what other agents have appended is read, and return its entry. If
    another agent appends first, `note_of` is called again; what it raises passes through, and nothing is stored.
    `user_id` is stored in the first entry of a log only, `by` in each."""
    while True:
        log.refresh()
        note = note_of()
        meta = Meta(agent_id=by, user_id=user_id if not len(log) else "")
        entry = Entry(seq=len(log), at=clock(), body=note, meta=meta)
        with suppress(Conflict):
            log.append([entry], entry.seq)
            return entry


def versions(log: StoredLog) -> Iterator[BlockVersion]:
    """Yield every version of a block, the oldest first. What other writers have appended to its log is read first."""
    log.refresh()
    for entry in log.read():
        if isinstance(note := entry.body, Note):
            fields = fields_of(note)
            yield BlockVersion(
                version=entry.seq + 1,
                at=entry.at,
                by=entry.meta.agent_id if entry.meta is not None else "",
                operation=str(fields.get("operation", "")),
                text=note.text,
            )


def _block(entry: Entry, label: str) -> Block:
    note = cast("Note", entry.body)
    fields = fields_of(note)
    limit = fields.get("limit")
    return Block(
        label=label,
        text=note.text,
        description=str(fields.get("description", "")),
        limit=limit if isinstance(limit, int) else DEFAULT_LIMIT,
        version=entry.seq + 1,
    )


def fields_of(note: Note) -> dict[str, Any]:
    """Our fields in a note of a memory: `Note.extra` under `NOTE_FIELD`. Empty if it has none, as a note of another
    program."""
    fields = (note.extra or {}).get(NOTE_FIELD)
    return cast("dict[str, Any]", fields) if isinstance(fields, dict) else {}
