"""The dialect of the Anthropic Messages API, also as Amazon Bedrock offers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from transom import texts
from transom.core import message as m
from transom.core.message import Assistant, Fact, Head, Instruction, Raw
from transom.core.tokens import FormatCounter, TokenCounter
from transom.core.unit import Slot, Unit
from transom.errors import InvalidMessage
from transom.wire import tools as tool_formats
from transom.wire import translate, turns
from transom.wire.anthropic.caching import with_valid_marks
from transom.wire.anthropic.counter import AnthropicCounter
from transom.wire.anthropic.parse import DIALECT_NAME, parse, read
from transom.wire.anthropic.render import by_user, system_of, unit_messages, words
from transom.wire.anthropic.reply import USAGE, parse_reply
from transom.wire.anthropic.rules import violations
from transom.wire.anthropic.server_tools import repaired
from transom.wire.anthropic.stream import AnthropicAccumulator
from transom.wire.bound_reasoning import bind
from transom.wire.dialect import Dialect, Placed, Rendered, Violation
from transom.wire.fields import kind_of
from transom.wire.sdk_objects import UsageFields
from transom.wire.stream import from_stream
from transom.wire.tools import rendered_tools
from transom.wire.turns import messages_without_surrogates

COMPACTION_PROMPT = (
    "Summarize the conversation so that you can go on from your summary alone: what the user asked and forbade, what "
    "was done and decided, what failed and why, what is open, with names, paths and ids to the letter. Above all, keep "
    "what concerns this: {focus}"
)
"""What the API is asked in place of its own prompt, if the caller wants something kept above all."""


class AnthropicDialect(Dialect, frozen=True):
    """Messages that are lists of blocks, with the system prompt beside them.

    - `bound`: reasoning is bound to its prefix, and never sent on another (A15), unless its reply names a model that
      takes it back anywhere (`wire.bound_reasoning`). False: every model does.
    - `mid_system`: the model takes a system message in the middle, also one that came in another dialect (A9).
    - `user_first`: the API refuses a conversation that begins with the model's message, as Amazon Bedrock does. A short
      user message is put before it.
    - `unsigned`: the API gives thinking without a signature and wants it back, as DeepSeek's and Kimi's endpoints do.
      Anthropic's own API refuses such thinking: there it is left out.
    """

    name: str = DIALECT_NAME
    bound: bool = True
    mid_system: bool = False
    user_first: bool = False
    unsigned: bool = False

    def required_user_turn(self, turn: Assistant) -> str:
        """A short text (A12); empty if the turn ends with a part of the provider's own tools. A result of an earlier
        turn's call does not count: where a fold hides the call, a text stands in its place."""
        return texts.CONTINUE if turn.continued_calls else translate.user_turn_after(turn, DIALECT_NAME)

    def user_message(self, text: str) -> Rendered:
        return Rendered(words(text))

    def render_unit(self, unit: Unit) -> list[Rendered]:
        return messages_without_surrogates(unit_messages(unit, mid_system=self.mid_system, unsigned=self.unsigned))

    def join(self, messages: Sequence[Rendered]) -> list[Raw]:
        """Join neighbours of one role into one message, so that all results of a turn stand together, before any text
        (A3).

        A system message cannot be the first (A9): there it becomes a user message.
        """
        messages = repaired(messages)
        if messages and messages[0].message["role"] == "system":
            messages = [by_user("system", messages[0]), *messages[1:]]
        if self.user_first and messages and messages[0].message["role"] == "assistant":
            messages = [self.user_message(texts.CONTINUE), *messages]
        return turns.join_roles(messages, "content")

    def parse(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        placed = read(messages, where)
        return [(at, bind(fact)) for at, fact in placed] if self.bound else placed

    def parse_system(self, value: object) -> list[Instruction]:
        if not isinstance(value, (str, list)):
            raise InvalidMessage("system", f"must be a string or a list of text blocks, not {kind_of(value)}")
        message: Raw = {"role": "system", "content": value}
        return cast("list[Instruction]", parse(message, "system"))

    def parse_user(self, content: object) -> Fact:
        """Read a user message: a text or a list of blocks. Raises InvalidMessage for a `tool_result` block: that is for
        `parse_tool_result`."""
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

    @property
    def usage_fields(self) -> UsageFields:
        return USAGE

    def format_counter(self, counter: TokenCounter) -> FormatCounter:
        return AnthropicCounter(counter, self.render_tools, user_first=self.user_first)

    def render_tools(self, tools: Sequence[Raw]) -> list[Raw]:
        return rendered_tools(tools, tool_formats.ANTHROPIC)

    def body(self, head: Head, messages: list[Raw], tools: Sequence[Raw] = ()) -> Raw:
        """The system prompt if there is one, and the messages, with the cache marks that the API takes (A19)."""
        system = system_of(head.messages)
        fields: Raw = {"system": system} if system else {}
        return with_valid_marks({**fields, "messages": messages, **self._tools(tools)})

    def continuation(self, slots: Sequence[Slot]) -> Raw:
        """The container, while a tool of the provider's waits: calls that its code has made are answered in it."""
        for slot in reversed(slots):
            if not isinstance(slot, Unit):
                break  # what a fold hides is not gone on with
            if isinstance(turn := slot.first_fact, Assistant):
                waits = turn.dialect == DIALECT_NAME and turn.pending_calls
                return {"container": turn.container} if waits and turn.container else {}
        return {}

    def compaction_request(self, live: Raw, instructions: str = "") -> Raw | None:
        """The live request with `compaction`: nothing is sampled but the block. Instructions take the place of the
        API's own prompt."""
        kept = {key: value for key, value in live.items() if key in {"system", "messages", "tools"}}
        asked = {"instructions": COMPACTION_PROMPT.format(focus=instructions)} if instructions.strip() else {}
        return {**kept, "compaction": {"type": "summarize", **asked}}

    def violations(self, body: Raw) -> list[Violation]:
        return violations(body, user_first=self.user_first, unsigned=self.unsigned)


ANTHROPIC = AnthropicDialect()
"""Anthropic's own API."""

ANTHROPIC_BEDROCK = AnthropicDialect(f"{DIALECT_NAME}_bedrock", user_first=True)
"""Claude on Amazon Bedrock: messages are read in the same way, and the first one must be the user's."""

ANTHROPIC_UNSIGNED = AnthropicDialect(bound=False, unsigned=True)
"""The endpoints of DeepSeek and Kimi that speak this API."""
