"""The Anthropic Messages API."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, cast

from transom import texts
from transom.core import message as m
from transom.core.edit import Fold
from transom.core.entry import Body
from transom.core.message import Addressed, Assistant, Fact, Head, Instruction, Raw
from transom.core.tokens import MEDIA_TOKENS, MESSAGE_TOKENS, REQUEST_TOKENS, FormatCounter, TokenCounter
from transom.core.unit import Unit
from transom.errors import InvalidMessage
from transom.wire import tools as tool_formats
from transom.wire import translate, turns
from transom.wire.anthropic.caching import unmarked
from transom.wire.anthropic.parse import NAME, parse, read
from transom.wire.anthropic.render import EMPTY, by_user, is_blank, is_label, sent_name, system_of, unit_messages, words
from transom.wire.anthropic.reply import parse_reply
from transom.wire.anthropic.rules import violations
from transom.wire.anthropic.stream import AnthropicAccumulator
from transom.wire.dialect import Dialect, Placed, Rendered, Violation
from transom.wire.fields import kind_of
from transom.wire.media_tokens import ANTHROPIC as ANTHROPIC_RATES
from transom.wire.stream import from_stream
from transom.wire.tools import rendered_tools
from transom.wire.translate import ToolRenderer
from transom.wire.turns import without_surrogates


class AnthropicMessages(Dialect, frozen=True):
    """Messages of blocks, with the system prompt beside them.

    `bound`: the model signs its reasoning for the exact prefix, so that it is void on any other (A15). `mid_system`:
    the model takes a system message in the middle, also one that came in another dialect (A9).
    `user_first`: the API refuses a conversation that begins with the model's message, as Amazon Bedrock's does: a short
    user message goes before it.
    """

    name: str = NAME
    bound: bool = False
    mid_system: bool = False
    user_first: bool = False

    def required_user_turn(self, turn: Assistant) -> str:
        """A word of the user's (A12), unless the turn ends with what the provider does itself."""
        return translate.user_turn_after(turn, NAME)

    def user_message(self, text: str) -> Rendered:
        return Rendered(words(text))

    def render_unit(self, unit: Unit) -> list[Rendered]:
        return without_surrogates(unit_messages(unit, mid_system=self.mid_system))

    def join(self, messages: Sequence[Rendered]) -> list[Raw]:
        """Neighbours of one role as one message, so that all results of a turn stand in one, before any text (A3).

        A system message cannot be the first (A9): there the user says it.
        """
        if messages and messages[0].message["role"] == "system":
            messages = [by_user("system", messages[0]), *messages[1:]]
        if self.user_first and messages and messages[0].message["role"] == "assistant":
            messages = [self.user_message(texts.CONTINUE), *messages]
        return turns.join_roles(messages, "content")

    def parse(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        return read(messages, where, bound=self.bound)

    def parse_system(self, value: object) -> list[Instruction]:
        if not isinstance(value, (str, list)):
            raise InvalidMessage("system", f"must be a string or a list of text blocks, not {kind_of(value)}")
        message: Raw = {"role": "system", "content": value}
        return cast("list[Instruction]", parse(message, "system"))

    def parse_user(self, content: object) -> Fact:
        """What the user says: a text or a list of blocks. Results are said by `result`."""
        fact = parse({"role": "user", "content": content}, "user")[0]
        if not isinstance(fact, m.User):
            raise InvalidMessage("user", "a tool_result is no part of what the user says")
        return fact

    def parse_tool_result(self, call: str, content: object) -> Fact:
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        return parse({"role": "user", "content": [block]}, "tool_result")[0]

    def accumulator(self) -> AnthropicAccumulator:
        return AnthropicAccumulator(bound=self.bound)

    def parse_reply(self, reply: object) -> Assistant:
        given = from_stream(reply, self.accumulator())
        return given if isinstance(given, Assistant) else parse_reply(given, bound=self.bound)

    def format_counter(self, counter: TokenCounter) -> FormatCounter:
        return _FormatCounter(counter, self.render_tools, user_first=self.user_first)

    def render_tools(self, tools: Sequence[Raw]) -> list[Raw]:
        return rendered_tools(tools, tool_formats.ANTHROPIC)

    def body(self, head: Head, messages: list[Raw], tools: Sequence[Raw] = ()) -> Raw:
        """The system prompt, if there is one, and the messages, with no more cache marks than the API takes (A19)."""
        system = system_of(head.messages)
        fields: Raw = {"system": system} if system else {}
        return {**fields, "messages": unmarked([*head.tools, {"content": system}], messages), **self._tools(tools)}

    def violations(self, body: Raw) -> list[Violation]:
        return violations(body, user_first=self.user_first)


class _FormatCounter(translate.DialectCounter):
    """Placeholders, labels and marks that rendering may put in are counted where a fact could need them."""

    rates = ANTHROPIC_RATES

    def __init__(self, counter: TokenCounter, tools: ToolRenderer, *, user_first: bool) -> None:
        super().__init__(counter, NAME, objects=True, tools=tools, takes=is_label)
        self._empty = self.count(EMPTY)
        if user_first:
            self.request = REQUEST_TOKENS + MESSAGE_TOKENS + self.count(texts.CONTINUE)

    def image(self, width: int, height: int) -> int:
        """Pixels by 750; what is larger than 1,600 tokens is scaled down (D)."""
        return min(1_600, ceil(width * height / 750))

    def count_body(self, body: Body, shown: Addressed | None = None) -> tuple[int, ...]:
        """A fold without words gets a placeholder."""
        if isinstance(body, Fold) and is_blank(body.text):
            return (MESSAGE_TOKENS + max(self._empty, self.count(body.text)),)
        return super().count_body(body, shown)

    def count_part(self, part: Addressed) -> int:
        """A blank text may become a placeholder; a document may hold its text openly."""
        source: Any = part.raw.get("source") if isinstance(part, m.Media) else None
        if isinstance(source, dict) and cast("Raw", source).get("type") in {"text", "content"}:
            return max(MEDIA_TOKENS, sum(map(self.count, m.strings_in(cast("Raw", source)))))
        tokens = super().count_part(part)
        return max(self._empty, tokens) if isinstance(part, m.Text) and is_blank(part.text) else tokens

    def count_envelope(self, fact: Fact) -> int:
        tokens = super().count_envelope(fact)
        if isinstance(fact, Instruction):
            # a word of it may begin with the mark's last blank and then need one token more
            tokens += self.count(texts.instruction_text(fact.role, "")) + 1
        elif isinstance(fact, Assistant) and fact.dialect == NAME:
            tokens += sum(max(0, self.count(sent_name(call.name)) - self.count(call.name)) for call in fact.calls)
            tokens += MESSAGE_TOKENS * fact.order.count("|")
        needed = fact.failed if isinstance(fact, m.ToolResult) else not (isinstance(fact, Assistant) and fact.calls)
        return tokens + (self._empty if needed and not fact.parts and is_blank(m.own_text(fact)) else 0)


ANTHROPIC = AnthropicMessages()

ANTHROPIC_BEDROCK = AnthropicMessages(f"{NAME}_bedrock", user_first=True)
"""Claude on Amazon Bedrock: facts are the same, and the user begins."""
