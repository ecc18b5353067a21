"""The command `transom conversations`: lists the conversations of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from transom.cli.commands import Conversations
from transom.cli.locate import existing_store, store_url
from transom.cli.progress import ProgressBar
from transom.cli.streams import counted, minute_of, one_line, print_notice
from transom.cli.terminal import print_json, print_line, terminal
from transom.core.codec import encode
from transom.core.entry import Sent
from transom.errors import InvalidSetting, StoreDamaged, UnknownLog
from transom.stores import JsonlStore, Store, StoredLog
from transom.stores.postgres_url import without_password

DAMAGED = 1
"""The exit code of a full list that has found damage."""
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


def run(options: Conversations) -> int:
    """Print the conversations of a store. Exit code 1 if a full list has found damage."""
    if None not in (options.store, options.from_store):
        raise InvalidSetting("a store is given twice: as STORE and with --store")
    url = store_url(options.store or options.from_store)
    with existing_store(url) as store, ProgressBar() as progress:
        conversations = list(conversations_in(store, full=options.full, update=progress.update))
    code = DAMAGED if options.full and any(one.damaged for one in conversations) else 0
    if options.json:
        print_json({"store": without_password(url), "conversations": conversations})
        return code
    console = terminal()
    print_line(console, (f"{one_line(without_password(url))}: {counted(len(conversations), 'conversation')}", "bold"))
    if conversations:
        figures = f"{'calls':>7} {'size':>9} " if options.full else ""
        print_line(console, (f"{'entries':>9} {figures}{'last entry':<16} {'dialect':<10} id", "bold"))
    for one in conversations:
        last = "" if one.last is None else minute_of(one.last)
        figures = f"{one.calls or 0:>7,} {_bytes(one.size or 0):>9} " if options.full else ""
        entries = "damaged" if one.entries is None else f"{one.entries:,}"
        line = f"{entries:>9} {figures}{last:<16} {one.dialect or '':<10} "
        print_line(console, (line, "red" if one.damaged else ""), one_line(one.id))
    for one in conversations:
        if one.damaged:
            print_notice(f"{one.id}: {one.damaged}")
    return code


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
        label = f"{number:,} of {counted(len(names), 'conversation')}"

        def show(share: float, at: int = number, label: str = label) -> None:
            if update is not None:
                update((at + share) / len(names), label)

        show(0)
        try:
            log = store.open(name)
            yield _described_in_full(log, show) if full else _described(log)
        except StoreDamaged as problem:
            yield StoredConversation(id=name, entries=None, damaged=str(problem))
        except UnknownLog:  # forgotten meanwhile
            continue
    if isinstance(store, JsonlStore):
        for path, why in store.unreadable_files():
            yield StoredConversation(id=path.name, entries=None, damaged=f"{path}: {why}")


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


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1_000:
            return f"{size:,.0f} {unit}"
        size /= 1_000
    return f"{size:,.1f} GB"
