"""The conversations of a store for the page: those that a query names, the newest first, some at a time."""

from __future__ import annotations

from msgspec import Struct

from transom.stores import Store
from transom.stores.conversation_list import StoredConversation, described

MOST_LISTED = 200
"""The most conversations in one answer: each of them is opened."""


class ListPage(Struct, frozen=True, kw_only=True):
    """A page of the list. `total`: how many the store has; `found`: how many of them the query names."""

    total: int
    found: int
    first: int
    conversations: list[StoredConversation]


class ConversationList:
    """Lists the conversations of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def count(self) -> int:
        """How many there are."""
        return len(self._store.names())

    def page(self, query: str, first: int, count: int) -> ListPage:
        """A page of those whose names have every word of the query in them, in any case. What was created last comes
        first."""
        names = self._store.names()
        words = query.casefold().split()
        found = [name for name in reversed(names) if all(word in name.casefold() for word in words)]
        first = max(0, first)
        page = found[first : first + max(0, min(count, MOST_LISTED))]
        items = (described(self._store, name) for name in page)
        return ListPage(
            total=len(names), found=len(found), first=first, conversations=[one for one in items if one is not None]
        )
