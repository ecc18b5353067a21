"""Searches everything that was said in the conversations of a store."""

from __future__ import annotations

from typing import cast

from transom.search.base import ANYTHING, Embedder, SearchFilters, SearchHit, SearchIndex
from transom.search.indexed_store import StoreSource

__all__ = ["ANYTHING", "Embedder", "SearchFilters", "SearchHit", "SearchIndex", "search_index"]


def search_index(store: StoreSource) -> SearchIndex:
    """Return the search index of a store: the store's own; for a store without one, a new and empty index in memory.

    Call `update` before the first search.
    """
    from transom.search.sqlite_index import SqliteIndex  # noqa: PLC0415 - only where something is searched

    own = getattr(store, "search_index", None)
    return cast("SearchIndex", own()) if callable(own) else SqliteIndex(store)
