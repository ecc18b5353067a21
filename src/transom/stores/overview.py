"""Lists the conversations of a store: how long each is, when something was said last, whether it can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from transom.core.codec import encode
from transom.core.entry import Sent
from transom.errors import StoreDamaged, UnknownLog
from transom.stores.base import Store, StoredLog
from transom.stores.jsonl import JsonlStore

FIRST_ENTRIES = 8
"""How many entries from the first on are read to find one that was counted, which says for which dialect."""
_CHUNK = 5_000
"""Entries that are read between two updates of the progress bar."""


class StoredConversation(Struct, frozen=True, kw_only=True):
    """A conversation of a store.

    `entries`: how many it has, None if it cannot be read; `first`, `last`: when its first and last entries were
    appended, in seconds since the epoch; `dialect`: the one its entries were counted for, None if nothing was counted;
    `damaged`: the error if it cannot be read. Only a full list has `calls`, how many requests were sent, and `size`,
    the bytes of its entries, and looks for damage in all of them.
    """

    id: str
    entries: int | None = 0
    calls: int | None = None
    first: float | None = None
    last: float | None = None
    size: int | None = None
    dialect: str | None = None
    damaged: str = ""


def conversations_in(
    store: Store, *, full: bool = False, update: Callable[[float, str], None] | None = None
) -> Iterator[StoredConversation]:
    """Yield every conversation of a store, in the order in which they were created. Files of a JSON Lines store that
    name no conversation follow, each under the name of the file.

    It reads the first entries and the last one of each; with `full`, all entries. `update`: called with the share that
    is done and a label.
    """
    names = store.names()
    for number, name in enumerate(names):
        label = f"{number:,} of {len(names):,} conversations"

        def show(share: float, at: int = number, label: str = label) -> None:
            if update is not None:
                update((at + share) / len(names), label)

        show(0)
        if (found := described(store, name, full=full, update=show)) is not None:
            yield found
    if isinstance(store, JsonlStore):
        for path, why in store.unreadable_files():
            yield StoredConversation(id=path.name, entries=None, damaged=f"{path}: {why}")


def described(
    store: Store, name: str, *, full: bool = False, update: Callable[[float], None] | None = None
) -> StoredConversation | None:
    """Describe one conversation of a store; None if it was forgotten meanwhile.

    `full`: by all its entries, and `update` is called with the share that was read.
    """
    try:
        log = store.open(name)
        return _described_in_full(log, update or (lambda _: None)) if full else _described(log)
    except StoreDamaged as problem:
        return StoredConversation(id=name, entries=None, damaged=str(problem))
    except UnknownLog:
        return None


def _described(log: StoredLog) -> StoredConversation:
    """Describe a conversation by its first entries and its last one."""
    if not len(log):
        return StoredConversation(id=log.name)
    counters = (entry.counter for entry in log.read(0, FIRST_ENTRIES))
    return StoredConversation(
        id=log.name,
        entries=len(log),
        first=log[0].at,
        last=log[len(log) - 1].at,
        dialect=next(filter(None, map(_dialect_of, counters)), None),
    )


def _described_in_full(log: StoredLog, show: Callable[[float], None]) -> StoredConversation:
    """Describe a conversation by all its entries."""
    calls, size, dialect = 0, 0, None
    for entry in log.read():
        if entry.seq % _CHUNK == 0:
            show(entry.seq / len(log))
        calls += isinstance(entry.body, Sent)
        size += len(encode(entry))
        dialect = dialect or _dialect_of(entry.counter)
    return replace(_described(log), calls=calls, size=size, dialect=dialect)


def _dialect_of(counter: str) -> str | None:
    """Return the dialect in the name of a token counter: "openai" for TOKENIZER, DIALECT for TOKENIZER/DIALECT; None if
    empty.
    """
    _, slash, dialect = counter.rpartition("/")
    return (dialect if slash else "openai") if counter else None
