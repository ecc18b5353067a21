"""What a search index needs of a store: its conversations, and which of them have changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol, cast

from transom.core.entry import Entry
from transom.errors import InvalidSetting, quote

ARCHIVE = ".memory-archive/"
OWN_LOGS = (".memory/", ARCHIVE)
"""Prefixes of the names of logs that are no conversations (see `transom.memory`)."""


def is_own_log(name: str) -> bool:
    """True if a log is not a conversation but one of Transom's own. Only a search that names such a log searches it."""
    return name.startswith(OWN_LOGS)


def check_name(what: str, name: object) -> None:
    """Raise InvalidSetting if this cannot be the name of a conversation: no text, empty, or one that Transom keeps for
    its own logs. `what`: how the error names it."""
    if not isinstance(name, str) or not name:
        raise InvalidSetting(f"{what}: must be a text of at least one character, not {quote(name)}")
    if is_own_log(name):
        kept = ", ".join(OWN_LOGS)
        raise InvalidSetting(
            f"{what}: Transom keeps {quote(name)} for its own logs: choose an id that does not begin with {kept}"
        )


def is_indexed(name: str, names: Iterable[str] | None) -> bool:
    """True if an update of the logs `names` (None: of all) indexes this one: a conversation always; of Transom's own
    logs only an archive of memory that is named."""
    return not is_own_log(name) or (names is not None and name.startswith(ARCHIVE))


class LogSource(Protocol):
    """A log whose entries are indexed: the methods of `transom.stores.StoredLog` that an index needs."""

    def __len__(self) -> int: ...

    def __getitem__(self, seq: int, /) -> Entry: ...

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]: ...

    def refresh(self) -> int: ...


class StoreSource(Protocol):
    """A store whose conversations are indexed: the methods of `transom.stores.Store` that an index needs."""

    def names(self, prefix: str = "") -> list[str]: ...

    def open(self, name: str) -> LogSource: ...


class LogStamp(NamedTuple):
    """Two values that tell whether the conversation `name` has changed. Both are only compared for equality.

    `identity`: a later conversation of the same name has another one. `stamp`: it changes when entries are appended.
    """

    name: str
    identity: str
    stamp: str


class Stamped(Protocol):
    """A store that can tell what has changed, so that an update need not open every conversation for its length.

    A store may have one of the methods only: without `stamp`, each update compares the stamps of all conversations.
    """

    def stamp(self) -> object:
        """Return a value that differs whenever anything in the store may have changed; None if that is not known."""
        ...

    def log_stamps(self, names: Iterable[str] | None = None) -> list[LogStamp]:
        """Return the stamps of these conversations, or of all (None); unknown names are left out."""
        ...


def store_stamp(store: StoreSource) -> object:
    """Return the `Stamped.stamp` of a store; None if it has none."""
    return cast("Stamped", store).stamp() if hasattr(store, "stamp") else None


def log_stamps(store: StoreSource, names: Iterable[str] | None) -> list[LogStamp]:
    """Return the stamps of the named logs, or of all (None), as far as they are indexed (`is_indexed`). If the store
    has no stamps, each log is opened, and its length is the stamp."""
    return [stamp for stamp in _all_stamps(store, names) if is_indexed(stamp.name, names)]


def _all_stamps(store: StoreSource, names: Iterable[str] | None) -> list[LogStamp]:
    if hasattr(store, "log_stamps"):
        return cast("Stamped", store).log_stamps(names)
    wanted = store.names()
    if names is not None:
        wanted = set(names).intersection((*wanted, *store.names(ARCHIVE)))
    return [LogStamp(name, "", str(len(store.open(name)))) for name in wanted]


def stored_name(name: str) -> str | bytes:
    """Convert a name to what SQLite can store: bytes if it has lone surrogates, otherwise the text."""
    raw = name.encode("utf-8", "surrogatepass")
    return name if raw.decode("utf-8", "ignore") == name else raw


def true_name(stored: str | bytes) -> str:
    """Convert a value of `stored_name` back to the name."""
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")
