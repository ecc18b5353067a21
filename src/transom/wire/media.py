"""Images and files between dialects: each part read as what it is, and said as another dialect says it.

A provider's own file id means nothing elsewhere, and not every API takes every kind: what cannot be said is left to the
caller's placeholder.
"""

from __future__ import annotations

import re
import struct
from base64 import b64decode
from collections.abc import Callable
from io import BytesIO
from typing import Any, cast

from msgspec import Struct

from transom.core.message import Media, MediaKind, Raw

_HEADER = 128 * 1024
"""Letters of base64 within which the size of an image stands, behind whatever a camera put before it."""
_PICTURES = (b"\x89PNG", b"\xff\xd8", b"GIF8", b"RIFF")

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,", re.ASCII)


class Asset(Struct, frozen=True):
    """An image or file in nobody's words: base64 `data`, or a `url`. `name`: a file's, if it has one."""

    kind: MediaKind
    mime: str = ""
    data: str = ""
    url: str = ""
    name: str = ""


_ITS_OWN = ("gs://", "https://generativelanguage.googleapis.com/")
"""Where only Gemini can fetch from."""


def translated(media: Media, source: str, target: str) -> Raw | None:
    """The part as the dialect `target` says what `source` said; None if it cannot. Names: "", "responses", …"""
    asset = _READ[source](media.raw) if source in _READ else None
    if asset is None or not (asset.data or asset.url) or asset.url.startswith(_ITS_OWN):
        return None
    return _WRITE[target](asset)


def pixels(media: Media) -> tuple[int, int] | None:
    """Width and height of an image whose data is here; None if it is not, or is of no kind that models see."""
    import imagesize  # type: ignore[reportMissingTypeStubs]  # noqa: PLC0415 - it brings an HTTP client along

    assets = (read(media.raw) for read in _READ.values())
    data = next((asset.data for asset in assets if asset is not None and asset.data), "")[:_HEADER]
    try:
        head = b64decode(data + "=" * (-len(data) % 4))
        width, height = cast("Any", imagesize).get(BytesIO(head)) if head.startswith(_PICTURES) else (0, 0)
    except (ValueError, struct.error):
        return None
    return (width, height) if width > 0 and height > 0 else None


def _text(raw: object, *path: str) -> str:
    """The text at a path of keys; empty if there is none."""
    for key in path:
        raw = cast("Raw", raw).get(key) if isinstance(raw, dict) else None
    return raw if isinstance(raw, str) else ""


def _located(kind: MediaKind, url: str, mime: str = "", name: str = "") -> Asset:
    """An asset from a URL, which may carry the data itself."""
    found = _DATA_URL.match(url[:200])
    if found is None:
        return Asset(kind, mime, url=url, name=name)
    return Asset(kind, found[1] or mime, data=url[found.end() :], name=name)


# ---- OpenAI chat


def _read_chat(raw: Raw) -> Asset | None:
    kind = raw.get("type")
    if kind == "image_url":
        url = _text(raw, "image_url", "url") or _text(raw, "image_url")
        return _located("image", url)
    if kind == "file":
        data = _text(raw, "file", "file_data")
        return _located("file", data, name=_text(raw, "file", "filename")) if data else None
    if kind == "input_audio":
        sound = _text(raw, "input_audio", "format")
        return Asset("file", f"audio/{sound}" if sound else "", data=_text(raw, "input_audio", "data"))
    if kind in {"audio_url", "video_url", "document_url"}:
        return _located("file", _text(raw, kind, "url") or _text(raw, kind))
    return None


def _write_chat(asset: Asset) -> Raw | None:
    if asset.kind == "image":
        return {"type": "image_url", "image_url": {"url": _url(asset, "image/png")}}
    if not asset.data:
        return None
    sound = asset.mime.removeprefix("audio/")
    if sound in {"wav", "mp3"}:
        return {"type": "input_audio", "input_audio": {"data": asset.data, "format": sound}}
    if asset.mime not in {"application/pdf", ""}:
        return None
    file = {"filename": asset.name or "file.pdf", "file_data": _url(asset, "application/pdf")}
    return {"type": "file", "file": file}


def _url(asset: Asset, mime: str) -> str:
    return asset.url or f"data:{asset.mime or mime};base64,{asset.data}"


# ---- OpenAI Responses


def _read_responses(raw: Raw) -> Asset | None:
    kind = raw.get("type")
    if kind == "input_image":
        return _located("image", _text(raw, "image_url"))
    if kind == "input_file":
        where = _text(raw, "file_data") or _text(raw, "file_url")
        return _located("file", where, name=_text(raw, "filename"))
    return None


def _write_responses(asset: Asset) -> Raw | None:
    if asset.kind == "image":
        return {"type": "input_image", "image_url": _url(asset, "image/png")}
    if asset.mime not in {"application/pdf", ""}:
        return None
    if asset.url:
        return {"type": "input_file", "file_url": asset.url}
    return {"type": "input_file", "filename": asset.name or "file.pdf", "file_data": _url(asset, "application/pdf")}


# ---- Anthropic Messages


def _read_anthropic(raw: Raw) -> Asset | None:
    kind: MediaKind = "image" if raw.get("type") == "image" else "file"
    source: Any = raw.get("source")
    name = _text(raw, "title")
    if _text(source, "type") == "url":
        return Asset(kind, url=_text(source, "url"), name=name)
    if _text(source, "type") == "base64":
        return Asset(kind, _text(source, "media_type"), data=_text(source, "data"), name=name)
    return None


def _write_anthropic(asset: Asset) -> Raw | None:
    if asset.kind == "image":
        mimes, kind = {"image/png", "image/jpeg", "image/gif", "image/webp", ""}, "image"
    else:
        mimes, kind = {"application/pdf", ""}, "document"
    if asset.mime not in mimes:
        return None
    if asset.url:
        return {"type": kind, "source": {"type": "url", "url": asset.url}}
    mime = asset.mime or ("image/png" if kind == "image" else "application/pdf")
    return {"type": kind, "source": {"type": "base64", "media_type": mime, "data": asset.data}}


# ---- Gemini


def _read_gemini(raw: Raw) -> Asset | None:
    for key in ("inlineData", "inline_data"):
        if isinstance(raw.get(key), dict):
            mime = _text(raw, key, "mimeType") or _text(raw, key, "mime_type")
            data = _text(raw, key, "data").replace("-", "+").replace("_", "/")  # the URL-safe alphabet is only Gemini's
            return Asset(_kind_of(mime), mime, data=data)
    for key in ("fileData", "file_data"):
        if isinstance(raw.get(key), dict):
            mime = _text(raw, key, "mimeType") or _text(raw, key, "mime_type")
            return Asset(_kind_of(mime), mime, url=_text(raw, key, "fileUri") or _text(raw, key, "file_uri"))
    return None


def _write_gemini(asset: Asset) -> Raw | None:
    mime = asset.mime or ("image/png" if asset.kind == "image" else "application/pdf")
    if asset.data:
        return {"inlineData": {"mimeType": mime, "data": asset.data}}
    return {"fileData": {"mimeType": mime, "fileUri": asset.url}}


def _kind_of(mime: str) -> MediaKind:
    return "image" if mime.startswith("image/") else "file"


_READ: dict[str, Callable[[Raw], Asset | None]] = {
    "": _read_chat,
    "responses": _read_responses,
    "anthropic": _read_anthropic,
    "gemini": _read_gemini,
}
_WRITE: dict[str, Callable[[Asset], Raw | None]] = {
    "": _write_chat,
    "responses": _write_responses,
    "anthropic": _write_anthropic,
    "gemini": _write_gemini,
}
