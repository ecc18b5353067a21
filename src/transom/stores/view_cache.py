"""A cache of the views of closed conversations, and of their rendered messages, for their next opening with the same
store object.

A web app opens a conversation for each message. Most of that work is to apply all its entries again; a snapshot is no
faster as long as nothing is folded, because it reads every entry that the window shows.

Each store object has a cache of its own. So an app should open its store once, and not by a URL for each message.

Rule: the cache is only ever a shortcut, as a snapshot is. A view is used only if its old handle of the log can still be
refreshed, which fails if the conversation was forgotten or has lost entries. Entries that came later are applied to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

from transom.core.log import IndexCache
from transom.core.tokens import TokenCounter
from transom.core.unit import Unit
from transom.core.view import View
from transom.errors import TransomError
from transom.stores.base import StoredLog
from transom.stores.lru_cache import LruCache

CACHED_BYTES = 16_000_000
"""The most bytes of all views that one store keeps, as far as they can be estimated."""
ENTRY_BYTES = 1_000
"""An estimate of what an entry and its rendered message take beside their text."""


class _Closed(NamedTuple):
    """What a closed conversation has left."""

    view: View
    indexes: list[IndexCache]  # one, until somebody takes it


class ViewCache(LruCache[str, _Closed]):
    """The views of the conversations that were closed last, one of each conversation, as far as there is room.

    `most`: the most bytes of all views together, estimated. A view that is larger by itself is not kept.
    """

    def __init__(self, most: int = CACHED_BYTES) -> None:
        super().__init__(most)

    def add(self, name: str, view: View, indexes: IndexCache | None = None) -> None:
        """Keep this view of a conversation, in place of an older one. `indexes`: its rendered messages."""
        self.put(name, _Closed(view, [indexes or IndexCache()]), _bytes_of(view))

    def find(self, log: StoredLog, counter: TokenCounter) -> View | None:
        """Return a copy of the kept view of this log's conversation, which reads its entries through `log`. It may be
        of fewer entries than `log` knows.

        None if no view is kept, if another token counter has counted it, or if it is of more entries than `log` knows.
        None also if the conversation was forgotten or has lost entries; then the view is dropped.
        """
        closed = self.get(log.name)
        if closed is None or closed.view.counter.name != counter.name:
            return None
        view = closed.view
        try:
            cast("StoredLog", view.log).refresh()
        except TransomError:  # it was forgotten, or has lost entries
            self.drop(log.name)
            return None
        return view.with_log(log) if view.length <= len(log) else None

    def take_indexes(self, name: str) -> IndexCache:
        """Return the index cache that was kept with the view of a conversation: to the first who asks, because only one
        thread may use it. Everybody else gets a new one."""
        closed = self.get(name)
        try:
            return closed.indexes.pop() if closed is not None else IndexCache()
        except IndexError:  # another conversation of this name has it
            return IndexCache()

    def forget(self, names: Iterable[str]) -> None:
        """Drop the views of these conversations."""
        for name in names:
            self.drop(name)


def view_cache(log: StoredLog) -> ViewCache | None:
    """Return the view cache of the store that has this log; None if that store has no cache."""
    return getattr(log, "view_cache", None)


def _bytes_of(view: View) -> int:
    """Estimate the memory of a view. Units outside folds count whole, because their entries are kept whole even if they
    are trimmed."""
    texts = sum((slot.untrimmed_size if isinstance(slot, Unit) else slot.size).bytes for slot in view.slots)
    return texts + ENTRY_BYTES * view.length
