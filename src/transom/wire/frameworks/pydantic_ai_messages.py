"""Messages of pydantic-ai: `ModelRequest` and `ModelResponse`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, cast

from transom.core.message import Assistant, Instruction, Raw, Text
from transom.core.view import View
from transom.errors import InvalidMessage
from transom.wire.chat_json import name_and_arguments
from transom.wire.fields import as_items, objects_in, plain_text
from transom.wire.frameworks.framework_format import (
    FrameworkFormat,
    Piece,
    Shown,
    Sources,
    bound_if_signed,
    grouped,
    shown_messages,
    signature_of,
    unchanged_message,
)
from transom.wire.frameworks.pydantic_ai_json import request_message, turn
from transom.wire.openai import parse
from transom.wire.replies import UsageFields, as_assistant, with_usage

_USAGE = UsageFields(
    prompt="input_tokens",
    cached="cache_read_tokens",
    cache_write="cache_write_tokens",
    output="output_tokens",
    reasoning="details.reasoning_tokens",
)


class PydanticAIFormat(FrameworkFormat):
    """The messages of `pydantic_ai.messages`. Each part of a request is a fact, and so is a whole response; new
    instructions of a request are one too. An unchanged message is written as the same object, a changed one as a
    copy."""

    name = "pydantic_ai"
    classes = ("pydantic_ai.", "ModelRequest|ModelResponse")

    def read(self, messages: Sequence[Any], where: str = "") -> list[Piece]:
        out: list[Piece] = []
        instructions = ""
        for at, one in enumerate(messages):
            said = getattr(one, "instructions", None) or ""
            if said and said != instructions:  # every request repeats them
                instructions = said
                fact = Instruction(parts=(Text(said),))
                out.append(Piece(at=at, fact=fact, source=None, message=one))
            out += _pieces(one, at, f"{where}, message {at}" if where else f"message {at}")
        return out

    def read_reply(self, reply: Any) -> Assistant:
        found = _pieces(reply, 0, "reply") if getattr(reply, "kind", "") == "response" else []
        if not found:
            raise InvalidMessage("reply", "a ModelResponse is needed")
        usage = dataclasses.asdict(reply.usage)
        return with_usage(as_assistant(found[0].fact, {"role": "user"}), usage, _USAGE)

    def write(self, view: View, sources: Sources) -> list[Any]:
        return list(_written(shown_messages(view, sources)))


def _pieces(one: Any, at: int, where: str) -> list[Piece]:
    """The facts of a request (one for each part) or a response. Raises InvalidMessage for any other object."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415 - only who has its messages

    if not PYDANTIC_AI.owns(one):
        raise InvalidMessage(where, f"a ModelRequest or a ModelResponse is needed, not {type(one).__name__}")
    (fields,) = cast("list[Raw]", ModelMessagesTypeAdapter.dump_python([one], mode="json"))
    parts = objects_in(fields.get("parts"))
    if fields.get("kind") == "response":
        thoughts = [part for part in parts if part.get("part_kind") == "thinking"]
        for part in thoughts:
            part["content"] = part.get("content") or signature_of(part)  # encrypted, it has no text
        fact = bound_if_signed(parse(turn(parts), where), map(signature_of, thoughts))
        return [Piece(at=at, fact=fact, source=one, message=one)]
    read = [(part, request_message(fields)) for part, fields in zip(one.parts, parts, strict=True)]
    known = [(part, chat) for part, chat in read if chat is not None]
    return [Piece(at=at, fact=parse(chat, where), source=part, message=one, of=len(known)) for part, chat in known]


def _written(shown: Iterator[Shown]) -> Iterator[Any]:
    """The messages of a window. Neighbours that came in one request, or in none, become one request."""
    names: dict[str, str] = {}  # of the tools, by the id of the call
    without_instructions = (each for each in shown if each.piece is None or each.piece.source is not None)
    for group in grouped(without_instructions, _are_one_request):
        said = group[0].chat
        if said["role"] == "assistant":
            names |= {call["id"]: name_and_arguments(call)[0] for call in objects_in(said.get("tool_calls"))}
            yield _response(group[0])
        else:
            yield _request(group, names)


def _are_one_request(first: Shown, other: Shown) -> bool:
    return first.message is other.message and "assistant" not in (first.chat["role"], other.chat["role"])


def _request(group: Sequence[Shown], names: dict[str, str]) -> Any:
    """The request with these parts: the original, if it has no others and none is changed."""
    from pydantic_ai.messages import ModelRequest  # noqa: PLC0415

    if (original := unchanged_message(group)) is not None:
        return original
    parts, whole = [_part(each, names) for each in group], group[0].message
    return ModelRequest(parts=parts) if whole is None else dataclasses.replace(whole, parts=parts)


def _part(shown: Shown, names: dict[str, str]) -> Any:
    """The part of a request for a message: the original, a copy with new content, or a new one."""
    from pydantic_ai.messages import SystemPromptPart, ToolReturnPart, UserPromptPart  # noqa: PLC0415

    chat, content = shown.chat, shown.chat.get("content")
    if shown.piece is not None:
        source = shown.piece.source
        if not shown.changed:
            return source
        update: Raw = {"content": _items(content, getattr(source, "content", None))}
        if chat["role"] == "tool":
            update = {"content": _result(content, source.content), "tool_call_id": chat["tool_call_id"]}
        return dataclasses.replace(source, **update)
    if chat["role"] == "tool":
        label = str(chat.get("tool_call_id") or "")
        return ToolReturnPart(tool_name=names.get(label, label), content=plain_text(content), tool_call_id=label)
    return (UserPromptPart if chat["role"] == "user" else SystemPromptPart)(content=plain_text(content))


def _items(content: object, was: object) -> Any:
    """The content of a changed user prompt: texts, and the original images and files."""
    if not isinstance(content, list) or not isinstance(was, (list, tuple)):
        return plain_text(cast("object", content))
    parts, items = cast("list[Raw]", content), cast("Sequence[Any]", was)
    return [
        plain_text([part]) if part.get("type") == "text" or at >= len(items) else items[at]
        for at, part in enumerate(parts)
    ]


def _result(content: object, was: Any) -> Any:
    """The content of a changed result: its text, and the original images and files."""
    found = _items(content, as_items(was))
    return plain_text(content) if all(isinstance(each, str) for each in found) else found


def _response(shown: Shown) -> Any:
    """The response for a message of the model: the original if it is unchanged, else a copy. In the copy a changed text
    stands in the place of the first text, parts that the window does not show are gone, and thinking stays only if the
    window shows it."""
    from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart  # noqa: PLC0415

    chat, said = shown.chat, plain_text(shown.chat.get("content"))
    if shown.piece is None:
        return ModelResponse(parts=[TextPart(content=said)])
    source = shown.piece.source
    if not shown.changed:
        return source
    texts = [part for part in source.parts if isinstance(part, TextPart)]
    same_text = "\n\n".join(part.content for part in texts) == said
    calls, parts = iter(objects_in(chat.get("tool_calls"))), list[Any]()
    part: Any
    for part in source.parts:
        if isinstance(part, ThinkingPart):
            parts += [part] if chat.get("reasoning_content") else []
        elif isinstance(part, TextPart):
            parts += [part] if same_text else [TextPart(content=said)] if part is texts[0] and said else []
        elif isinstance(part, ToolCallPart) and (call := next(calls, None)) is not None:
            args = call["function"]["arguments"]
            is_same = part.args_as_json_str() == args and part.tool_call_id == call["id"]
            changed = cast("Any", part)
            parts.append(part if is_same else dataclasses.replace(changed, args=args, tool_call_id=call["id"]))
        else:
            parts.append(part)
    return dataclasses.replace(source, parts=parts)


PYDANTIC_AI = PydanticAIFormat()
