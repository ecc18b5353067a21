"""Tool results as files, for tools that read files: `<folder>/<call id>.json`.

Call ids come from outside. One that is not plainly a file name, or that another result has taken, gives way to the
number of the entry; no id ever names a folder or leaves it. A folder is for one conversation, and is the caller's:
no store knows of it, and forgetting the conversation leaves it as it is.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from transom.core.codec import plain
from transom.core.log import Log
from transom.core.message import Text, ToolResult
from transom.readback.content import is_hidden, tool_of

_SAFE = re.compile(
    r"(?!entry-\d+$|con$|prn$|aux$|nul$|com\d$|lpt\d$)[a-z0-9_][a-z0-9_-]{0,99}", re.ASCII | re.IGNORECASE
)
"""A name that every file system takes and that no entry's own name can be."""


def mirror(log: Log, folder: Path, first: int = 0) -> list[Path]:
    """Write the results of entries `first` and later that are not there yet; the path of each, in order.

    A file holds `entry`, `tool`, `call`, `failed` and `content` (a text, or the list of parts). Once written it is
    never changed, and writing again finds it. What is kept out of context is left out. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries = (log[seq] for seq in range(first, len(log)))
    return [
        _kept(folder, entry.seq, entry.body, tool_of(log, entry))
        for entry in entries
        if isinstance(entry.body, ToolResult) and not is_hidden(entry)
    ]


def _kept(folder: Path, seq: int, result: ToolResult, tool: str) -> Path:
    texts = [part.text for part in result.parts if isinstance(part, Text)]
    content = "".join(texts) if len(texts) == len(result.parts) <= 1 else list(result.parts)
    shown = {"entry": seq, "tool": tool, "call": result.call, "failed": result.failed, "content": content}
    data, own = plain(shown), folder / f"entry-{seq}.json"
    named = folder / f"{result.call}.json" if _SAFE.fullmatch(result.call) else own
    wanted = named if _read(named) in {None, data} else own
    if _read(wanted) != data:
        _write(wanted, data)
    return wanted


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(path: Path, data: bytes) -> None:
    """All of it or nothing: written aside, then renamed."""
    aside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        aside.write_bytes(data)
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
