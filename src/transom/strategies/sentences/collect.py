"""Collects the sentences of a conversation that may be quoted, and finds those that are outdated."""

from __future__ import annotations

from typing import cast

from transom.core.edit import Fold
from transom.core.index_cache import IndexCache
from transom.core.log import stored
from transom.core.message import Fact, role_of
from transom.core.unit import FoldedSlot, Unit
from transom.core.view import View
from transom.strategies.sentences.corrections import LoggedStatement, outdated
from transom.strategies.sentences.salience import authored_text, statements

MAX_UNITS = 1_000
"""Sentences of this many newest units may be quoted, however deep they are folded. Of older units only those that the
window quotes already."""


def collect_statements(view: View, indexes: IndexCache) -> tuple[list[LoggedStatement], frozenset[int]]:
    """The sentences that may be quoted, in log order, and the indexes of the outdated ones among them."""
    last, stored_entries = indexes.of(_Collected), stored(view.log)
    known, last.of_entry = last.of_entry, {}
    found = list[LoggedStatement]()
    for unit in quotable_units(view):
        seq = unit.seqs[0]
        mine = known.get(seq)
        if mine is None:
            mine = _statements_of(view, unit)
        if seq < stored_entries:  # a planned entry may never be stored, and then its number names another one
            last.of_entry[seq] = mine
        found.extend(mine)
    if found != last.statements:
        last.statements, last.outdated = found, outdated(found)
    return found, last.outdated


class _Collected:
    """What was collected last: the statements of each entry, all of them in order, and the outdated ones."""

    def __init__(self) -> None:
        self.of_entry: dict[int, tuple[LoggedStatement, ...]] = {}
        self.statements: list[LoggedStatement] = []
        self.outdated: frozenset[int] = frozenset()


def quotable_units(view: View) -> list[Unit]:
    """The units whose sentences may be quoted, in order.

    One walk over the nested folds: looking each unit up by its key would descend through all of them for every unit.
    """
    newest, stack = dict[int, Unit](), list(view.slots)
    while stack and len(newest) < MAX_UNITS:
        top = stack.pop()
        if isinstance(top, Unit):
            newest[top.key] = top
        else:
            stack.extend(top.children)
    folds = (view.fetch(slot.seq).body for slot in view.slots if isinstance(slot, FoldedSlot))
    quoted = (view.unit_of[entry] for fold in folds if isinstance(fold, Fold) for entry in fold.quotes)
    older = {key: view.unit(key) for key in quoted if key not in newest}
    return [unit for _, unit in sorted((newest | older).items())]


def _statements_of(view: View, unit: Unit) -> tuple[LoggedStatement, ...]:
    fact = cast("Fact", (unit.entries[0] if unit.entries else view.fetch(unit.seqs[0])).body)
    return tuple(LoggedStatement(unit.seqs[0], one, role_of(fact)) for one in statements(authored_text(fact)))
