"""Search over everything that was said in the conversations of a store."""

from transom.search.base import ANYTHING, Embedder, SearchFilters, SearchHit, SearchIndex

__all__ = ["ANYTHING", "Embedder", "SearchFilters", "SearchHit", "SearchIndex"]
