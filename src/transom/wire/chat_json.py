"""Pieces of chat messages, for what is translated into the form of OpenAI Chat."""

from __future__ import annotations

from transom.core.message import MediaKind, Raw


def chat_call(label: str, name: str, arguments: str) -> Raw:
    """A call of a function, with this id."""
    return {"id": label, "type": "function", "function": {"name": name, "arguments": arguments}}


def chat_media(kind: MediaKind, url: str, name: str = "") -> Raw:
    """A part with an image or a file. `url`: where it is, or a data URL that holds it. `name`: of a file; empty if it
    has none."""
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"file_data": url, **({"filename": name} if name else {})}}
