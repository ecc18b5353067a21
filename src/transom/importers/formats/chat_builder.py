"""The pieces that a message of any library is made of, and `ChatBuilder`, which makes OpenAI Chat messages of them.

A message of a library may hold the words of a turn, its calls and their results together. OpenAI Chat has one message
for the turn and one for each result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from msgspec import Struct

from transom.core.message import Call, Media, Raw, Reasoning, Text
from transom.texts import tool_failed
from transom.wire.chat_json import chat_call
from transom.wire.fields import as_dict, compact_json, loaded


class CallResult(Struct, frozen=True):
    """The result of a call.

    `call`: the id of the call, empty if the format has none; `name`: the name of its tool, empty if not known; `text`:
    the result. `failed`: a field of the format says that the call failed or was not allowed.
    """

    call: str
    name: str
    text: str
    failed: bool = False


Piece = Text | Reasoning | Call | CallResult | Media
"""A piece of a message. The part in a `Media` is one of OpenAI Chat."""


class ChatBuilder:
    """Puts the pieces of one conversation into OpenAI Chat messages: one builder for each conversation.

    A call without an id gets one, and a result without an id answers the oldest open call of its tool, or of any. A
    result that names no call and finds none open becomes a message of the user: OpenAI Chat has no other place for it.
    """

    def __init__(self) -> None:
        self._open: list[tuple[str, str]] = []  # the id and the tool of each call without a result
        self._made = 0

    def messages(self, role: str, pieces: Iterable[Piece]) -> Iterator[Raw]:
        """Yield the OpenAI Chat messages for the pieces of one message of the library, in their order: one for each
        result, and one for what stands between two results. Nothing comes of pieces without content.

        `role`: of the library's message, in OpenAI Chat. Pieces with a call always become a message of the assistant;
        pieces of a "tool" that are neither calls nor results become one of the user.
        """
        held: list[Piece] = []
        for piece in pieces:
            if not isinstance(piece, CallResult):
                held.append(piece)
                continue
            yield from self._held(role, held)
            held = []
            yield self._result(piece)
        yield from self._held(role, held)

    def _held(self, role: str, pieces: list[Piece]) -> Iterator[Raw]:
        if not pieces:
            return
        parts = [
            {"type": "text", "text": piece.text} if isinstance(piece, Text) else piece.raw
            for piece in pieces
            if isinstance(piece, Text | Media)
        ]
        calls = [self._call(piece) for piece in pieces if isinstance(piece, Call)]
        role = "assistant" if calls else role
        texts = [part["text"] for part in parts if part["type"] == "text"]
        plain = len(texts) == len(parts) and (len(parts) < 2 or role == "tool")
        out: Raw = {"role": "user" if role == "tool" else role, "content": "\n".join(texts) if plain else parts}
        thoughts = [piece.text for piece in pieces if isinstance(piece, Reasoning) and piece.text]
        if thoughts:
            out["reasoning_content"] = "\n\n".join(thoughts)
        if calls:
            out["tool_calls"] = calls
            out["content"] = out["content"] or None
        if out["content"] or calls or thoughts:
            yield out

    def _call(self, call: Call) -> Raw:
        self._made += 1
        label = call.id or f"call_{self._made}"
        self._open.append((label, call.name))
        return chat_call(label, call.name, call.args)

    def _result(self, answer: CallResult) -> Raw:
        label, content = answer.call, tool_failed(answer.text) if answer.failed else answer.text
        if label:
            self._open = [each for each in self._open if each[0] != label]
            return {"role": "tool", "tool_call_id": label, "content": content}
        named = [each for each in self._open if each[1] == answer.name]
        found = next(iter(named or self._open), None)
        if found is None:
            return {"role": "user", "content": content}
        self._open.remove(found)
        return {"role": "tool", "tool_call_id": found[0], "content": content}


def arguments(value: object) -> str:
    """Return the arguments of a call as text: a text as it is, though it need not be JSON; any other value as JSON; and
    `{}` for None, 0, False or an empty value."""
    return value if isinstance(value, str) and value else compact_json(value) if value else "{}"


def result_text(value: object) -> str:
    """Return the result of a tool as text.

    - A text is returned as it is, and None as the empty text.
    - Of a text part, its text; of a list in which every item has a `text`, these texts, joined with line ends.
    - Of an object with `type` and `value` alone (`{"type": "json", "value": …}`), its value as text.
    - Anything else is returned as JSON.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    fields = as_dict(value)
    if {"type", "value"} == fields.keys():
        return result_text(fields["value"])
    if isinstance(fields.get("text"), str) and fields.keys() <= {"type", "text", "annotations", "cache_control"}:
        return fields["text"]
    listed = cast("list[object]", value) if isinstance(value, list) else []
    texts = [as_dict(item).get("text") for item in listed]
    if listed and all(isinstance(text, str) for text in texts):
        return "\n".join(map(str, texts))
    return compact_json(cast("object", value))


def parsed_text(value: object) -> object:
    """Return the JSON object or array that a text holds; the value itself if it is no text, or a text that holds
    neither."""
    found = loaded(value) if isinstance(value, str) and value.lstrip()[:1] in {"{", "["} else None
    return value if found is None else found
