"""Reads content parts, in the same way for all dialects. Each dialect gives a table of its types of images and
files."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from transom.core.message import Media, MediaKind, Other, Raw, Text
from transom.errors import InvalidMessage
from transom.wire.fields import kind_of

MediaTypes = Mapping[str, MediaKind]
"""A dialect's types of parts that hold an image or a file, and which of the two."""


def text_part(raw: Raw, key: str, where: str, path: str, *, drop: Collection[str]) -> Text:
    """Read a text part: the text under `key`, and its other fields as `extra`, without those that rendering writes
    (`drop`).

    Raises InvalidMessage if there is no string under `key`.
    """
    text: object = raw.get(key)
    if not isinstance(text, str):
        raise InvalidMessage(where, f"{path}.{key} must be a string, not {kind_of(text)}")
    rest = {name: value for name, value in raw.items() if name not in drop}
    return Text(text, rest or None)


def other_part(raw: Raw, media: MediaTypes) -> Media | Other:
    """Read a part that is not text: an image or file of a type in `media`, or a part that we do not know. It is kept
    unchanged."""
    kind: object = raw.get("type")
    return Media(media[kind], raw) if isinstance(kind, str) and kind in media else Other(raw)
