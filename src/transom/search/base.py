"""The protocol of a search index, which finds what was said in the conversations of one store, by words or by meaning.

A store with an index of its own has a method `search_index()` that returns it (`search_index` in this package calls
it); every other store gets an index in memory, which reads the store through `names`, `open` and `read`.

A query is data. No character in it has a meaning for the index, and no query raises an error of a database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Any, Protocol

from msgspec import MsgspecError, Struct, convert

from transom.errors import InvalidSetting, quote


class SearchFilters(Struct, frozen=True, kw_only=True):
    """Conditions that an entry must meet to be found. Every filter that is given must hold.

    - `conversations`: the entry is in one of these conversations, by name; None: in any of the store; empty: in none,
      so nothing is found.
    - `user_id`, `session_id`: its conversation was opened with this id (see `Conversation.open`); None: any
      conversation. A conversation that was opened without a user is found by no `user_id`.
    - `roles`: it has one of these roles: user, assistant, tool, note, …; empty: any.
    - `tools`: it is a result of one of these tools, or a reply that calls one of them; empty: any entry.
    - `run_id`: it belongs to this run (`Meta.run_id`); empty: any.
    - `file`: it names this path or part of a path, or it is the result of a call that does; the part is of whole words
      ("server.py", not "erver.py"); empty: any entry.
    - `since`, `until`: it was appended between these times, both included, in seconds since the epoch; None: no bound.
    - `include_hidden`: if true, entries that are kept out of context, which only people may read, are found too.
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
"""No filter: all entries that windows may show."""

ROLES = ("user", "assistant", "tool", "note", "failure", "handoff", "system", "developer")
"""All roles that an entry may have."""


def checked_filters(given: Mapping[str, object]) -> SearchFilters:
    """Make filters of these fields; names that are no filter are ignored. Raises InvalidSetting for a value of a wrong
    type, for a time that is not a number, and for a role that is not in ROLES."""
    try:
        # a float of another library is a float too, for example NumPy's
        plain = {name: float(value) if isinstance(value, float) else value for name, value in given.items()}
        filters = convert(plain, SearchFilters)
    except (MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as problem:
        what, _, path = str(problem)[:400].partition(" - at `$.")
        raise InvalidSetting(f"search: {path.rstrip('`') or 'a filter'}: {what[:1].lower()}{what[1:]}") from None
    for name, time in (("since", filters.since), ("until", filters.until)):
        if time is not None and isnan(time):
            raise InvalidSetting(f"search: {name}: expected seconds since 1970, got NaN")
    for role in filters.roles:
        if role not in ROLES:
            raise InvalidSetting(f"search: there is no role {quote(role)}; there are: {', '.join(ROLES)}")
    return filters


class SearchHit(Struct, frozen=True, kw_only=True):
    """An entry that was found. `entry`: its seq in `conversation`; `role` and `tool`: as `transom log` prints them.
    `tool` is empty if no tool belongs to the entry; for a reply with several calls it has all names, separated by
    commas.

    `at`: when it was appended, in seconds since the epoch. `score`: the sum of reciprocal ranks (see `fused`); greater
    is better, comparable within one answer only. `snippet`: at most 240 characters of the entry around the words found,
    on one line.
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
        """The name of the entry in texts, as `transom_read` takes it: "entry 412"."""
        return f"entry {self.entry}"


class Embedder(Protocol):
    """A model that turns texts into vectors; the cosine of two vectors says how alike the texts are in meaning."""

    @property
    def name(self) -> str:
        """The name of the model. Vectors are stored under it, and are compared only with vectors of the same name."""
        ...

    def embed(self, texts: Sequence[str], /) -> Any:
        """Return one vector for each text, in their order: an array, or a list of lists, of shape (texts, dimensions).
        The vectors need not have length 1."""
        ...


class SearchIndex(Protocol):
    """Finds entries of the conversations of one store. Every method may be called from any thread, and raises
    StoreUnavailable if the index or the store cannot be read or written now."""

    def update(
        self, conversations: Iterable[str] | None = None, *, embedder: Embedder | None = None, most: int | None = None
    ) -> int:
        """Index the entries that were appended since the last update. Return how many entries this call has indexed,
        plus how many it has given vectors.

        Conversations that the store has no more are removed from the index. `conversations`: only these, which may also
        name archives of memory; None: all conversations, in which a damaged one is skipped with a warning. `embedder`:
        also compute and store the vectors that indexed entries lack. `most`: stop after about this many entries; call
        again until the result is less than `most`: then nothing is left. Other processes may do the same meanwhile.
        Raises StoreDamaged for a damaged conversation that is in `conversations`, and InvalidSetting if the embedder
        does not return an array of (texts, dimensions).
        """
        ...

    def search(
        self, query: str, *, filters: SearchFilters = ANYTHING, limit: int = 10, embedder: Embedder | None = None
    ) -> list[SearchHit]:
        """Return the best entries for a query, the best first, at most `limit` (1 to 1,000).

        `query`: any text; its first 64 words count, of its first 4,000 characters. It finds nothing without a word.
        Only entries that the last `update` has indexed are found. With an `embedder`, entries that are alike in meaning
        are found too; their ranking and that by words are fused. Raises InvalidSetting for a query, filter or limit of
        a wrong type or out of range, for an unknown role, for `filters.file` without a letter or digit, and as `update`
        for the embedder.
        """
        ...

    def forget(self, conversations: Iterable[str]) -> None:
        """Remove these conversations from the index, every byte of them. Unknown names are ignored.

        Nothing else is removed: the store's own `forget` calls this before it removes the conversation.
        """
        ...
