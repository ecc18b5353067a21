"""Translates the chats of Gemini CLI to OpenAI Chat messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transom.core.message import Call, Raw
from transom.importers.formats.chat_builder import CallResult, Piece, arguments, result_text
from transom.importers.formats.shapes import MessageFormat, Shape, both, found, media, thought, words
from transom.wire.fields import as_dict, as_items, objects_in, text

_SHAPE = Shape(
    roles={"user": "user", "gemini": "assistant"},
    role="type",
    kind="",
    parts={"text": words(), "inlineData": media(url=""), "fileData": media(url="fileUri", data="")},
    before=(("thoughts", both(thought("subject"), thought("description"))),),
    beside=(("toolCalls", lambda part: _called(as_dict(part))),),
)


def _called(fields: Raw) -> Iterable[Piece]:
    label, name = text(fields, "id"), text(fields, "name")
    yield Call(label, name, arguments(fields.get("args")))
    if fields.get("result") is not None:
        yield CallResult(label, name, _result_text(fields["result"]), text(fields, "status") in {"error", "cancelled"})


def _result_text(value: object) -> str:
    """Return the text of a tool's result: a text, or a list of parts, most of them function responses."""
    if isinstance(value, str):
        return value
    out: list[str] = []
    for part in objects_in(as_items(value)):
        response = found(part, ("functionResponse.response.output", "functionResponse.response", "text"))
        out.append(result_text(part if response is None else response))
    return "\n".join(out)


def is_message(value: object) -> bool:
    """True if a value is a message of a chat of Gemini CLI, or a line in which the program itself says something (of
    type `info`, `error` or `warning`)."""
    fields = as_dict(value)
    kind = text(fields, "type")
    own = kind == "gemini" or (kind in {"user", "info", "error", "warning"} and "timestamp" in fields)
    return own and {"id", "content"} <= fields.keys() and "role" not in fields and "uuid" not in fields


def to_chat(values: Iterable[object]) -> Iterator[Raw]:
    """Translate the messages of a chat of Gemini CLI, or the lines of its file, to OpenAI Chat messages. Lines in which
    the program itself says something are left out.

    A message whose id comes again replaces the earlier one. A rewind (`$rewindTo`) takes back the message that it names
    and all behind it.
    """
    said: dict[str, Raw] = {}
    for number, fields in enumerate(map(as_dict, values)):
        back = fields.get("$rewindTo")
        if isinstance(back, str) and back in said:
            kept = list(said)
            said = {key: said[key] for key in kept[: kept.index(back)]}
        elif is_message(fields):
            said[str(fields.get("id") or number)] = fields
    return _SHAPE.to_chat(said.values())


GEMINI_CLI = MessageFormat(name="gemini_cli", title="Gemini CLI chat", is_message=is_message, to_chat=to_chat)
