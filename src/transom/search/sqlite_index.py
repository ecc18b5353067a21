"""The search index of every store that has no database of its own for it: SQLite's FTS5.

A row of `words` is an entry. The upper half of its number is the number of the conversation, the lower half that of the
entry, so a conversation is a range, which FTS5 reads without looking at others. What an entry belongs to (role, tool,
run, user, …) is in the column `scope`, one word for each, so a filter is a part of the query.

A word of a query that no entry has may be a part of longer words: `vocabulary` has every word once, and `parts` its
trigrams. `docs/why/search.md` says why it is made this way.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from threading import RLock

from transom.core.entry import Entry, Forked
from transom.core.log import Owner, owner_of
from transom.errors import StoreDamaged, StoreUnavailable, UnknownLog
from transom.search.base import ANYTHING, Embedder, SearchFilters, SearchHit
from transom.search.entry_text import LOOK_BACK, SearchText, SearchTexts
from transom.search.fusion import fused
from transom.search.index_file import MEMORY, IndexFile
from transom.search.indexed_store import (
    LogSource,
    LogStamp,
    StoreSource,
    is_own_log,
    log_stamps,
    store_stamp,
    stored_name,
    true_name,
)
from transom.search.ranking import HIDDEN, SEQ_BITS, check_search, fts_filter_of, rankings, scope_word, shown
from transom.search.snippets import snippet
from transom.search.vectors import nearest, update_vectors
from transom.search.words import indexable, query_terms, text_of_indexed, words_of

BATCH_ENTRIES = 500
"""Entries that one transaction indexes. Another process that indexes waits for as long as it takes."""
_HANDLES = 64
_LONGEST_WORD = 64

_logger = logging.getLogger(__name__)

_ENTRY = "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, 0)"
_COPIES = "UPDATE entries SET said_in = ?, is_copy = 1 WHERE row BETWEEN ? AND ? AND NOT is_copy"
_WORDS = "INSERT INTO words (rowid, scope, about, text) VALUES (?, ?, ?, ?)"
_LOG = "INSERT INTO logs (name, identity, stamp, length, user_id, session_id) VALUES (?, ?, '', 0, ?, ?)"
_HIT = "SELECT at, role, tool, text FROM entries JOIN words ON words.rowid = row WHERE row = ?"
_COUNT_WORD = """INSERT INTO vocabulary (word, entries) VALUES (?, ?)
                 ON CONFLICT DO UPDATE SET entries = entries + excluded.entries"""


class SqliteIndex:
    """The search index of one store, in a file beside it or in memory.

    `path`: of the file. If `path` is None or the file cannot be written, the index is in memory, and each process makes
    its own.
    """

    def __init__(self, store: StoreSource, path: Path | None = None) -> None:
        self._store, self._path = store, path
        self._lock = RLock()
        self._opened: IndexFile | None = None
        self._handles: dict[str, LogSource] = {}
        self._seen: object = None  # the stamp of the store when all of it had been indexed

    # ---- what is said is indexed

    def update(
        self, conversations: Iterable[str] | None = None, *, embedder: Embedder | None = None, most: int | None = None
    ) -> int:
        """Index new entries, as `SearchIndex.update` says.

        A damaged conversation that was not named is skipped with a warning.
        """
        names = None if conversations is None else dict.fromkeys(conversations)
        with self._lock:
            done, stamp = 0, store_stamp(self._store)
            if names is not None or stamp is None or stamp != self._seen:
                done = self._update(names, most)
                if names is None and (most is None or done < most):
                    self._seen = stamp
            if embedder is not None:
                with self._file.connection() as db:
                    logs = None if names is None else self._logs(db, names)
                done += update_vectors(self._file, embedder, logs, None if most is None else most - done)
        return done

    def _update(self, names: Collection[str] | None, most: int | None) -> int:
        with self._file.connection() as db:
            rows = db.execute("SELECT name, identity, stamp FROM logs").fetchall()
        found = (LogStamp(true_name(name), identity, stamp) for name, identity, stamp in rows)
        known = {
            each.name: each for each in found if (not is_own_log(each.name) if names is None else each.name in names)
        }
        current = {each.name: each for each in log_stamps(self._store, names)}
        if gone := [name for name in known if name not in current or current[name].identity != known[name].identity]:
            self.forget(gone)
        done = 0
        for each in current.values():
            if most is not None and done >= most:
                break
            if known.get(each.name) != each:
                try:
                    done += self._index(each, None if most is None else most - done)
                except StoreDamaged as problem:
                    if names is not None:
                        raise
                    _logger.warning("not searched: %s", problem)
        return done

    def _index(self, stamp: LogStamp, most: int | None) -> int:
        """Index the new entries of a conversation in batches, and return their number."""
        done = 0
        with suppress(UnknownLog):  # forgotten meanwhile
            log = self._handle(stamp.name)
            while most is None or done < most:
                with self._file.writing() as db:
                    number, length = self._ensure_log_row(db, stamp, log)
                    entries = list(log.read(length, length + BATCH_ENTRIES))
                    if entries:
                        self._add(db, number, stamp.name, log, entries)
                    complete = length + len(entries) == len(log)
                    db.execute(
                        "UPDATE logs SET length = ?, stamp = ? WHERE id = ?",
                        (length + len(entries), stamp.stamp if complete else "", number),
                    )
                    log.refresh()  # raises UnknownLog if it was forgotten: then nothing of it is indexed
                done += len(entries)
                if complete:
                    break
        return done

    def _ensure_log_row(self, db: sqlite3.Connection, stamp: LogStamp, log: LogSource) -> tuple[int, int]:
        """Return the id of a conversation in the index, and how many of its entries are indexed; 0 for a new one."""
        found = db.execute("SELECT id, length FROM logs WHERE name = ?", (stored_name(stamp.name),)).fetchone()
        if found is not None:
            return found
        owner = owner_of(log)
        ids = stored_name(owner.user_id), stored_name(owner.session_id)
        number = db.execute(_LOG, (stored_name(stamp.name), stamp.identity, *ids)).lastrowid
        assert number is not None
        return number, 0

    def _add(self, db: sqlite3.Connection, number: int, name: str, log: LogSource, entries: Sequence[Entry]) -> None:
        texts, first = SearchTexts(), entries[0].seq
        for entry in log.read(max(0, first - LOOK_BACK), first):
            texts.skip(entry)
        owner = owner_of(log)
        shared = [scope_word("log", str(number))]
        if not is_own_log(name):  # those are found by their name only
            shared += [scope_word("user", owner.user_id)] if owner.user_id else []
            shared += [scope_word("session", owner.session_id)] if owner.session_id else []
        words = Counter[str]()
        found = [text for entry in entries if (text := texts.of(entry)) is not None]
        db.executemany(_ENTRY, [_entry_row(number, name, each, owner) for each in found])
        forks = [(e.seq, e.body.source) for e in entries if isinstance(e.body, Forked)]  # what stands before is a copy
        low = number << SEQ_BITS
        db.executemany(_COPIES, [(stored_name(source), low, low + seq) for seq, source in forks])
        db.executemany(_WORDS, [_words_row(number, each, shared, words) for each in found])
        (last,) = db.execute("SELECT coalesce(max(id), 0) FROM vocabulary").fetchone()
        db.executemany(_COUNT_WORD, words.items())
        db.execute("INSERT INTO parts (rowid, word) SELECT id, word FROM vocabulary WHERE id > ?", (last,))

    def _handle(self, name: str) -> LogSource:
        """Open a log, or refresh it if it is open: some stores read a whole log to open it."""
        if (log := self._handles.pop(name, None)) is not None:
            with suppress(UnknownLog):
                log.refresh()
                self._handles[name] = log
                return log
        self._handles[name] = log = self._store.open(name)
        while len(self._handles) > _HANDLES:
            del self._handles[next(iter(self._handles))]
        return log

    # ---- search

    def search(
        self, query: str, *, filters: SearchFilters = ANYTHING, limit: int = 10, embedder: Embedder | None = None
    ) -> list[SearchHit]:
        """See `SearchIndex.search`."""
        filters = check_search(query, filters, limit)
        with self._file.connection() as db:
            logs = None if filters.conversations is None else self._logs(db, filters.conversations)
            if logs == []:
                return []
            where = fts_filter_of(db, filters, logs)
            ranked = rankings(db, query, where)
            if embedder is not None:
                ranked.append(nearest(db, embedder, query, where))
            found = [shown(db, rows, where, 3 * limit) for rows in ranked]
            terms = query_terms(query)
            hits = (self._hit(db, row, score, filters, query, terms) for row, score in fused(found))
            return [hit for hit in hits if hit is not None][:limit]

    def _logs(self, db: sqlite3.Connection, names: Iterable[str]) -> list[int]:
        found = (
            db.execute("SELECT id FROM logs WHERE name = ?", (stored_name(name),)).fetchone() for name in set(names)
        )
        return [row[0] for row in found if row is not None]

    def _hit(
        self, db: sqlite3.Connection, row: int, score: float, filters: SearchFilters, query: str, terms: Sequence[str]
    ) -> SearchHit | None:
        """Make the hit of a row. None for another user's or session's, and for an own log's that nobody named."""
        owner = "SELECT name, user_id, session_id FROM logs WHERE id = ?"
        name, *ids = db.execute(owner, (row >> SEQ_BITS,)).fetchone()
        if filters.conversations is None and is_own_log(true_name(name)):
            return None
        for wanted, has in zip((filters.user_id, filters.session_id), ids, strict=True):
            if wanted is not None and stored_name(wanted) != has:
                return None
        at, role, tool, text = db.execute(_HIT, (row,)).fetchone()
        return SearchHit(
            conversation=true_name(name),
            entry=row & (1 << SEQ_BITS) - 1,
            role=role,
            tool=tool,
            at=at,
            score=score,
            snippet=snippet(text_of_indexed(text), query, terms),
        )

    # ---- forgetting

    @contextmanager
    def forgetting(self, conversations: Iterable[str]) -> Generator[None]:
        """Forget conversations before the block, which removes them from the store, and again after it.

        The second time removes what another process has indexed meanwhile. If the block raises, there is no second
        time.
        """
        names = list(conversations)
        self.forget(names)
        yield
        self.forget(names)

    def forget(self, conversations: Iterable[str]) -> None:
        """Remove conversations from the index, as `SearchIndex.forget` says. The work grows with the index."""
        if self._opened is None and (self._path is None or not self._path.exists()):
            return
        with self._lock:
            self._seen = None
            file, removed = self._file, False
            with file.writing() as db:  # also waits for a process that is indexing it now
                for number in self._logs(db, conversations):
                    _remove(db, number)
                    removed = True
            if removed:
                file.wipe_free_pages()

    def close(self) -> None:
        """Close the file. The next use of the index opens it again."""
        with self._lock:
            file, self._opened, self._seen = self._opened, None, None
            self._handles.clear()
            if file is not None:
                file.close()

    @property
    def _file(self) -> IndexFile:
        with self._lock:
            if self._opened is None and self._path is not None:
                try:
                    self._opened = IndexFile(str(self._path))
                except StoreUnavailable as problem:
                    _logger.warning("search: indexing in memory: %s", problem)
            self._opened = self._opened or IndexFile(MEMORY)
            return self._opened


def _entry_row(number: int, name: str, found: SearchText, owner: Owner) -> tuple[object, ...]:
    """Make the row in `entries` of an entry that was said in the conversation `name`. Entries with the same last two
    values are one entry and its copies in forks."""
    said = f"{owner} {found.seq} {found.at!r} {found.text}".encode("utf-8", "surrogatepass")
    same = int.from_bytes(blake2b(said, digest_size=8).digest(), signed=True)
    tool = text_of_indexed(indexable(", ".join(found.tools)))
    return number << SEQ_BITS | found.seq, found.at, found.role, tool, int(found.hidden), same, stored_name(name)


def _words_row(number: int, found: SearchText, shared: Sequence[str], words: Counter[str]) -> tuple[object, ...]:
    """Make the row of an entry in `words`. Adds 1 to the counter for each of its words."""
    scope = [*shared, scope_word("role", found.role), *(scope_word("tool", tool) for tool in found.tools)]
    if found.hidden:
        scope.append(HIDDEN)
    if found.run_id:
        scope.append(scope_word("run", found.run_id))
    about, text = indexable(found.about), indexable(found.text)
    words.update(_vocabulary(about, text))
    return number << SEQ_BITS | found.seq, " ".join(scope), about, text


def _remove(db: sqlite3.Connection, number: int) -> None:
    """Delete the rows of a conversation, and the words that no other conversation has."""
    low, high = number << SEQ_BITS, ((number + 1) << SEQ_BITS) - 1
    words = Counter[str]()
    for about, text in db.execute("SELECT about, text FROM words WHERE rowid BETWEEN ? AND ?", (low, high)):
        words.update(_vocabulary(about, text))
    db.execute("DELETE FROM words WHERE rowid BETWEEN ? AND ?", (low, high))
    db.execute("DELETE FROM entries WHERE row BETWEEN ? AND ?", (low, high))
    db.execute("DELETE FROM vectors WHERE entry BETWEEN ? AND ?", (low, high))
    db.execute("DELETE FROM logs WHERE id = ?", (number,))
    less = ((n, word) for word, n in words.items())
    db.executemany("UPDATE vocabulary SET entries = entries - ? WHERE word = ?", less)
    unused = db.execute("SELECT id, word FROM vocabulary WHERE entries <= 0").fetchall()
    db.executemany("INSERT INTO parts (parts, rowid, word) VALUES ('delete', ?, ?)", unused)
    db.execute("DELETE FROM vocabulary WHERE entries <= 0")


def _vocabulary(about: str, text: str) -> set[str]:
    """Return the words of an entry that a query may name by a part: those of 4 to 64 characters."""
    return {word for word in words_of(text) | words_of(about) if 4 <= len(word) <= _LONGEST_WORD}
