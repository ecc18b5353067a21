"""How far back the index of a log reaches: a number of tokens, of which a short entry counts as if it had more."""

from __future__ import annotations

import transom
from transom.core.log import IndexCache
from transom.strategies.record.index import LEAST_COUNTED, MANY, Index
from transom.testing import WordCounter

BUDGET = 1_000


def test_many_short_entries_do_not_make_a_compaction_look_at_ever_more_of_them() -> None:
    most = MANY * BUDGET // LEAST_COUNTED
    with transom.Conversation.open("memory:", "c", budget=100_000, counter=WordCounter()) as conv:
        for number in range(3 * most):
            conv.user(f"Step {number} is done.")
        view = conv.view
    index = Index.of(view, BUDGET, IndexCache())
    assert len(index.entries) == most
    assert Index.of(view, BUDGET, IndexCache()).entries.keys() == index.entries.keys()
