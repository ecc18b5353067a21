"""What a search index needs of a store: its conversations, and which of them have changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol, cast

from transom.core.entry import Entry

ARCHIVE = ".memory-archive/"
OWN_LOGS = (".token-fits", ".memory/", ARCHIVE)
"""How the names of logs begin that are no conversations (`transom.token_fit`, `transom.memory`)."""


def is_own_log(name: str) -> bool:
    """Whether a log is no conversation but Transom's own. Only a search that names it looks into it."""
    return name.startswith(OWN_LOGS)


def is_indexed(name: str, names: Iterable[str] | None) -> bool:
    """Whether an update of these logs (None: of all) indexes this one. Of our own logs only a named archive."""
    return not is_own_log(name) or (names is not None and name.startswith(ARCHIVE))


class LogSource(Protocol):
    """A log whose entries are indexed: a part of `transom.stores.StoredLog`."""

    def __len__(self) -> int: ...

    def __getitem__(self, seq: int, /) -> Entry: ...

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]: ...

    def refresh(self) -> int: ...


class StoreSource(Protocol):
    """A store whose conversations are indexed: a part of `transom.stores.Store`."""

    def names(self) -> list[str]: ...

    def open(self, name: str) -> LogSource: ...


class LogStamp(NamedTuple):
    """A conversation as it is now. `identity` differs from that of a later conversation by the same name; `stamp`
    differs when entries were appended. Both are only compared."""

    name: str
    identity: str
    stamp: str


class Stamped(Protocol):
    """A store that knows what has changed without opening every conversation. A store need not be one."""

    def stamp(self) -> object:
        """A value that differs whenever anything in the store may have changed; None if that is not known."""
        ...

    def log_stamps(self, names: Iterable[str] | None = None) -> list[LogStamp]:
        """The stamps of these conversations, or of all; unknown names are left out."""
        ...


def store_stamp(store: StoreSource) -> object:
    """The stamp of a store; None if it has none."""
    return cast("Stamped", store).stamp() if hasattr(store, "stamp") else None


def log_stamps(store: StoreSource, names: Iterable[str] | None) -> list[LogStamp]:
    """The stamps of conversations. Of a store without stamps each conversation is opened for its length."""
    return [stamp for stamp in _all_stamps(store, names) if is_indexed(stamp.name, names)]


def _all_stamps(store: StoreSource, names: Iterable[str] | None) -> list[LogStamp]:
    if hasattr(store, "log_stamps"):
        return cast("Stamped", store).log_stamps(names)
    known = store.names()
    wanted = known if names is None else [name for name in set(names) if name in set(known)]
    return [LogStamp(name, "", str(len(store.open(name)))) for name in wanted]


def stored_name(name: str) -> str | bytes:
    """A name as SQLite takes it: one with lone surrogates is stored as bytes."""
    raw = name.encode("utf-8", "surrogatepass")
    return name if raw.decode("utf-8", "ignore") == name else raw


def true_name(stored: str | bytes) -> str:
    """The name of which `stored_name` made this."""
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")
