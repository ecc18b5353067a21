"""The protocol of a search index: what was said in the conversations of one store, found by words or by meaning.

A store with an index of its own has a method `search_index()` that returns one (`search_index` in this package asks for
it); every other store gets an index in memory, fed through `names`, `open` and `read`.

A query is data. No character in it has a meaning for the index, and no query raises an error of a database.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from msgspec import Struct

from transom.errors import InvalidSetting, quote


class SearchFilters(Struct, frozen=True, kw_only=True):
    """What a result must be. Each filter that is given must hold.

    `conversations`: names of conversations; None means all of the store. `user_id`, `session_id`: those of the
    conversation (`Conversation.open`); None means any, and a conversation without a user is nobody's. `roles`: user,
    assistant, tool, note, … `tools`: for a result, the tool that it is from; for a reply, a tool that it calls.
    `run_id`: as in the `Meta` of the entry. `file`: a path, or a part of one, that the entry names, or the call of the
    result that it is. `since`, `until`: seconds since the epoch, both included. `include_hidden`: also
    entries that are kept out of context, and so are for people only.
    """

    conversations: tuple[str, ...] | None = None
    user_id: str | None = None
    session_id: str | None = None
    roles: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    run_id: str = ""
    file: str = ""
    since: float | None = None
    until: float | None = None
    include_hidden: bool = False


ANYTHING = SearchFilters()

ROLES = ("user", "assistant", "tool", "note", "failure", "handoff", "system", "developer")
"""The roles that entries may have."""


def require_roles(roles: Iterable[str]) -> None:
    """Raises InvalidSetting for a role that no entry can have."""
    for role in roles:
        if role not in ROLES:
            raise InvalidSetting(f"search: there is no role {quote(role)}; there are: {', '.join(ROLES)}")


class SearchHit(Struct, frozen=True, kw_only=True):
    """An entry that was found. `entry` is its number in `conversation`; `role` and `tool` as in `transom entries`.

    `at`: when it was appended, in seconds since the epoch. `score`: greater is better, comparable within one answer
    only: the sum of reciprocal ranks, see `fused`. `snippet`: at most 240 characters of the entry around the words
    found, on one line.
    """

    conversation: str
    entry: int
    role: str
    tool: str
    at: float
    score: float
    snippet: str

    @property
    def reference(self) -> str:
        """How texts name the entry, as `transom_read` takes it."""
        return f"entry {self.entry}"


class Embedder(Protocol):
    """Turns texts into vectors whose cosine says how alike the texts are in meaning."""

    @property
    def name(self) -> str:
        """The model. Vectors are stored under this name, and vectors of another name are never compared with them."""
        ...

    def embed(self, texts: Sequence[str], /) -> Any:
        """One vector for each text: an array, or a list of lists, of shape (texts, dimensions)."""
        ...


class SearchIndex(Protocol):
    """Finds entries of the conversations of one store. Every method may be called from any thread."""

    def update(
        self, conversations: Iterable[str] | None = None, *, embedder: Embedder | None = None, most: int | None = None
    ) -> int:
        """Index what was appended since the last update; the number of entries that this call has indexed.

        `conversations`: only these. `most`: stop after about so many entries; call again for the rest. `embedder`:
        also make the vectors that are missing. Safe beside other processes that do the same. Raises StoreUnavailable.
        """
        ...

    def search(
        self, query: str, *, filters: SearchFilters = ANYTHING, limit: int = 10, embedder: Embedder | None = None
    ) -> list[SearchHit]:
        """The best entries for a query, the best one first. It sees what the last `update` has seen.

        With an `embedder`, entries that are alike in meaning too, fused with those found by words.
        """
        ...

    def forget(self, conversations: Iterable[str]) -> None:
        """Remove these conversations from the index, every byte of them. Unknown names are ignored.

        The store's own `forget` does this before it removes the conversation.
        """
        ...
