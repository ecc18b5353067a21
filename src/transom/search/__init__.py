"""Search over everything that was said in the conversations of a store."""

from __future__ import annotations

from typing import cast

from transom.search.base import ANYTHING, Embedder, SearchFilters, SearchHit, SearchIndex
from transom.search.source import StoreSource
from transom.search.sqlite_index import SqliteIndex

__all__ = ["ANYTHING", "Embedder", "SearchFilters", "SearchHit", "SearchIndex", "search_index"]


def search_index(store: StoreSource) -> SearchIndex:
    """The search index of a store: its own, or for a store without one a new index in memory."""
    own = getattr(store, "search_index", None)
    return cast("SearchIndex", own()) if callable(own) else SqliteIndex(store)
