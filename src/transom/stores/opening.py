"""Opens the view of a stored log from its snapshot, if it has one."""

from __future__ import annotations

from transom.core.reducer import apply
from transom.core.tokens import TokenCounter
from transom.core.view import View
from transom.stores.base import StoredLog
from transom.stores.snapshot import decode_view


def open_view(log: StoredLog, counter: TokenCounter) -> View:
    """Compute the view of all known entries of a log.

    It starts from the log's snapshot and applies the entries behind it. Without a snapshot, or if the snapshot does not
    belong to this log, token counter and version, it applies all entries.
    """
    view, saved = View.empty(log, counter), log.load_snapshot()
    if saved is not None:
        try:
            view = decode_view(saved[1], log, counter)
        except ValueError:
            view = View.empty(log, counter)
    return apply(view, log.read(view.length))
