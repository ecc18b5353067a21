"""The Anthropic Messages API."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

from msgspec import Struct

from transom.core.message import Assistant, Fact, Head, Instruction, Raw, User
from transom.core.tokens import Measure, TokenCounter
from transom.core.unit import Slot
from transom.errors import InvalidMessage
from transom.wire import foreign, saying
from transom.wire.anthropic.caching import unmarked
from transom.wire.anthropic.measure import Counting
from transom.wire.anthropic.parse import NAME, parse, read
from transom.wire.anthropic.render import by_user, system_of, unit_messages, words
from transom.wire.anthropic.reply import parse_reply
from transom.wire.anthropic.rules import violations
from transom.wire.dialect import Placed, Violation
from transom.wire.reading import kind_of


class AnthropicMessages(Struct, frozen=True):
    """The dialect (see `wire.dialect.Dialect`): messages of blocks, with the system prompt beside them.

    `bound`: the model signs its reasoning for the exact prefix, so that it is void on any other (A15). `mid_system`:
    the model takes a system message in the middle, also one that came in another dialect (A9).
    """

    name: str = NAME
    bound: bool = False
    mid_system: bool = False

    def nudge(self, turn: Assistant) -> str:
        """A word of the user's (A12), unless the turn ends with what the provider does itself."""
        return foreign.nudge(turn, NAME)

    def head(self, head: Head) -> list[Raw]:  # noqa: ARG002 - see `request`
        return []

    def slot(self, slot: Slot) -> list[Raw]:
        return saying.messages_of(slot, words, partial(unit_messages, mid_system=self.mid_system))

    def joined(self, messages: list[Raw]) -> list[Raw]:
        """Neighbours of one role as one message, so that all results of a turn stand in one, before any text (A3).

        A system message cannot be the first (A9): there the user says it.
        """
        if messages and messages[0]["role"] == "system":
            messages = [by_user("system", messages[0]), *messages[1:]]
        return saying.joined(messages, "content")

    def read(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        return read(messages, where, bound=self.bound)

    def system(self, value: object) -> list[Instruction]:
        if not isinstance(value, (str, list)):
            raise InvalidMessage("system", f"must be a string or a list of text blocks, not {kind_of(value)}")
        message: Raw = {"role": "system", "content": value}
        return cast("list[Instruction]", parse(message, "system"))

    def user(self, content: object) -> Fact:
        """What the user says: a text or a list of blocks. Results are said by `result`."""
        fact = parse({"role": "user", "content": content}, "user")[0]
        if not isinstance(fact, User):
            raise InvalidMessage("user", "a tool_result is no part of what the user says")
        return fact

    def result(self, call: str, content: object) -> Fact:
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        return parse({"role": "user", "content": [block]}, "tool_result")[0]

    def reply(self, reply: object) -> Assistant:
        return parse_reply(reply, bound=self.bound)

    def measure(self, counter: TokenCounter) -> Measure:
        return Counting(counter)

    def request(self, head: Head, messages: list[Raw]) -> Raw:
        """The system prompt, if there is one, and the messages, with no more cache marks than the API takes (A19)."""
        system = system_of(head.messages)
        fields: Raw = {"system": system} if system else {}
        return {**fields, "messages": unmarked([*head.tools, {"content": system}], messages)}

    def violations(self, request: Raw) -> list[Violation]:
        return violations(request)


ANTHROPIC = AnthropicMessages()
