"""Lists the conversations of a store: for each its title, its owner, its length and cost, and whether it can be
read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from transom.core.codec import encode
from transom.core.entry import Entry, Sent
from transom.core.log import Owner
from transom.core.message import Text, User
from transom.core.usage import TotalUsage
from transom.errors import InvalidSetting, StoreDamaged, UnknownLog, quote, shorten
from transom.stores.base import Store, StoredLog
from transom.stores.jsonl import JsonlStore
from transom.stores.urls import store_in_use

FIRST_ENTRIES = 8
"""How many entries from the first on are read for the title, and to find one that was counted, which says for which
dialect."""
TITLE_CHARACTERS = 80
"""The most characters of a title."""


class StoredConversation(Struct, frozen=True, kw_only=True):
    """What a list of conversations says of one conversation of a store.

    - `id`: its name in the store. `title`: the first line of the user's first message, at most 80 characters; empty if
      none of its first eight entries has one. `user_id`, `session_id`: of its owner; empty if it has none.
    - `entries`: how many it has, None if it cannot be read. `first`, `last`: when its first and last entries were
      appended, in seconds since 1970; None if there are none. `dialect`: the provider API for which its tokens were
      counted, None if no entry that was read has a count.
    - `damaged`: the error if it cannot be read; else empty.

    A full description reads all entries, and so finds all damage. Only in a full one are the other fields not None:

    - `calls`: how many requests were sent. `size`: the bytes of its entries, encoded. `cost`: what its own requests
      cost, without those of its sub-agents, in US dollars, as far as prices are known; None if no price is known,
      or if all its replies were imported or replayed.
    """

    id: str
    title: str = ""
    user_id: str = ""
    session_id: str = ""
    entries: int | None = 0
    calls: int | None = None
    first: float | None = None
    last: float | None = None
    size: int | None = None
    cost: float | None = None
    dialect: str | None = None
    damaged: str = ""


def list_conversations(
    store: str | os.PathLike[str] | Store, *, user_id: str | None = None, limit: int = 50
) -> list[StoredConversation]:
    """Return the conversations of a store, or of one of its users, described in full: the one that was used last comes
    first.

    `store`: a URL, a path, or a store object. `user_id`: only those of this user; "" for those of nobody, None for all.
    `limit`: how many are returned at most, those that were used last. Logs of sub-agents are conversations of their
    own.

    A conversation that cannot be read is among them, with the reason in `damaged`. If that shows when the first entries
    are read, it counts as nobody's, and comes last.

    Of each conversation of the store the first eight entries and the last one are read, to find its owner and its age;
    of those that are returned, all entries. Raises InvalidSetting unless `limit` is a whole number of at least 0, and
    what opening and reading the store raises.
    """
    if type(limit) is not int or limit < 0:
        raise InvalidSetting(f"list_conversations: limit must be a whole number, at least 0, not {quote(limit)}")
    with store_in_use(store) as opened:
        found = [one for one in conversations_in(opened) if user_id in (None, one.user_id)]
        found.sort(key=lambda one: (one.last or 0.0, one.id), reverse=True)
        full = (describe_conversation(opened, one.id, full=True) if not one.damaged else one for one in found[:limit])
        return [one for one in full if one is not None]


def conversations_in(
    store: Store, *, full: bool = False, update: Callable[[float, str], None] | None = None
) -> Iterator[StoredConversation]:
    """Yield a description of every conversation of a store, in the order in which they were created. One that is
    forgotten meanwhile is passed over. Last come the files of a JSON Lines store whose header cannot be read: `id` is
    the name of the file, `damaged` the reason.

    `full`: describe each in full, which reads all of its entries. `update`: called before each conversation with the
    share of the work that is done (0 to 1), and a label ("3 of 12 conversations").
    """
    names = store.names()
    for number, name in enumerate(names):
        if update is not None:
            update(number / len(names), f"{number:,} of {len(names):,} conversations")
        if (found := describe_conversation(store, name, full=full)) is not None:
            yield found
    if isinstance(store, JsonlStore):
        for path, why in store.unreadable_files():
            yield StoredConversation(id=path.name, entries=None, damaged=f"{path}: {why}")


def describe_conversation(store: Store, name: str, *, full: bool = False) -> StoredConversation | None:
    """Describe one conversation of a store. A name that the store does not have gives a description without entries;
    None: it was forgotten while it was read. If it is damaged, the description has only its name, and the error in
    `damaged`. `full`: describe it in full, which reads all of its entries."""
    try:
        log = store.open(name)
        return _described_in_full(log) if full else _described(log)
    except StoreDamaged as problem:
        return StoredConversation(id=name, entries=None, damaged=str(problem))
    except UnknownLog:
        return None


def _described(log: StoredLog) -> StoredConversation:
    """Describe a conversation by its first entries and its last one."""
    if not len(log):
        return StoredConversation(id=log.name)
    first = list(log.read(0, FIRST_ENTRIES))
    owner = Owner() if (meta := first[0].meta) is None else Owner(meta.user_id, meta.session_id)
    counters = (entry.counter for entry in first)
    return StoredConversation(
        id=log.name,
        title=next((title for entry in first if (title := _title_of(entry))), ""),
        user_id=owner.user_id,
        session_id=owner.session_id,
        entries=len(log),
        first=first[0].at,
        last=log[len(log) - 1].at,
        dialect=next((dialect for counter in counters if (dialect := _dialect_of(counter))), None),
    )


def _described_in_full(log: StoredLog) -> StoredConversation:
    """Describe a conversation by all its entries."""
    calls, size, dialect, usage = 0, 0, None, TotalUsage()
    for entry in log.read():
        calls += isinstance(entry.body, Sent)
        size += len(encode(entry))
        dialect = dialect or _dialect_of(entry.counter)
        usage = usage.plus_entry(entry, agents=False)
    cost = usage.dollars if usage.dollars or usage.cost is not None else None
    return replace(_described(log), calls=calls, size=size, cost=cost, dialect=dialect)


def _title_of(entry: Entry) -> str:
    """The first line of a user's message; empty for any other entry."""
    if not isinstance(entry.body, User) or (entry.meta is not None and entry.meta.injected):
        return ""
    text = "".join(part.text for part in entry.body.parts if isinstance(part, Text)).strip()
    return shorten(text.partition("\n")[0].strip(), TITLE_CHARACTERS)


def _dialect_of(counter: str) -> str | None:
    """Return the dialect in the name of a token counter, "openai" if it names none; None if it is empty."""
    _, slash, dialect = counter.rpartition("/")
    return (dialect if slash else "openai") if counter else None
