"""Writes tool results to files, for an agent whose tools read files: `<folder>/<call id>.json`.

Call ids come from outside. If a call id is not a safe file name, or another file has that name already, the file is
named by the entry: so no id can name another folder. A file in the folder is never changed, whoever wrote it. The
folder belongs to the caller: forgetting the conversation does not remove it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, cast

from msgspec import to_builtins

from transom import private_files
from transom.core.codec import plain
from transom.core.log import Log
from transom.core.message import Text, ToolResult
from transom.readback.readable_entries import is_hidden, tool_of

_SAFE_NAME = re.compile(
    r"(?!entry-\d+$|con$|prn$|aux$|nul$|com\d$|lpt\d$)[a-z0-9_][a-z0-9_-]{0,99}", re.ASCII | re.IGNORECASE
)
"""Matches a name that every file system accepts, and that does not look like one made from an entry's seq."""


def mirror(log: Log, folder: Path, first: int = 0, *, redact: Callable[[str], str] | None = None) -> list[Path]:
    """Write each tool result of entry `first` and later to a file, unless it has one.

    Returns the path of each result, in order, also of those that had a file. A file is named `<call id>.json`, or
    `entry-<seq>.json` if the id is no safe name or the name is taken. It holds `entry`, `tool`, `call`, `failed` and
    `content` (a text, or the list of parts) as JSON. A file is never changed: the same result keeps its file, and a
    result that differs gets a new one. To forget the conversation does not remove its files.

    The folder is made if it is missing. It and the files are readable by their owner alone. Entries that are kept out
    of context are left out. `redact`: applied to every text of `content`, and to nothing else;
    `transom.redaction.redactor("secrets")` makes one. Raises OSError.
    """
    private_files.make_folder(folder)
    entries = (log[seq] for seq in range(first, len(log)))
    return [
        _write_result(folder, entry.seq, entry.body, tool_of(log, entry), redact)
        for entry in entries
        if isinstance(entry.body, ToolResult) and not is_hidden(entry)
    ]


def _write_result(folder: Path, seq: int, result: ToolResult, tool: str, redact: Callable[[str], str] | None) -> Path:
    """Write one result to the first of its names that is free or has the same bytes, and return that path."""
    texts = [part.text for part in result.parts if isinstance(part, Text)]
    content = "".join(texts) if len(texts) == len(result.parts) <= 1 else list(result.parts)
    if redact is not None:
        content = _redacted(to_builtins(content), redact)
    data = plain({"entry": seq, "tool": tool, "call": result.call, "failed": result.failed, "content": content})
    for name in _names(seq, result.call):
        path = folder / f"{name}.json"
        if (found := _read(path)) is None:
            _write(path, data)
        if found in {None, data}:
            return path
    raise AssertionError("there is always one more name")


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    """Return a JSON value with every text in it redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _redacted(item, redact) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_redacted(item, redact) for item in cast("list[Any]", value)]
    return value


def _names(seq: int, call: str) -> Iterator[str]:
    """Yield the names that a result's file may have, the preferred one first."""
    if _SAFE_NAME.fullmatch(call):
        yield call
    yield f"entry-{seq}"
    yield from (f"entry-{seq}-{number}" for number in count(2))


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(path: Path, data: bytes) -> None:
    """Write the whole file or nothing: to a temporary file, which is then renamed."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with private_files.opened(temporary) as file:
            file.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
