"""Makes and reads pieces of OpenAI Chat messages (calls, images, files), for translations to and from that format."""

from __future__ import annotations

from transom.core.message import MediaKind, Raw
from transom.errors import InvalidMessage
from transom.wire.arguments import TEXT_ARGUMENT, read_object
from transom.wire.fields import as_dict, text


def chat_call(label: str, name: str, arguments: str) -> Raw:
    """A call of a function as a chat message has it. `label`: the id. `arguments`: their JSON text."""
    return {"id": label, "type": "function", "function": {"name": name, "arguments": arguments}}


def name_and_arguments(call: Raw) -> tuple[str, object]:
    """The name of the tool in a call of a chat message, and its arguments: an object, or their text if `read_object`
    refuses it. The name is empty if the call has none. The call must have its arguments as a text: none, and any other
    value, give {}. A custom tool has one argument, its text, under `TEXT_ARGUMENT`."""
    if custom := as_dict(call.get("custom")):
        return text(custom, "name"), {TEXT_ARGUMENT: text(custom, "input")}
    body = as_dict(call.get("function"))
    given = text(body, "arguments")
    try:
        return text(body, "name"), read_object(given)
    except InvalidMessage:
        return text(body, "name"), given


def chat_media(kind: MediaKind, url: str, name: str = "") -> Raw:
    """A content part with an image or, if `kind` is "file", a file. `url`: where it is, or a data URL that holds it.
    `name`: the file's name; empty if it has none, and not used for an image."""
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"file_data": url, **({"filename": name} if name else {})}}
