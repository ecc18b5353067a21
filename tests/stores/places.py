"""Every store behind one door."""

from __future__ import annotations

from transom.stores import Store, open_store


class Place:
    """Somewhere to keep logs. Each `open` is a new start, but for memory, which has only the one."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._stores: list[Store] = []

    def open(self) -> Store:
        if self.url == "memory:" and self._stores:
            return self._stores[0]
        self._stores.append(open_store(self.url))
        return self._stores[-1]

    def close(self) -> None:
        for store in self._stores:
            store.close()
