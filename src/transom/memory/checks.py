"""What callers pass to a memory, checked before anything is stored: one clear line instead of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from transom.errors import InvalidSetting, quote


def text(what: str, value: object) -> str:
    """Return a text; of a subclass of `str`, the plain `str`. `what`: how the error names it. Raises InvalidSetting for
    anything else."""
    if not isinstance(value, str):
        raise InvalidSetting(f"{what} must be a text, not {quote(value)}")
    return str.__str__(value)


def number(what: str, value: object) -> int:
    """Return a whole number unchanged. `what`: how the error names it. Raises InvalidSetting for anything else, also
    for a bool."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidSetting(f"{what} must be a whole number, not {quote(value)}")
    return value


def tags(value: object) -> list[str]:
    """Return the tags of a text of the archive as a list. Raises InvalidSetting unless it is an iterable of texts."""
    if isinstance(value, str | bytes | bytearray | Mapping) or not isinstance(value, Iterable):
        raise InvalidSetting(f"archive: tags must be a list of texts, not {quote(cast('object', value))}")
    return [text("archive: a tag", tag) for tag in cast("Iterable[object]", value)]
