"""Opens each SQLite file whose path comes in on a line, and prints the error, or an empty line.

The tests of opening run it as processes of their own. A file is opened as the first argument says: as a store or
as a search index.
"""

from __future__ import annotations

import sys
from pathlib import Path

from transom.search.index_file import IndexFile
from transom.stores.sqlite_file import SqliteFile


def open_store(path: str) -> None:
    SqliteFile(path, Path(path).as_uri(), "FULL").close()


def open_index(path: str) -> None:
    IndexFile(path).close()


def main(open_file: str) -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            {"store": open_store, "index": open_index}[open_file](line.rstrip("\n"))
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, the test prints it
            print(repr(problem).replace("\n", "\\n"), flush=True)
        else:
            print(flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
