"""Computes what an edit saves in every later request, and what it costs once: the tokens of the cached prefix that must
be written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Entry, Sent
from transom.core.log import Log, PendingLog, stored
from transom.core.reducer import apply, build_view
from transom.core.tokens import TokenCounter
from transom.core.view import View
from transom.core.window import shared_prefix_tokens


class EditCost(Struct, frozen=True, kw_only=True):
    """What an edit costs and saves, in raw tokens.

    - `entry`: the seq of the edit.
    - `saved_tokens`: how many tokens fewer every later request has; below 0 if it has more.
    - `broken_tokens`: how many tokens of the last request are no longer part of the prefix that the next one shares
      with it; 0 if that prefix ended before the edited place already, or if the edited entries were never sent.
    - `plan`: the number of the plan that made the edit, the same for all its edits; None if no plan did.
    """

    entry: int
    saved_tokens: int
    broken_tokens: int
    plan: int | None = None


def edit_costs(view: View, entries: Sequence[Entry]) -> Iterator[EditCost]:
    """Yield the cost of each edit among `entries`, which must be all the entries behind the view's last one, in order.
    An edit that does not apply costs and saves 0.

    They need not be in the log yet.
    """
    if entries and entries[0].seq >= stored(view.log):
        view = view.with_log(PendingLog(view.log, entries))
    between: list[Entry] = []
    for entry in entries:
        if not isinstance(entry.body, (Fold, Trim, Pin, Undo)):
            between.append(entry)
            continue
        before = apply(view, between)
        view = apply(before, (entry,))
        between.clear()
        saved = before.total.tokens - view.total.tokens
        broken = shared_prefix_tokens(before, before.shared_slots) - shared_prefix_tokens(view, view.shared_slots)
        yield EditCost(entry=entry.seq, saved_tokens=saved, broken_tokens=broken, plan=entry.plan)


def edit_costs_since(log: Log, counter: TokenCounter, stop: int) -> list[EditCost]:
    """Return the costs of the edits that came between the last request before entry `stop` and that entry, in order; if
    there is no such request, of all edits before `stop`."""
    start = next((seq + 1 for seq in range(stop - 1, -1, -1) if isinstance(log[seq].body, Sent)), 0)
    return list(edit_costs(build_view(log, counter, start), [log[seq] for seq in range(start, stop)]))
