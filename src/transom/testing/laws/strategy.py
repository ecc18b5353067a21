"""The rules for a strategy alone: which edits it may propose (laws 7 and 10)."""

from __future__ import annotations

from collections.abc import Sequence

from transom.core.budget import Budget
from transom.core.edit import Fold, Trim
from transom.core.entry import Entry
from transom.core.plan_request import entry_ref
from transom.core.policy import Strategy, Target
from transom.core.reducer import apply, build_view
from transom.core.tokens import ZERO
from transom.core.view import View
from transom.testing.builders import entry
from transom.testing.fakes import Entries
from transom.testing.laws.shared import COUNTER
from transom.testing.view_appearance import appearance_of
from transom.texts import READ_BACK


def target_for(view: View, *, over_limit: bool = False, arrival: bool = False) -> Target:
    """The target that a plan would give to a strategy: make the view as small as possible, and keep the first task and
    the newest user message.

    `over_limit`: the window does not fit, so that anything may go. `arrival`: nothing is required, and the newest unit
    is like any other.
    """
    budget = Budget(context=100)
    required = view.required
    return Target(
        goal=ZERO,
        deep_goal=ZERO,
        limit=budget.limits(),
        fixed_size=ZERO,
        budget=budget,
        counter=view.counter,
        reference=entry_ref,
        required=() if arrival else required,
        protected=frozenset(() if arrival else required),
        newest_unit=-1 if arrival else view.newest_unit,
        over_limit=over_limit,
    )


def check_proposals(
    log: Sequence[Entry], strategy: Strategy, *, over_limit: bool = False, arrival: bool = False
) -> None:
    """Check the edits that a strategy proposes for a log.

    It must change no view, and propose the same edits each time. Each fold or trim that applies must save bytes and
    tokens. Without `over_limit`,

    - a fold must not cover the newest unit, a unit with open calls, or one that the user has restored. It may cover
      pinned units, which show beside it.
    - a trim must not shorten these, a pinned unit, or a result of a readback tool. On `arrival` it may shorten the
      newest unit.

    A log with a request in flight is not checked.
    """
    view = build_view(Entries(log), COUNTER)
    if view.in_flight is not None:
        return  # a plan closes it first
    before = appearance_of(view)
    target = target_for(view, over_limit=over_limit, arrival=arrival)
    proposed = list(strategy(view, target))
    assert list(strategy(view, target_for(view, over_limit=over_limit, arrival=arrival))) == proposed, (
        "it proposes other edits the second time"
    )
    assert appearance_of(view) == before, "it has changed the view"
    for edit in proposed:
        if view.refusal(edit) is not None or not isinstance(edit, (Fold, Trim)):
            continue
        longer = [*log, entry(edit, log, at=0.0, counter=COUNTER)]
        after = apply(view.with_log(Entries(longer)), longer[-1:]).total
        assert after.bytes < view.total.bytes, f"{edit} saves no bytes"
        assert after.tokens < view.total.tokens, f"{edit} saves no tokens"
        if not over_limit:
            _check_spared(view, edit, arrival=arrival)


def _check_spared(view: View, edit: Fold | Trim, *, arrival: bool) -> None:
    """Check that an edit spares what must stay while the window fits (see `check_proposals`)."""
    if isinstance(edit, Fold):
        folded = [slot for slot in view.slots if edit.first <= slot.first <= edit.last]
        assert not any(view.user_restored(slot) for slot in folded), f"{edit} folds a restored unit"
        assert not any(edit.first <= key <= edit.last for key in (view.newest_unit, *view.open_units)), (
            f"{edit} folds the newest unit or an open one"
        )
        return
    unit = view.unit(view.unit_of[edit.entry])
    assert arrival or unit.key != view.newest_unit, f"{edit} trims the newest unit"
    assert not unit.pins, f"{edit} trims a pinned unit"
    assert not unit.open_calls, f"{edit} trims a unit with open calls"
    assert not view.user_restored(unit), f"{edit} trims a restored unit"
    call = view.call_of(unit, edit.entry) if edit.part[0] != "args" and edit.entry != unit.seqs[0] else None
    assert call is None or call.name not in READ_BACK, f"{edit} trims what was read back"
