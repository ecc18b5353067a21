"""The view of a stored log, by the shortest way."""

from __future__ import annotations

from transom.core.reducer import apply
from transom.core.tokens import TokenCounter
from transom.core.view import View
from transom.stores.base import StoredLog
from transom.stores.snapshot import decode_view


def open_view(log: StoredLog, counter: TokenCounter) -> View:
    """The snapshot and the entries after it; without one that still holds, all entries."""
    view, saved = View.empty(log, counter), log.load_snapshot()
    if saved is not None:
        try:
            view = decode_view(saved[1], log, counter)
        except ValueError:
            view = View.empty(log, counter)
    return apply(view, log.read(view.length))
