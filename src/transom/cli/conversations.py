"""The command `transom conversations`: lists the conversations of a store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from transom.cli.commands import Conversations
from transom.cli.locate import existing_store, store_url
from transom.cli.streams import counted, one_line, print_notice
from transom.cli.terminal import print_json, print_line, terminal
from transom.core.codec import encode
from transom.core.entry import Sent
from transom.errors import InvalidSetting, StoreDamaged
from transom.search.source import is_own_log
from transom.stores import Store, StoredLog
from transom.stores.postgres_url import without_password


class StoredConversation(Struct, frozen=True, kw_only=True):
    """A conversation of a store.

    `calls`: how many requests were sent; `last`: when its last entry was appended, in seconds since the epoch; `size`:
    bytes of its entries; `dialect`: the one its entries were counted for, None if nothing was counted; `damaged`: the
    error if it cannot be read.
    """

    id: str
    entries: int
    calls: int
    last: float | None
    size: int
    dialect: str | None
    damaged: str = ""


def run(options: Conversations) -> int:
    """Print the list."""
    if None not in (options.store, options.from_store):
        raise InvalidSetting("a store is given twice: as STORE and with --store")
    url = store_url(options.store or options.from_store)
    with existing_store(url) as store:
        conversations = list(conversations_in(store))
    if options.json:
        print_json({"store": without_password(url), "conversations": conversations})
        return 0
    console = terminal()
    print_line(console, (f"{one_line(without_password(url))}: {counted(len(conversations), 'conversation')}", "bold"))
    if conversations:
        print_line(console, (f"{'entries':>9} {'calls':>7} {'size':>9} {'last entry':<16} {'dialect':<10} id", "bold"))
    for one in conversations:
        last = "" if one.last is None else f"{datetime.fromtimestamp(one.last).astimezone():%Y-%m-%d %H:%M}"
        figures = f"{one.entries:>9,} {one.calls:>7,} {_bytes(one.size):>9} {last:<16} {one.dialect or '':<10} "
        print_line(console, (figures, "red" if one.damaged else ""), one_line(one.id))
    for one in conversations:
        if one.damaged:
            print_notice(f"{one.id}: {one.damaged}")
    return 0


def conversations_in(store: Store) -> Iterator[StoredConversation]:
    """Yield every conversation of a store, in the order in which they were created. It reads all entries."""
    for name in store.names():
        if is_own_log(name):
            continue
        try:
            yield _described(store.open(name))
        except StoreDamaged as problem:
            yield StoredConversation(id=name, entries=0, calls=0, last=None, size=0, dialect=None, damaged=str(problem))


def _described(log: StoredLog) -> StoredConversation:
    calls, size, last, dialect = 0, 0, None, None
    for entry in log.read():
        calls += isinstance(entry.body, Sent)
        size += len(encode(entry))
        last = entry.at
        dialect = dialect or _dialect_of(entry.counter)
    return StoredConversation(id=log.name, entries=len(log), calls=calls, last=last, size=size, dialect=dialect)


def _dialect_of(counter: str) -> str | None:
    """Return the dialect in the name of a token counter: "openai" for TOKENIZER, DIALECT for TOKENIZER/DIALECT; None if
    empty.
    """
    _, slash, dialect = counter.rpartition("/")
    return (dialect if slash else "openai") if counter else None


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1_000:
            return f"{size:,.0f} {unit}"
        size /= 1_000
    return f"{size:,.1f} GB"
