"""Converts values of unknown JSON to the types they should have."""

from __future__ import annotations

import json
from typing import cast

from transom.clock import utc
from transom.core.message import Raw


def objects_in(value: object) -> list[Raw]:
    """Return the objects in a list; empty for a value that is no list."""
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Raw", item) for item in listed if isinstance(item, dict)]


def first_of(value: object) -> Raw:
    """Return the first object in a list; an empty object for a list without one, and for a value that is no list."""
    return next(iter(objects_in(value)), cast("Raw", {}))


def as_list(value: object) -> list[object]:
    """Return a list as it is, and any other value as the only item of one."""
    return cast("list[object]", value) if isinstance(value, list) else [value]


def dumped(value: object) -> str:
    """Write a value as JSON the way most programs do: without blanks, with characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def iso_time(at: float) -> str:
    """Write a time in seconds since the epoch as ISO 8601 in UTC: with milliseconds, and with microseconds where it has
    any, so that an import gives the same order."""
    when = utc(at)
    unit = "microseconds" if when.microsecond % 1_000 else "milliseconds"
    return when.isoformat(timespec=unit).replace("+00:00", "Z")


def json_or_text(text: str) -> object:
    """Parse a text as a JSON object; return the text itself if it is none. An empty text gives an empty object."""
    try:
        value: object = json.loads(text or "{}")
    except ValueError:
        return text
    return cast("object", value) if isinstance(value, dict) else text


def plain_text(content: object) -> str:
    """Return the text of chat content: a string as it is, or the texts of its parts joined with line ends."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in objects_in(content) if isinstance(part.get("text"), str))


def data_of(url: str) -> tuple[str, str] | None:
    """Split a data URL into its media type and its base64 data; None for any other URL."""
    begin, found, data = url.partition(";base64,")
    return (begin.removeprefix("data:"), data) if found and begin.startswith("data:") else None
