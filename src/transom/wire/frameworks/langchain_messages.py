"""Messages of LangChain (`HumanMessage`, `AIMessage`, …): those of LangGraph and deepagents too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from transom.core.message import Assistant, Raw
from transom.core.view import View
from transom.errors import InvalidMessage
from transom.wire.fields import as_dict, objects_in, text
from transom.wire.frameworks.framework_format import (
    FrameworkFormat,
    Piece,
    Shown,
    Sources,
    bound_if_signed,
    shown_messages,
    signature_of,
)
from transom.wire.frameworks.langchain_json import langchain_call
from transom.wire.frameworks.langchain_json import message as chat_message
from transom.wire.openai import parse
from transom.wire.replies import UsageFields, as_assistant, with_usage

_USAGE = UsageFields(
    prompt="input_tokens",
    cached="input_token_details.cache_read",
    cache_write="input_token_details.cache_creation",
    output="output_tokens",
    reasoning="output_token_details.reasoning",
)
_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
"""The types of content blocks that hold reasoning."""
_OF_CALLS = ("tool_calls", "function_call", "reasoning_content")
"""What a message has in `additional_kwargs` a second time."""


class LangchainFormat(FrameworkFormat):
    """The messages of `langchain_core.messages`, and between them chat messages as dicts, which LangChain takes too.
    Each message is a fact; a `RemoveMessage` is none. A changed message is written as a copy with its id and metadata.
    """

    name = "langchain"
    classes = ("langchain_core.", "BaseMessage")

    def read(self, messages: Sequence[Any], where: str = "") -> list[Piece]:
        prefix = f"{where}, " if where else ""
        read = ((at, one, _chat(one)) for at, one in enumerate(messages))
        return [
            Piece(at=at, fact=_fact(one, chat, f"{prefix}message {at}"), source=one, message=one)
            for at, one, chat in read
            if chat is not None
        ]

    def read_reply(self, reply: Any) -> Assistant:
        chat = _chat(reply)
        if chat is None:
            raise InvalidMessage("reply", "a message of the model is needed, not a removal")
        turn = as_assistant(_fact(reply, chat, "reply"), chat)
        return with_usage(turn, getattr(reply, "usage_metadata", None), _USAGE)

    def write(self, view: View, sources: Sources) -> list[Any]:
        return [_written(shown) for shown in shown_messages(view, sources)]


def _chat(one: Any) -> Raw | None:
    """A message as a chat message; None for a removal. Reasoning that only its provider can read is thinking too."""
    if isinstance(one, dict):  # LangChain takes them too
        return cast("Raw", one)
    if not hasattr(one, "model_dump"):
        raise InvalidMessage("messages", f"each must be a message of LangChain or a dict, not {type(one).__name__}")
    fields: Raw = one.model_dump()
    if isinstance(fields.get("content"), list):
        fields["content"] = [_readable(block) for block in cast("list[object]", fields["content"])]
    return chat_message(fields)


def _readable(block: object) -> object:
    """A block of content. Encrypted or Responses reasoning becomes thinking, with its text or signature."""
    fields = as_dict(block)
    if fields.get("type") == "redacted_thinking":
        return {"type": "thinking", "thinking": text(fields, "data")}
    if fields.get("type") == "reasoning" and not fields.get("reasoning"):  # as the Responses API has it
        said = "\n".join(text(each, "text") for each in objects_in(fields.get("summary")))
        return {"type": "thinking", "thinking": said or signature_of(fields)}
    return block


def _fact(one: Any, chat: Raw, where: str) -> Any:
    """The fact of a message of LangChain: signed reasoning is bound, and other fields of a turn are dropped."""
    fact = parse(chat, where)
    if not isinstance(fact, Assistant):
        return fact
    blocks = [] if isinstance(one, dict) else objects_in(one.content)
    thoughts = [block for block in blocks if block.get("type") in _THOUGHTS]
    signs = (signature_of(block) or block.get("type") == "redacted_thinking" for block in thoughts)
    return replace(bound_if_signed(fact, signs), extra=None)  # the name of the agent is no business of the model


def _written(shown: Shown) -> Any:
    """The message for one of a window: the original if it is unchanged, else a copy with what is shown."""
    if shown.piece is not None and not shown.changed:
        return shown.piece.source
    given: object = None if shown.piece is None else shown.piece.source
    if isinstance(given, dict):
        return _written_dict(shown.chat, cast("Raw", given))
    from langchain_core.messages.utils import convert_to_messages  # noqa: PLC0415 - only who has its messages

    chat = {**shown.chat, "content": shown.chat.get("content") or ""}
    reasoning = chat.pop("reasoning_content", None)
    made = convert_to_messages([chat])[0]
    if shown.piece is None:
        return made
    source = shown.piece.source
    if chat["role"] != "assistant":
        is_result = hasattr(source, "tool_call_id") and "tool_call_id" in chat
        label = {"tool_call_id": chat["tool_call_id"]} if is_result else {}
        return source.model_copy(update={**label, "content": made.content})
    kept = [block for block in objects_in(source.content) if block.get("type") in _THOUGHTS] if reasoning else []
    said = [{"type": "text", "text": made.content}] if isinstance(made.content, str) and made.content else made.content
    calls = [langchain_call(call) for call in objects_in(chat.get("tool_calls"))]
    beside = {key: value for key, value in source.additional_kwargs.items() if key not in _OF_CALLS}
    if reasoning and "reasoning_content" in source.additional_kwargs:
        beside["reasoning_content"] = reasoning
    update: Raw = {
        "content": [*kept, *said] if kept else made.content,
        "tool_calls": [call for call in calls if call["type"] == "tool_call"],
        "invalid_tool_calls": [call for call in calls if call["type"] == "invalid_tool_call"],
        "additional_kwargs": beside,
    }
    return source.model_copy(update=update)


def _written_dict(chat: Raw, source: Raw) -> Raw:
    """A message that came as a dict and is changed: a chat message, under the id and the name that it had."""
    return {**{key: source[key] for key in ("id", "name") if key in source}, **chat}


LANGCHAIN = LangchainFormat()
