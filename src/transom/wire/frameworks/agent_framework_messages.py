"""Messages of Microsoft's agent-framework: each has contents, with their kind in `type`."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

from msgspec.structs import replace

from transom.core.message import Assistant, Raw
from transom.core.view import View
from transom.errors import InvalidMessage
from transom.wire.chat_json import chat_call, chat_media
from transom.wire.fields import objects_in, plain_text
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
from transom.wire.openai import parse
from transom.wire.replies import UsageFields, as_assistant, with_usage

_USAGE = UsageFields(
    prompt="input_token_count",
    cached="cache_read_input_token_count",
    cache_write="cache_creation_input_token_count",
    output="output_token_count",
    reasoning="reasoning_output_token_count",
)
_CALL, _RESULT, _TEXT, _THOUGHT = "function_call", "function_result", "text", "text_reasoning"


class AgentFrameworkFormat(FrameworkFormat):
    """The messages of `agent_framework`. Each result of a message is a fact, and so is all the rest of a message. An
    unchanged message is written as the same object, a changed one as a copy."""

    name = "agent_framework"
    classes = ("agent_framework.", "Message|ChatResponse")

    def read(self, messages: Sequence[Any], where: str = "") -> list[Piece]:
        prefix = f"{where}, " if where else ""
        return [piece for at, one in enumerate(messages) for piece in _pieces(one, at, f"{prefix}message {at}")]

    def read_reply(self, reply: Any) -> Assistant:
        if not self.owns(reply):
            raise InvalidMessage("reply", f"a ChatResponse or a Message is needed, not {type(reply).__name__}")
        messages = getattr(reply, "messages", [reply])
        said = [one for one in messages if one.role == "assistant"]
        if messages and not said:
            raise InvalidMessage("reply", f"role must be assistant, not {str(messages[0].role)!r}")
        turn = as_assistant(_turn([each for one in said for each in one.contents], "reply"), {"role": "user"})
        return with_usage(turn, getattr(reply, "usage_details", None), _USAGE)

    def write(self, view: View, sources: Sources) -> list[Any]:
        return [_group(group) for group in grouped(shown_messages(view, sources), _are_one)]


def _pieces(one: Any, at: int, where: str) -> list[Piece]:
    """The facts of a message: one for each result, one for the rest. Raises InvalidMessage for any other object."""
    if not AGENT_FRAMEWORK.owns(one) or not hasattr(one, "contents"):
        raise InvalidMessage(where, f"a Message is needed, not {type(one).__name__}")
    results = [each for each in one.contents if each.type == _RESULT]
    others = [each for each in one.contents if each.type != _RESULT]
    read: list[tuple[Any, Any]] = [(each, _answer(each, where)) for each in results]
    if one.role == "assistant":
        read.append((others, _turn(others, where)))
    elif others or not results:
        role = "user" if one.role == "tool" else str(one.role)
        read.append((others, parse({"role": role, "content": [*map(_part, others)]}, where)))
    return [Piece(at=at, fact=fact, source=source, message=one, of=len(read)) for source, fact in read]


def _answer(content: Any, where: str) -> Any:
    fact = parse({"role": "tool", "tool_call_id": content.call_id or "", "content": content.result or ""}, where)
    return replace(fact, failed=True) if getattr(content, "exception", None) else fact


def _turn(contents: Sequence[Any], where: str) -> Any:
    """The turn with these contents. The signature of an encrypted thought stands for its text."""
    thoughts = [each for each in contents if each.type == _THOUGHT]
    calls = [chat_call(each.call_id or "", each.name or "", _args(each)) for each in contents if each.type == _CALL]
    said = [_part(each) for each in contents if each.type not in {_CALL, _THOUGHT, "usage"}]
    chat: Raw = {"role": "assistant", "content": said or None}
    signs = [signature_of(cast("Raw", vars(each))) for each in thoughts]
    words = [each.text or sign for each, sign in zip(thoughts, signs, strict=True)]  # encrypted, it has no text
    if any(words):
        chat["reasoning_content"] = "\n".join(filter(None, words))
    return bound_if_signed(parse({**chat, "tool_calls": calls} if calls else chat, where), signs)


def _args(content: Any) -> str:
    given = content.arguments
    return given if isinstance(given, str) else json.dumps(given if given is not None else {}, ensure_ascii=False)


def _part(content: Any) -> Raw:
    if content.type == _TEXT:
        return {"type": "text", "text": content.text or ""}
    if content.type in {"data", "uri"} and content.uri:
        return chat_media("image" if str(content.media_type).startswith("image/") else "file", content.uri)
    return {"type": "text", "text": json.dumps(content.to_dict(), ensure_ascii=False, default=str)}


def _are_one(first: Shown, other: Shown) -> bool:
    """Whether two neighbours of a window become one message: what came in one, and results of ours."""
    are_results = first.chat["role"] == other.chat["role"] == "tool"
    return first.message is other.message and (first.message is not None or are_results)


def _group(group: Sequence[Shown]) -> Any:
    """The message with these contents: the original, if it has no others and none is changed."""
    if (original := unchanged_message(group)) is not None:
        return original
    contents = [content for each in group for content in _contents(each)]
    if group[0].message is None:
        return _package().Message(group[0].chat["role"], contents)
    made = copy.copy(group[0].message)
    made.contents, made.raw_representation = contents, None  # it says what the original said
    return made


def _contents(shown: Shown) -> list[Any]:
    """The contents for a message of a window: the originals, or new texts and calls beside old thoughts and media."""
    kind, chat, source = _package().Content, shown.chat, None if shown.piece is None else shown.piece.source
    if source is not None and not shown.changed:
        return cast("list[Any]", source if isinstance(source, list) else [source])
    if chat["role"] == "tool":
        return [kind.from_function_result(chat["tool_call_id"], result=plain_text(chat.get("content")))]
    originals: list[Any] = source or []
    kept = [each for each in originals if each.type == _THOUGHT] if chat.get("reasoning_content") else []
    said = plain_text(chat.get("content"))
    is_list = isinstance(chat.get("content"), list)
    media = [each for each in originals if is_list and each.type in {"data", "uri"}]
    calls = {each.call_id: each for each in originals if each.type == _CALL}
    return [
        *kept,
        *([kind.from_text(said)] if said else []),
        *media,
        *(_call(each, calls.get(each["id"])) for each in objects_in(chat.get("tool_calls"))),
    ]


def _call(call: Raw, original: Any) -> Any:
    """A call of a chat message: the original, unless its arguments are shown differently."""
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    if original is not None and _args(original) == arguments:
        return original
    return _package().Content.from_function_call(call["id"], name, arguments=arguments)


def _package() -> Any:
    return import_module("agent_framework")  # only who has its messages


AGENT_FRAMEWORK = AgentFrameworkFormat()
