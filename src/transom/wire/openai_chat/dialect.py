"""The OpenAI Chat Completions API, and what is compatible with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from transom.core.message import Assistant, Fact, Head, Instruction, Raw, Text, ToolResult, User
from transom.core.tokens import Measure, TokenCounter
from transom.core.unit import Slot
from transom.errors import InvalidMessage
from transom.wire.dialect import Placed, Violation
from transom.wire.foreign import Adopting, adopted
from transom.wire.openai_chat.mend import mended
from transom.wire.openai_chat.parse import parse
from transom.wire.openai_chat.render import message, shown
from transom.wire.openai_chat.reply import as_message, parse_reply
from transom.wire.openai_chat.rules import violations
from transom.wire.reading import listed


class OpenAIChat(Struct, frozen=True):
    """The dialect (see `wire.dialect.Dialect`): messages with roles, the system prompt first among them."""

    name: str = "openai"

    def nudge(self, turn: Assistant) -> str:  # noqa: ARG002 - it may end with any
        """A request may end with the model's own words."""
        return ""

    def head(self, head: Head) -> list[Raw]:
        """The instructions before the conversation. Tool schemas travel beside the messages, not in them."""
        return [mended(message(adopted(instruction, ""))) for instruction in head.messages]

    def slot(self, slot: Slot) -> list[Raw]:
        """What a slot shows, by itself alone."""
        return shown(slot)

    def joined(self, messages: list[Raw]) -> list[Raw]:
        """This API takes messages as they come."""
        return messages

    def read(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        """A fact from each message; a client library's message object is read as the dict it dumps."""
        prefix = f"{where}, " if where else ""
        items = listed(messages, where or "messages")
        return [(at, parse(as_message(item), f"{prefix}message {at}")) for at, item in enumerate(items)]

    def system(self, value: object) -> list[Instruction]:
        """A system prompt as one message."""
        if not isinstance(value, str):
            raise InvalidMessage("system", "must be a text: in this dialect system messages stand among the messages")
        return [Instruction(parts=(Text(value),))]

    def user(self, content: object) -> Fact:
        """A user message."""
        if type(content) is str:
            return User(parts=(Text(content),))
        return parse({"role": "user", "content": content}, "user")

    def result(self, call: str, content: object) -> Fact:
        """A tool message."""
        if type(content) is str and call:
            return ToolResult(parts=(Text(content),), call=call)
        return parse({"role": "tool", "tool_call_id": call, "content": content}, "tool_result")

    def reply(self, reply: object) -> Assistant:
        """The message of the first choice, or an assistant message."""
        return parse_reply(reply)

    def measure(self, counter: TokenCounter) -> Measure:
        """The formula of `Measure`."""
        return Adopting(counter, "", objects=False)

    def request(self, head: Head, messages: list[Raw]) -> Raw:  # noqa: ARG002 - the head is among the messages
        """The messages."""
        return {"messages": messages}

    def violations(self, request: Raw) -> list[Violation]:
        """See `rules`."""
        return violations(cast("Sequence[object]", request.get("messages") or ()), request.get("tools"))


OPENAI_CHAT = OpenAIChat()
