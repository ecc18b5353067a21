"""Content parts, as all dialects read them. What differs is a table: which types of parts are images or files."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from transom.core.message import Media, MediaKind, Other, Raw, Text
from transom.errors import InvalidMessage
from transom.wire.fields import kind_of

MediaTypes = Mapping[str, MediaKind]
"""A dialect's types of parts that hold an image or a file."""


def text_part(raw: Raw, key: str, where: str, path: str, *, drop: Collection[str]) -> Text:
    """A part whose text is under `key`. Its other fields stay in `extra`, but for those that rendering knows (`drop`).

    Raises InvalidMessage if there is no text.
    """
    text: object = raw.get(key)
    if not isinstance(text, str):
        raise InvalidMessage(where, f"{path}.{key} must be a string, not {kind_of(text)}")
    rest = {name: value for name, value in raw.items() if name not in drop}
    return Text(text, rest or None)


def other_part(raw: Raw, media: MediaTypes) -> Media | Other:
    """A part that is no text: an image, a file, or something that we do not know. It is kept as it is."""
    kind: object = raw.get("type")
    return Media(media[kind], raw) if isinstance(kind, str) and kind in media else Other(raw)
