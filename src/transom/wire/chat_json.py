"""Pieces of chat messages, for what is translated into the form of OpenAI Chat, and from it."""

from __future__ import annotations

from transom.core.message import MediaKind, Raw
from transom.wire.fields import as_dict, json_or_text, text


def chat_call(label: str, name: str, arguments: str) -> Raw:
    """A call of a function, with this id."""
    return {"id": label, "type": "function", "function": {"name": name, "arguments": arguments}}


def name_and_arguments(call: Raw) -> tuple[str, object]:
    """The name of the tool in a call of a chat message, and its arguments: an object, or the text if it is none."""
    body = as_dict(call.get("function")) or as_dict(call.get("custom"))
    return text(body, "name"), json_or_text(text(body, "arguments") or text(body, "input"))


def chat_media(kind: MediaKind, url: str, name: str = "") -> Raw:
    """A part with an image or a file. `url`: where it is, or a data URL that holds it. `name`: of a file; empty if it
    has none."""
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"file_data": url, **({"filename": name} if name else {})}}
