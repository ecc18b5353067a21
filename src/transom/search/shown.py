"""Decides which of the ranked rows are hits: hidden entries are none, and an entry that forks have in common is one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from transom.search.ranking import SEQ_BITS, FtsFilter

CHUNK_ROWS = 200
"""Rows that are looked at together."""

_FORKS = """SELECT fork.log, fork.seq, fork.source, own.user_id, own.session_id, own.began, source.id
            FROM forks AS fork JOIN logs AS own ON own.id = fork.log
            LEFT JOIN logs AS source ON source.name = fork.source AND source.user_id = own.user_id
                                    AND source.session_id = own.session_id AND source.began = own.began
            ORDER BY fork.log, fork.seq"""
_SHOWN = "SELECT rowid, at FROM words WHERE rowid IN (SELECT value FROM json_each(?))"


class _ForkSource(NamedTuple):
    """What tells the source of a fork from every other conversation, also after it was forgotten."""

    name: str | bytes
    user_id: str | bytes
    session_id: str | bytes
    began: float


class Copies:
    """Knows which entries forks have copied from other conversations. `logs`: the ids of the searched ones; None: all.

    A fork records at which entry it begins its own way, and the name of its source. The entries before that are copies.
    The earliest of a fork's records names the conversation in which an entry was said first.

    A name can be given again, also by another user, once its conversation was forgotten. So four values identify a
    source: its name, its user, its session, and when it began. Its forks have copied the last three with its first
    entry.
    """

    def __init__(self, db: sqlite3.Connection, logs: Sequence[int] | None) -> None:
        searched = None if logs is None else set(logs)
        self._forks: dict[int, list[tuple[int, _ForkSource]]] = {}
        self._sources: dict[_ForkSource, int] = {}
        self._forks_of: dict[_ForkSource, list[tuple[int, int]]] = {}
        for log, seq, *known, number in db.execute(_FORKS).fetchall():
            source = _ForkSource(*known)
            if searched is None or log in searched:
                self._forks.setdefault(log, []).append((seq, source))
                self._forks_of.setdefault(source, []).append((seq, log))
                if number is not None and (searched is None or number in searched):
                    self._sources[source] = number

    def originals(self, row: int) -> list[int]:
        """Return the rows that this row may be a copy of: in its source, and in the source's first fork.

        Empty if it is no copy.
        """
        log, seq = row >> SEQ_BITS, row & (1 << SEQ_BITS) - 1
        for until, source in self._forks.get(log, ()):
            if seq < until:
                first = next(number for has, number in self._forks_of[source] if seq < has)
                return [number << SEQ_BITS | seq for number in (self._sources.get(source, first), first)]
        return []


def shown(db: sqlite3.Connection, rows: Iterable[int], where: FtsFilter, copies: Copies, limit: int) -> list[int]:
    """Return the first `limit` of these rows that are not hidden and between the dates. A copy is replaced by its
    original.

    The caller gives only `rows` and `copies` of the searched conversations. This function does not check that.
    """
    found: dict[int, None] = {}
    ahead = iter(rows)
    while len(found) < limit and (chunk := list(islice(ahead, CHUNK_ROWS))):
        originals = {row: copies.originals(row) for row in chunk}
        looked_at = [*chunk, *(row for some in originals.values() for row in some)]
        times = dict[int, float](db.execute(_SHOWN + where.conditions, (json.dumps(looked_at), *where.values)))
        for row in chunk:
            if row in times:  # a conversation that came later under the name of the source has other entries
                same = (one for one in originals[row] if times.get(one) == times[row])
                found[next(same, row)] = None
    return list(found)[:limit]
