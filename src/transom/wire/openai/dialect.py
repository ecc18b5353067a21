"""The dialect of the OpenAI Chat Completions API, and of compatible servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from transom import texts
from transom.core.message import Assistant, Fact, Head, Instruction, Media, Raw, Text, ToolResult, User
from transom.core.tokens import MESSAGE_TOKENS, FormatCounter, TokenCounter
from transom.core.unit import Unit
from transom.errors import InvalidMessage
from transom.wire.dialect import Dialect, Placed, Rendered, Violation, messages_without_surrogates
from transom.wire.dialect_counter import DialectCounter
from transom.wire.fields import as_parts, message_list
from transom.wire.openai.parse import DIALECT_NAME, USAGE, as_message, parse, parse_reply
from transom.wire.openai.render import message, repair, unit_messages
from transom.wire.openai.rules import violations
from transom.wire.openai.stream import ChatAccumulator
from transom.wire.replies import UsageFields
from transom.wire.translate import translate_fact


class ChatCounter(DialectCounter):
    """Counts for the chat API, with the user message that holds the images and files of a turn's results. (The
    dialect sets `moves_media` to false where these stay in the results.)"""

    moves_media = True

    def count_envelope(self, fact: Fact) -> int:
        """The tokens beside the parts: for a result with images or files also their user message, and what stands for
        them in the result."""
        tokens = super().count_envelope(fact)
        moved = [part.media for part in fact.parts if isinstance(part, Media)] if isinstance(fact, ToolResult) else []
        if not moved:
            return tokens
        marks = sum(self.count(texts.moved_media(kind, 999)) for kind in moved)
        return tokens + MESSAGE_TOKENS + self.count(texts.MOVED_MEDIA) + marks


class OpenAIChatDialect(Dialect, frozen=True):
    """Messages with roles; the system prompt is the first of them.

    `alternate`: for servers whose chat template refuses two messages of one role in a row (llama.cpp and vLLM with
    Mistral's or Gemma's template): texts of the user, and of the model, that follow one another are sent as one
    message. OpenAI's own API takes them as they are.

    `media_in_results`: the images of results are sent in their tool messages, for servers that take images in them; a
    file becomes a placeholder. OpenAI's own API takes neither images nor files in tool messages: by default they are
    sent in a user message behind the results of their turn.
    """

    name: str = DIALECT_NAME
    alternate: bool = False
    media_in_results: bool = False

    usage_fields: ClassVar[UsageFields | None] = USAGE

    @property
    def digest_roles(self) -> tuple[str, ...]:
        return ("user", "developer", "system") if self.name == DIALECT_NAME else ("user",)

    def render_head(self, head: Head) -> list[Rendered]:
        messages = [repair(message(translate_fact(instruction, DIALECT_NAME))) for instruction in head.messages]
        return messages_without_surrogates([Rendered(each) for each in messages])

    def render_unit(self, unit: Unit) -> list[Rendered]:
        return [Rendered(each) for each in unit_messages(unit, move_media=not self.media_in_results)]

    def join(self, messages: Sequence[Rendered]) -> list[Raw]:
        out: list[Raw] = []
        for rendered in messages:
            joined = _as_one(out[-1], rendered.message) if self.alternate and out else None
            if joined is not None:
                out.pop()
            out.append(joined or rendered.message)
        return out

    def parse(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        prefix = f"{where}, " if where else ""
        items = message_list(messages, where or "messages")
        return [(at, parse(as_message(item), f"{prefix}message {at}")) for at, item in enumerate(items)]

    def parse_system(self, value: object) -> list[Instruction]:
        if not isinstance(value, str):
            raise InvalidMessage("system", "must be a text: in this dialect system messages stand among the messages")
        return [Instruction(parts=(Text(value),))]

    def parse_user(self, content: object) -> Fact:
        if type(content) is str:
            return User(parts=(Text(content),))
        return parse({"role": "user", "content": content}, "user")

    def parse_tool_result(self, call: str, content: object) -> Fact:
        if type(content) is str and call:
            return ToolResult(parts=(Text(content),), call=call)
        return parse({"role": "tool", "tool_call_id": call, "content": content}, "tool_result", reads_failed_mark=False)

    def accumulator(self) -> ChatAccumulator:
        return ChatAccumulator()

    def _parse_response(self, reply: object) -> Assistant:
        return parse_reply(reply)

    def format_counter(self, counter: TokenCounter) -> FormatCounter:
        chat = ChatCounter(counter, DIALECT_NAME, objects=False, tools=self.render_tools)
        chat.moves_media = not self.media_in_results
        return chat

    def violations(self, body: Raw) -> list[Violation]:
        messages = cast("Sequence[object]", body.get("messages") or ())
        return violations(messages, body.get("tools"), media_in_results=self.media_in_results)


def _as_one(first: Raw, second: Raw) -> Raw | None:
    """Two messages of the user or of the model as one: their texts with an empty line between, or their parts.

    None if they cannot be one: other roles, calls in the first, or other fields that are not the same in both. (Calls
    in the second are those of both.)
    """
    if first["role"] != second["role"] or first["role"] not in {"user", "assistant"}:
        return None
    contents = [message.get("content") or "" for message in (first, second)]
    rest = [{key: value for key, value in message.items() if key not in _JOINED} for message in (first, second)]
    if first.get("tool_calls") or rest[0] != rest[1]:
        return None
    if all(isinstance(each, str) for each in contents):
        content: object = "\n\n".join(filter(None, contents)) or second.get("content")
    else:
        content = [part for each in contents for part in as_parts(each)]
    return {**first, **second, "content": content}


_JOINED = frozenset({"role", "content", "tool_calls"})

OPENAI_CHAT = OpenAIChatDialect()
"""OpenAI's own API."""

ALTERNATING = OpenAIChatDialect(alternate=True)
"""Servers that refuse two messages of one role in a row."""
