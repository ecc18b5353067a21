"""The archive: texts that are stored once and found by search, instead of being in every window."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress

from msgspec import Struct

from transom.clock import Clock
from transom.core.entry import Entry
from transom.core.message import Note
from transom.errors import InvalidSetting, UnknownLog, quote
from transom.memory.block_log import NOTE_FIELD, append_note, fields_of
from transom.memory.blocks import checked_number, checked_tags, checked_text
from transom.redaction import Redactor
from transom.search import SearchFilters, search_index
from transom.stores import Store

MAX_TEXT_CHARACTERS = 20_000
"""The maximum number of characters of one text."""


class Remembered(Struct, frozen=True, kw_only=True):
    """One text of the archive.

    `number`: what `Archive.read` takes. `at`: when it was stored, in seconds since the epoch. `tags`: those that it was
    stored with. `score`: how well it fits the query of a search; greater is better, and only the scores of one answer
    can be compared. 0 if it does not come from a search.
    """

    number: int
    at: float
    text: str
    """The text."""
    tags: tuple[str, ...] = ()
    score: float = 0.0


class Archive:
    """The texts of one memory: `Memory.archive` gives it, and `len` counts them. It is one log, which the first `store`
    creates."""

    def __init__(
        self, store: Store, name: str, *, user_id: str, agent: str, clock: Clock, redact: Redactor | None = None
    ) -> None:
        self._redact = redact
        self._store, self._name, self._user_id, self._agent, self._clock = store, name, user_id, agent, clock
        self._lock = threading.Lock()

    def store(self, text: str, tags: Iterable[str] = ()) -> int:
        """Store a text and return its number, from 0, which `read` takes. White space at both ends of the text is
        removed. Then the memory's `redact` is applied to the text and to the tags. The same text may be stored twice.

        Raises InvalidSetting if `text` is not a text, if it has no characters or more than 20,000 without that white
        space, or if `tags` is a single text or has anything but texts.
        """
        words, marks = checked_text("archive: text", text).strip(), checked_tags(tags)
        if not words or len(words) > MAX_TEXT_CHARACTERS:
            raise InvalidSetting(f"archive: a text has 1 to {MAX_TEXT_CHARACTERS:,} characters, not {len(words):,}")
        if self._redact is not None:
            secrets = self._redact.secrets((words, *marks))  # a tag may repeat a secret that only the text calls one
            words, marks = self._redact(words, secrets), [self._redact(mark, secrets) for mark in marks]
        with self._lock:
            log = self._store.open(self._name)
            note = Note(key="", text=words, extra={NOTE_FIELD: {"tags": marks}})
            entry = append_note(log, lambda: note, by=self._agent, user_id=self._user_id, clock=self._clock)
        return entry.seq

    def search(self, query: str, limit: int = 5) -> list[Remembered]:
        """Return the texts that fit a query best, the best first, at most `limit`. New texts are indexed first. Empty
        if none fits, or if the query has no words.

        Raises InvalidSetting if `query` is not a text, or if `limit` is not a whole number from 1 to 1,000.
        """
        query, limit = checked_text("archive: query", query), checked_number("archive: limit", limit)
        index = search_index(self._store)
        index.update([self._name])
        hits = index.search(query, filters=SearchFilters(conversations=(self._name,)), limit=limit)
        log = self._store.open(self._name)
        return [_remembered(log[hit.entry], hit.score) for hit in hits]

    def read(self, number: int) -> Remembered:
        """Return the text with this number. Raises InvalidSetting if there is none."""
        number = checked_number("archive: number", number)
        log = self._store.open(self._name)
        if not 0 <= number < len(log):
            raise InvalidSetting(f"archive: there is no text {quote(number)}; it has {len(log):,}")
        return _remembered(log[number])

    def __len__(self) -> int:
        return len(self._store.open(self._name))

    def forget(self) -> None:
        """Remove the whole archive for good: its texts, and what the search index has of them. Does nothing if it is
        empty."""
        search_index(self._store).forget([self._name])
        with suppress(UnknownLog):
            self._store.forget(self._name)


def _remembered(entry: Entry, score: float = 0.0) -> Remembered:
    note = entry.body
    assert isinstance(note, Note)
    tags = fields_of(note).get("tags", ())
    return Remembered(number=entry.seq, at=entry.at, text=note.text, tags=tuple(map(str, tags)), score=score)
