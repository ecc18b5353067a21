"""Search from within a conversation: in itself, in all conversations of its user, or in its whole store."""

from __future__ import annotations

from typing import Literal, cast, get_args

from msgspec.structs import replace

from transom.errors import InvalidSetting, quote
from transom.search import Embedder, SearchHit, SearchIndex, search_index
from transom.search.base import checked_filters
from transom.stores import Store, StoredLog

SearchScope = Literal["conversation", "user", "store"]


class ConversationSearch:
    """Searches on behalf of one conversation. `log`, `user_id`: its log, and whose it is. `store`: the store that it
    was opened from; None if it was made of a log: then it can only search itself."""

    def __init__(self, log: StoredLog, store: Store | None, user_id: str) -> None:
        self._log, self._user_id = log, user_id
        self._index: SearchIndex = search_index(_OneLog(log) if store is None else store)

    def search(
        self, query: object, scope: object, limit: int, given: dict[str, object], embedder: object
    ) -> list[SearchHit]:
        """The best entries for a query, at most `limit`, the best one first. What was appended until now is indexed
        first. A query without a word finds nothing.

        `scope`: as `SearchScope`. `given`: the fields of `SearchFilters` by name; the scope "conversation" sets
        `conversations`, and "user" sets `user_id`, whatever `given` has there. `embedder`: an `Embedder`, or None. They
        may come from anywhere: each is checked. Raises InvalidSetting for a wrong one, and for scope "user" without a
        user; StoreUnavailable.
        """
        if not isinstance(query, str):
            raise InvalidSetting(f"query: must be a text, not {quote(query)}")
        query, filters, embedder = str.__str__(query), checked_filters(given), _embedder(embedder)
        if scope not in (scopes := get_args(SearchScope)):
            raise InvalidSetting(f"scope: must be one of {', '.join(scopes)}, not {quote(scope)}")
        names = None
        if scope == "conversation":
            names = (self._log.name,)
            filters = replace(filters, conversations=names)
        elif scope == "user":
            if not self._user_id:
                raise InvalidSetting("scope 'user': this conversation has no user; open a new one with a user_id")
            filters = replace(filters, user_id=self._user_id)
        self._index.update(names, embedder=embedder)
        return self._index.search(query, filters=filters, limit=limit, embedder=embedder)


def _embedder(given: object) -> Embedder | None:
    if given is None or (isinstance(getattr(given, "name", None), str) and callable(getattr(given, "embed", None))):
        return cast("Embedder | None", given)
    raise InvalidSetting(f"embedder: must have a name and a method embed, not {quote(given)}")


class _OneLog:
    """A store that has only this log, for a conversation that was opened without a store."""

    def __init__(self, log: StoredLog) -> None:
        self._log = log

    def names(self, prefix: str = "") -> list[str]:
        return [self._log.name] if len(self._log) and self._log.name.startswith(prefix) else []

    def open(self, name: str) -> StoredLog:  # noqa: ARG002 - there is one
        return self._log
