"""What strategies propose for a small log, and what its entries show with these edits."""

from __future__ import annotations

from collections.abc import Iterable

from transom import Budget
from transom.core.edit import Edit
from transom.core.entry import Entry
from transom.core.message import Assistant, Call, Text
from transom.core.plan_request import entry_ref
from transom.core.policy import Target
from transom.core.reducer import build_view
from transom.core.tokens import ZERO
from transom.core.unit import Unit
from transom.core.view import View
from transom.testing import Entries, WordCounter

WORDS = WordCounter()


def seen(log: Iterable[Entry], *edits: Edit) -> View:
    """The view of a log with these edits behind it."""
    log = list(log)
    log += [Entry(seq=len(log) + at, at=0.0, body=edit) for at, edit in enumerate(edits)]
    return build_view(Entries(log), WORDS)


def target_of(view: View, *, context: int = 1_000, over_limit: bool = False) -> Target:
    """The target of a plan under pressure, with nothing protected but what is required."""
    budget = Budget(context=context)
    limit = budget.limits()
    must = view.required
    return Target(ZERO, ZERO, limit, ZERO, budget, view.counter, entry_ref, must, must, view.newest_unit, over_limit)


def proposals(strategy, log: list[Entry], *edits: Edit, **target) -> dict[int, str]:
    """By entry, what a strategy shows in place of a text or arguments."""
    view = seen(log, *edits)
    changed = list(strategy(view, target_of(view, **target)))
    after = seen(log, *edits, *changed)
    return {edit.entry: _shown(after, edit) for edit in changed}


def _shown(view: View, edit: Edit) -> str:
    unit = view.unit(view.unit_of[edit.entry])
    assert isinstance(unit, Unit)
    fact = unit.shown_facts()[unit.seqs.index(edit.entry)]
    kind, index = edit.part
    part = fact.calls[index] if kind == "args" and isinstance(fact, Assistant) else fact.parts[index]
    assert isinstance(part, (Text, Call))
    return part.args if isinstance(part, Call) else part.text
