"""Values of unknown JSON as the types they should have."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import cast

from transom.core.message import Raw


def objects_in(value: object) -> list[Raw]:
    """The objects in the value, if it is a list."""
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Raw", item) for item in listed if isinstance(item, dict)]


def dumped(value: object) -> str:
    """JSON as most programs write it: without blanks, with characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def iso_time(at: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def json_or_text(text: str) -> object:
    """The object that a text of JSON is; the text itself if it is none."""
    try:
        value: object = json.loads(text or "{}")
    except ValueError:
        return text
    return cast("object", value) if isinstance(value, dict) else text


def plain_text(content: object) -> str:
    """The text of chat content: a string, or the texts of its parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in objects_in(content) if isinstance(part.get("text"), str))


def data_of(url: str) -> tuple[str, str] | None:
    """The media type and the base64 data of a data URL; None for any other URL."""
    begin, found, data = url.partition(";base64,")
    return (begin.removeprefix("data:"), data) if found and begin.startswith("data:") else None
