"""`LocalStore`, the base class of the stores on this machine. Their indexes are SQLite files, or in memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from transom.search.indexed_store import StoreSource
from transom.stores.base import no_such_log
from transom.stores.prefix_index import MEMORY, SqlitePrefixIndex

if TYPE_CHECKING:
    from transom.search.sqlite_index import SqliteIndex


class LocalStore:
    """The base class of a store with two indexes, one of words and one of message prefixes. Each is made when it is
    first used. A subclass sets the files of the indexes, and removes conversations in `_forget_all`."""

    _search_file: Path | None = None
    _prefix_file: Path | None = None
    """The files of the two indexes. None: the index is in memory."""
    _words: SqliteIndex | None = None
    _prefixes: SqlitePrefixIndex | None = None

    def search_index(self) -> SqliteIndex:
        """Return the search index of this store, which is a file beside the store's data. It is in memory if the store
        is, or if that file cannot be written. It is closed with the store."""
        if self._words is None:
            from transom.search.sqlite_index import SqliteIndex  # noqa: PLC0415 - only where something is searched

            self._words = SqliteIndex(cast("StoreSource", self), self._search_file)
        return self._words

    def prefix_index(self) -> SqlitePrefixIndex:
        """Return the index of message prefixes (`stores.prefix_index`), which is a file beside the store's data, or in
        memory if the store is. It is closed with the store. Raises StoreUnavailable if the file cannot be opened or
        made."""
        if self._prefixes is None:
            self._prefixes = SqlitePrefixIndex(str(self._prefix_file or MEMORY))
        return self._prefixes

    def forget(self, name: str) -> None:
        if not self.forget_all((name,)):
            raise no_such_log(name)

    def forget_all(self, names: Iterable[str]) -> bool:
        """Forget several conversations in one go; unknown names are ignored. Returns false if there was nothing to
        remove; true also if it removed what an earlier call has left behind."""
        names = list(names)
        with self.search_index().forgetting(names):
            if self._prefix_file is None or self._prefix_file.exists():
                self.prefix_index().forget(names)
            return self._forget_all(names)

    def _forget_all(self, names: Iterable[str]) -> bool:
        """Remove these conversations from the store itself, as `forget_all` says."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the two indexes. The next use opens them again; an index of words in memory is lost and made anew, one
        of message prefixes in memory stays."""
        if self._words is not None:
            self._words.close()
        if self._prefixes is not None and self._prefix_file is not None:
            self._prefixes.close()
            self._prefixes = None
        self._words = None
