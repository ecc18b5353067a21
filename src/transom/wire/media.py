"""Translates images and files between dialects, through an `Asset` that belongs to none.

A file id of a provider means nothing to another one, and not every API takes every kind of file. Then there is no
translation, and the caller writes a placeholder.
"""

from __future__ import annotations

import re
import struct
from base64 import b64decode
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from transom.core.message import Media, MediaKind, Raw
from transom.wire.chat_json import chat_media
from transom.wire.fields import DIALECT_OF_PART, as_dict, data_url, text

_HEADER = 128 * 1024
"""The first characters of base64 that are read for the size of an image. A camera may put data before it."""
_PICTURES = (b"\x89PNG", b"\xff\xd8", b"GIF8", b"RIFF")

_PDF = "application/pdf"
_USUAL = {"image": "image/png", "file": _PDF}
"""The media type to assume if none is given."""
_FILES = ("inlineData", "inline_data", "fileData", "file_data")
"""The keys of Gemini's parts with files, in both spellings."""

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,", re.ASCII)


class Asset(Struct, frozen=True):
    """An image or file in no dialect's format.

    - `data`: its bytes in base64. `url`: where it is, if the part has no data. Both are empty if the part names it only
      by an id of the provider.
    - `mime`: its media type. `name`: its file name. Each is empty if it is not known.
    """

    kind: MediaKind
    mime: str = ""
    data: str = ""
    url: str = ""
    name: str = ""


_FETCHED_BY_GEMINI_ALONE = ("gs://", "https://generativelanguage.googleapis.com/")
"""URLs from which only Gemini can fetch."""


def translate_media(media: Media, source: str, target: str) -> Raw | None:
    """Translate an image or file to a part of the dialect `target`. `source`: the dialect that the part is in. A file
    without a media type is taken for a PDF, and an image for a PNG.

    None if the dialect `target` has no part for such a file, if the file is only named by a provider's id or by a URL
    from which only Gemini can fetch, or if one of the two dialects is unknown.
    """
    asset = _KNOWN[source][0](media.raw) if source in _KNOWN and target in _KNOWN else None
    if asset is None or not (asset.data or asset.url) or asset.url.startswith(_FETCHED_BY_GEMINI_ALONE):
        return None
    return _KNOWN[target][1](asset if asset.mime else replace(asset, mime=_USUAL[asset.kind]))


def asset_of(media: Media) -> Asset | None:
    """The image or file in a part of any dialect; None if the part has neither its data nor a URL."""
    assets = (read(media.raw) for read, _ in _KNOWN.values())
    return next((asset for asset in assets if asset is not None and (asset.data or asset.url)), None)


def pixels(media: Media) -> tuple[int, int] | None:
    """Width and height of an image, from the header of its data. None if the data is not in the part, is in no format
    that models take, or does not say its size in the first 96 KiB."""
    import imagesize  # type: ignore[reportMissingTypeStubs]  # noqa: PLC0415 - it brings an HTTP client along

    asset = asset_of(media)
    data = asset.data[:_HEADER] if asset is not None else ""
    try:
        head = b64decode(data + "=" * (-len(data) % 4))
        width, height = cast("Any", imagesize).get(BytesIO(head)) if head.startswith(_PICTURES) else (0, 0)
    except (ValueError, struct.error):
        return None
    return (width, height) if width > 0 and height > 0 else None


def _located(kind: MediaKind, url: str, name: str = "") -> Asset:
    """An asset from a URL, which may be a data URL."""
    found = _DATA_URL.match(url[:200])
    if found is None:
        return Asset(kind, url=url, name=name)
    return Asset(kind, found[1] or "", data=url[found.end() :], name=name)


def _url(asset: Asset) -> str:
    """The URL of an asset; a data URL if it has only data."""
    return asset.url or data_url(asset.mime, asset.data)


def _read_chat(raw: Raw) -> Asset | None:
    """The asset in a part of the chat API; None for other parts."""
    kind = text(raw, "type")
    body = as_dict(raw.get(kind))
    if kind == "file":
        return _located("file", text(body, "file_data"), text(body, "filename"))
    if kind == "input_audio":
        sound = text(body, "format")
        return Asset("file", f"audio/{sound}" if sound else "", text(body, "data"))
    if kind in {"image_url", "audio_url", "video_url", "document_url"}:
        return _located("image" if kind == "image_url" else "file", text(body, "url") or text(raw, kind))
    return None


def _write_chat(asset: Asset) -> Raw | None:
    """The asset as a part of the chat API; None if that takes no such file."""
    if asset.kind == "image":
        return chat_media("image", _url(asset))
    sound = asset.mime.removeprefix("audio/")
    if asset.data and sound in {"wav", "mp3"}:
        return {"type": "input_audio", "input_audio": {"data": asset.data, "format": sound}}
    if asset.data and asset.mime == _PDF:
        return {"type": "file", "file": {"filename": asset.name or "file.pdf", "file_data": _url(asset)}}
    return None


def _read_responses(raw: Raw) -> Asset | None:
    """The asset in a part of the Responses API; None for other parts."""
    kind = raw.get("type")
    if kind in ("input_image", "computer_screenshot"):
        return _located("image", text(raw, "image_url"))
    if kind == "input_file":
        return _located("file", text(raw, "file_data") or text(raw, "file_url"), text(raw, "filename"))
    return None


def _write_responses(asset: Asset) -> Raw | None:
    """The asset as a part of the Responses API; None if that takes no such file."""
    if asset.kind == "image":
        return {"type": "input_image", "image_url": _url(asset), "detail": "auto"}
    if asset.mime != _PDF:
        return None
    if asset.url:
        return {"type": "input_file", "file_url": asset.url}
    return {"type": "input_file", "filename": asset.name or "file.pdf", "file_data": _url(asset)}


def _read_anthropic(raw: Raw) -> Asset | None:
    """The asset in a block of the Messages API; None if it has no source with a URL or base64."""
    kind: MediaKind = "image" if raw.get("type") == "image" else "file"
    source, name = as_dict(raw.get("source")), text(raw, "title")
    if source.get("type") == "url":
        return Asset(kind, url=text(source, "url"), name=name)
    if source.get("type") == "base64":
        return Asset(kind, text(source, "media_type"), text(source, "data"), name=name)
    return None


def _write_anthropic(asset: Asset) -> Raw | None:
    """The asset as a block of the Messages API; None if that takes no such file."""
    taken = {"image/png", "image/jpeg", "image/gif", "image/webp"} if asset.kind == "image" else {_PDF}
    if asset.mime not in taken:
        return None
    inline = {"type": "base64", "media_type": asset.mime, "data": asset.data}
    source = {"type": "url", "url": asset.url} if asset.url else inline
    return {"type": "image" if asset.kind == "image" else "document", "source": source}


def _read_gemini(raw: Raw) -> Asset:
    """The asset in a part of Gemini's API; one without data and URL for other parts."""
    body = as_dict(next((raw[key] for key in _FILES if isinstance(raw.get(key), dict)), None))
    mime = text(body, "mimeType") or text(body, "mime_type")
    data = text(body, "data").replace("-", "+").replace("_", "/")  # the URL-safe alphabet is only Gemini's
    url = text(body, "fileUri") or text(body, "file_uri")
    return Asset("image" if mime.startswith("image/") else "file", mime, data, url)


def _write_gemini(asset: Asset) -> Raw:
    """The asset as a part of Gemini's API."""
    if asset.data:
        return {"inlineData": {"mimeType": asset.mime, "data": asset.data}}
    return {"fileData": {"mimeType": asset.mime, "fileUri": asset.url}}


_KNOWN: dict[str, tuple[Callable[[Raw], Asset | None], Callable[[Asset], Raw | None]]] = {
    "openai": (_read_chat, _write_chat),
    "responses": (_read_responses, _write_responses),
    "anthropic": (_read_anthropic, _write_anthropic),
    "gemini": (_read_gemini, _write_gemini),
}
"""For each dialect the function that reads a part, and the one that writes it."""


def dialect_of_parts(parts: Sequence[object]) -> str | None:
    """The dialect that a list of content parts is in, by the parts that only one dialect has. None if there is no such
    part, and if they are of several dialects."""
    found = {dialect for part in parts if (dialect := _dialect_of_part(as_dict(part))) is not None}
    return found.pop() if len(found) == 1 else None


def _dialect_of_part(part: Raw) -> str | None:
    """The dialect that alone has such a part; None if several have it, or none."""
    kind = part.get("type")
    if isinstance(kind, str):
        return DIALECT_OF_PART.get(kind)
    return "gemini" if any(key in part for key in (*_FILES, "text")) else None
