"""The dialect of the Anthropic Messages API, also as Amazon Bedrock offers it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, ClassVar, cast

from transom import texts
from transom.core import message as m
from transom.core.edit import Fold
from transom.core.entry import Body
from transom.core.message import Addressed, Assistant, Fact, Head, Instruction, Raw
from transom.core.tokens import MEDIA_TOKENS, MESSAGE_TOKENS, REQUEST_TOKENS, FormatCounter, TokenCounter
from transom.core.unit import Slot, Unit
from transom.errors import InvalidMessage
from transom.wire import translate
from transom.wire.anthropic.caching import with_valid_marks
from transom.wire.anthropic.parse import DIALECT_NAME, USAGE, parse, parse_reply, read
from transom.wire.anthropic.render import (
    EMPTY,
    instruction_by_user,
    is_blank,
    is_label,
    sent_name,
    system_of,
    text_message,
    unit_messages,
)
from transom.wire.anthropic.rules import violations, warnings
from transom.wire.anthropic.server_tools import repaired
from transom.wire.anthropic.stream import AnthropicAccumulator
from transom.wire.bound_reasoning import bind
from transom.wire.dialect import Dialect, Placed, Rendered, Violation, join_roles
from transom.wire.dialect_counter import DialectCounter, ToolRenderer
from transom.wire.fields import kind_of, text
from transom.wire.media_tokens import ANTHROPIC as ANTHROPIC_RATES
from transom.wire.replies import UsageFields
from transom.wire.tools import ANTHROPIC as ANTHROPIC_TOOLS
from transom.wire.tools import ToolFormat


class AnthropicCounter(DialectCounter):
    """Counts for the Messages API, with the placeholders, labels and marks that rendering may add to a fact.

    `counter`: counts texts. `tools`: renders tool schemas. `user_first`: the first message must be the user's; then the
    tokens of a request beside its facts (`request`) have room for a short one.
    """

    rates = ANTHROPIC_RATES

    def __init__(self, counter: TokenCounter, tools: ToolRenderer, *, user_first: bool) -> None:
        super().__init__(counter, DIALECT_NAME, objects=True, tools=tools, takes=is_label)
        self._empty = self.count(EMPTY)
        self.user_first = user_first
        if user_first:
            self.request = REQUEST_TOKENS + MESSAGE_TOKENS + self.count(texts.CONTINUE)

    def image(self, width: int, height: int) -> int:
        """The tokens of an image: its pixels ÷ 750, rounded up, but at most 1,600, because the provider scales larger
        images down."""
        return min(1_600, ceil(width * height / 750))

    def count_body(self, body: Body, shown: Addressed | None = None) -> tuple[int, ...]:
        """The counts of an entry's body, as `FormatCounter.count_body` gives them. A fold with a blank text is counted
        as its placeholder."""
        if isinstance(body, Fold) and is_blank(body.text):
            return (MESSAGE_TOKENS + max(self._empty, self.count(body.text)),)
        return super().count_body(body, shown)

    def count_part(self, part: Addressed) -> int:
        """The tokens of a part. A blank text counts as its placeholder; a document that holds plain text counts that
        text, but at least the 1,000 of any file."""
        source: Any = part.raw.get("source") if isinstance(part, m.Media) else None
        if isinstance(source, dict) and text(cast("Raw", source), "type") in {"text", "content"}:
            return max(MEDIA_TOKENS, sum(map(self.count, m.strings_in(cast("Raw", source)))))
        tokens = super().count_part(part)
        return max(self._empty, tokens) if isinstance(part, m.Text) and is_blank(part.text) else tokens

    def count_envelope(self, fact: Fact) -> int:
        """The tokens beside the parts, with the mark on an instruction, a changed tool name, and a placeholder for
        missing content."""
        tokens = super().count_envelope(fact)
        if isinstance(fact, Instruction):
            # a word of it may begin with the mark's last blank and then need one token more
            tokens += self.count(texts.instruction_text(fact.role, "")) + 1
        elif isinstance(fact, Assistant) and fact.dialect == DIALECT_NAME:
            tokens += sum(max(0, self.count(sent_name(call.name)) - self.count(call.name)) for call in fact.calls)
            tokens += MESSAGE_TOKENS * fact.order.count("|")
        needed = fact.failed if isinstance(fact, m.ToolResult) else not (isinstance(fact, Assistant) and fact.calls)
        return tokens + (self._empty if needed and not fact.parts and is_blank(m.own_text(fact)) else 0)


COMPACTION_PROMPT = (
    "Summarize the conversation so that you can go on from your summary alone: what the user asked and forbade, what "
    "was done and decided, what failed and why, what is open, with names, paths and ids to the letter. Above all, keep "
    "what concerns this: {focus}"
)
"""The prompt for a compaction by the API, in place of its own, if the caller wants something kept above all."""


class AnthropicDialect(Dialect, frozen=True):
    """Messages that are lists of blocks, with the system prompt beside them. (A1 to A19 are the rules of this API, see
    `transom/wire/anthropic/rules.py`.)

    - `bound`: reasoning is bound to its prefix, and never sent on another (A15), unless its reply names a model that
      takes it back on any prefix (`wire.bound_reasoning`). False: reasoning of every model is sent back on any prefix.
    - `user_first`: the API refuses a conversation that begins with the model's message, as Amazon Bedrock does. A short
      user message is put before it.
    - `unsigned`: the API gives thinking without a signature and wants it back, as DeepSeek's and Kimi's endpoints do.
      Anthropic's own API refuses such thinking: without this setting it is left out.
    """

    name: str = DIALECT_NAME
    bound: bool = True
    user_first: bool = False
    unsigned: bool = False

    usage_fields: ClassVar[UsageFields | None] = USAGE
    tool_format: ClassVar[ToolFormat] = ANTHROPIC_TOOLS

    def required_user_turn(self, turn: Assistant) -> str:
        """`texts.CONTINUE`, because the API refuses a request that ends with the model's message (A12); empty if the
        turn ends with a part of the provider's own tools.

        But the text is needed if the turn has the result of an earlier turn's call: where a fold hides the call, a text
        stands in the place of the result.
        """
        return texts.CONTINUE if turn.continued_calls else translate.user_turn_after(turn, DIALECT_NAME)

    def user_message(self, text: str) -> Rendered:
        return Rendered(text_message(text))

    def render_unit(self, unit: Unit) -> list[Rendered]:
        return unit_messages(unit, unsigned=self.unsigned)

    def join(self, messages: Sequence[Rendered]) -> list[Raw]:
        """The messages as they are sent. Neighbours of one role become one message, so that all results of a turn stand
        together (A3), except those that must stay alone (`join_roles`).

        Before that, calls and results of the provider's own tools are put in order, and those that the API would refuse
        are left out (`server_tools.repaired`). A system message at the front becomes a user message (A9). With
        `user_first`, a short user message is put before a first message of the model.
        """
        messages = repaired(messages)
        if messages and messages[0].message["role"] == "system":
            messages = [instruction_by_user("system", messages[0]), *messages[1:]]
        if self.user_first and messages and messages[0].message["role"] == "assistant":
            messages = [self.user_message(texts.CONTINUE), *messages]
        return join_roles(messages, "content")

    def parse(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        placed = read(messages, where)
        return [(at, bind(fact)) for at, fact in placed] if self.bound else placed

    def parse_system(self, value: object) -> list[Instruction]:
        if not isinstance(value, (str, list)):
            raise InvalidMessage("system", f"must be a string or a list of text blocks, not {kind_of(value)}")
        message: Raw = {"role": "system", "content": value}
        return cast("list[Instruction]", parse(message, "system"))

    def parse_user(self, content: object) -> Fact:
        """Read a user message: a text, a list of blocks, or None for an empty message. Raises InvalidMessage for a
        `tool_result` block: that is for `parse_tool_result`."""
        fact = parse({"role": "user", "content": content}, "user")[0]
        if not isinstance(fact, m.User):
            raise InvalidMessage("user", "a tool_result is no part of what the user says")
        return fact

    def parse_tool_result(self, call: str, content: object) -> Fact:
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        return parse({"role": "user", "content": [block]}, "tool_result")[0]

    def accumulator(self) -> AnthropicAccumulator:
        return AnthropicAccumulator(bound=self.bound)

    def _parse_response(self, reply: object) -> Assistant:
        return parse_reply(reply, bound=self.bound)

    def format_counter(self, counter: TokenCounter) -> FormatCounter:
        return AnthropicCounter(counter, self.render_tools, user_first=self.user_first)

    def body(self, head: Head, messages: list[Raw], tools: Sequence[Raw] = ()) -> Raw:
        """The body of a request, as `Dialect.body` says: the system prompt if there is one, the messages and the tools,
        with the cache marks that the API takes (A19)."""
        system = system_of(head.messages)
        fields: Raw = {"system": system} if system else {}
        return with_valid_marks({**fields, "messages": messages, **self._tools(tools)})

    def continuation(self, slots: Sequence[Slot]) -> Raw:
        """The `container` of the model's newest turn, while a tool of the provider waits there: calls that the code of
        this tool has made are answered in that container. Else empty."""
        for slot in reversed(slots):
            if not isinstance(slot, Unit):
                break  # what a fold hides is not gone on with
            if isinstance(turn := slot.first_fact, Assistant):
                waits = turn.dialect == DIALECT_NAME and turn.pending_calls
                return {"container": turn.container} if waits and turn.container else {}
        return {}

    def compaction_request(self, live: Raw, instructions: str = "") -> Raw | None:
        """System prompt, messages and tools of the live request (nothing else of it), with `compaction`: the API
        answers with a compaction block alone. Never None. `instructions`: what to keep; a prompt of ours that asks for
        it then takes the place of the API's own. Empty or blank: the API's own prompt."""
        kept = {key: value for key, value in live.items() if key in {"system", "messages", "tools"}}
        asked = {"instructions": COMPACTION_PROMPT.format(focus=instructions)} if instructions.strip() else {}
        return {**kept, "compaction": {"type": "summarize", **asked}}

    def violations(self, body: Raw) -> list[Violation]:
        return violations(body, user_first=self.user_first, unsigned=self.unsigned)

    def warnings(self, body: Raw) -> list[Violation]:
        return warnings(body)


ANTHROPIC = AnthropicDialect()
"""Anthropic's own API."""

ANTHROPIC_BEDROCK = AnthropicDialect(f"{DIALECT_NAME}_bedrock", user_first=True)
"""Claude on Amazon Bedrock: messages are read in the same way, and the first one must be the user's."""

ANTHROPIC_UNSIGNED = AnthropicDialect(bound=False, unsigned=True)
"""The endpoints of DeepSeek and Kimi that speak this API."""
