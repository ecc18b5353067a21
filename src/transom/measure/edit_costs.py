"""What edits are worth: the tokens each takes out of every request from then on, and those of the cached prefix that
have to be written anew for it."""

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
    """An edit. `saves`: raw tokens of each request, fewer than without it (below 0 if it adds some). `breaks`: sent
    tokens that stood in front of the first difference, and no longer do; 0 where the prefix was broken already, or
    never sent."""

    entry: int
    saves: int
    breaks: int


def edit_costs(view: View, entries: Sequence[Entry]) -> Iterator[EditCost]:
    """The edits among the entries that follow a view, whether its log has them yet or not."""
    if entries and entries[0].seq >= stored(view.log):
        view = view.with_log(PendingLog(view.log, entries))
    for entry in entries:
        before, view = view, apply(view, (entry,))
        if isinstance(entry.body, (Fold, Trim, Pin, Undo)):
            saves = before.total.tokens - view.total.tokens
            breaks = shared_prefix_tokens(before, before.shared_slots) - shared_prefix_tokens(view, view.shared_slots)
            yield EditCost(entry=entry.seq, saves=saves, breaks=breaks)


def edit_costs_since(log: Log, counter: TokenCounter, stop: int) -> list[EditCost]:
    """The edits of a log behind the last request before `stop`, up to there."""
    start = next((seq + 1 for seq in range(stop - 1, -1, -1) if isinstance(log[seq].body, Sent)), 0)
    return list(edit_costs(build_view(log, counter, start), [log[seq] for seq in range(start, stop)]))
