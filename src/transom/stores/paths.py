"""The paths of stores, as users write them."""

from __future__ import annotations

import os
from pathlib import Path

from transom.errors import InvalidSetting, quote


def expanded(path: str) -> str:
    """Return a path with `~` at its beginning replaced by the home folder; every other path as it is.

    Raises InvalidSetting for the home of a user that there is not.
    """
    if not path.startswith("~"):
        return path
    found = os.path.expanduser(path)  # noqa: PTH111 - keeps a slash at the end, which says that it is a folder
    if found.startswith("~"):
        raise InvalidSetting(f"store {quote(path)}: there is no such home folder; a file of that name is ./{path[:50]}")
    return found


def absolute_path(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a store's file or folder. Raises InvalidSetting as `expanded` does."""
    text = os.fspath(path)
    return Path(expanded(text)).absolute()
