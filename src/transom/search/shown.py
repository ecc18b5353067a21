"""Which of the ranked rows are hits: not what is hidden, and an entry that forks have in common once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from transom.search.query import HIGHEST, SEQ_BITS, Scope

CHUNK = 200
"""Rows that are looked at together."""

_FORKS = "SELECT log, seq, source, (SELECT id FROM logs WHERE name = source) FROM forks ORDER BY log, seq"
_SHOWN = "SELECT rowid, at FROM words WHERE rowid IN (SELECT value FROM json_each(?))"


_Until = tuple[int, int]
"""An entry, and the number of a conversation that has the entries before it."""


class Copies:
    """The entries that forks have from other conversations. `logs`: the numbers of those that are searched; None: all.

    A fork says at which entry it begins its own way, and the name of its source. Entries before that are copies. The
    earliest of its forks names the conversation in which an entry was said first.
    """

    def __init__(self, db: sqlite3.Connection, logs: Sequence[int] | None) -> None:
        searched = None if logs is None else set(logs)
        self._forks: dict[int, list[tuple[int, list[_Until]]]] = {}
        gone: dict[object, list[_Until]] = {}  # of several forks of a source that is not searched, the first has it
        for log, seq, source, number in db.execute(_FORKS).fetchall():
            if searched is not None and log not in searched:
                continue
            if number is not None and (searched is None or number in searched):
                holders = [(HIGHEST, number)]
            else:
                holders = gone.setdefault(source, [])
                holders.append((seq, log))
            self._forks.setdefault(log, []).append((seq, holders))

    def first(self, row: int) -> int:
        """The row of the entry of which this is a copy, if it is one and the index has it; else the row itself."""
        log, seq = row >> SEQ_BITS, row & (1 << SEQ_BITS) - 1
        for until, holders in self._forks.get(log, ()):
            if seq < until:
                return next(number for has, number in holders if seq < has) << SEQ_BITS | seq
        return row


def shown(db: sqlite3.Connection, rows: Iterable[int], scope: Scope, copies: Copies, limit: int) -> list[int]:
    """The first `limit` of these rows that the scope shows; of copies of one entry the original."""
    found: dict[int, None] = {}
    ahead, statement = iter(rows), _SHOWN + scope.also
    while len(found) < limit and (chunk := list(islice(ahead, CHUNK))):
        firsts = [copies.first(row) for row in chunk]
        times = dict[int, float](db.execute(statement, (json.dumps([*chunk, *firsts]), *scope.values)))
        found.update(dict.fromkeys(_originals(chunk, firsts, times)))
    return list(found)[:limit]


def _originals(rows: Sequence[int], firsts: Sequence[int], times: dict[int, float]) -> Iterator[int]:
    for row, first in zip(rows, firsts, strict=True):
        if row in times:  # a conversation that came later under the name of the source has other entries
            yield first if times.get(first) == times[row] else row
