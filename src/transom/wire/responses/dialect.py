"""The OpenAI Responses API, and what is compatible with it."""

from __future__ import annotations

from collections.abc import Sequence

from transom.core.message import (
    Addressed,
    Assistant,
    Call,
    Fact,
    Head,
    Instruction,
    Raw,
    Reasoning,
    Text,
    ToolResult,
    strings_in,
)
from transom.core.tokens import FormatCounter, TokenCounter, replace_surrogates
from transom.core.unit import Unit
from transom.errors import InvalidMessage
from transom.wire import tools as tool_formats
from transom.wire.dialect import Dialect, Placed, Rendered, Violation
from transom.wire.fields import kind_of, message_list
from transom.wire.responses.built_in import BUILT_IN_OUTPUTS, SCREENSHOT_TOKENS, STAND_IN, call_item, is_built_in
from transom.wire.responses.parse import INSTRUCTIONS, NAME, read
from transom.wire.responses.render import item, takes, unit_items
from transom.wire.responses.repair import distinct, repaired
from transom.wire.responses.reply import as_item, parse_response
from transom.wire.responses.rules import violations
from transom.wire.responses.stream import ResponsesAccumulator, holds_items
from transom.wire.stream import from_stream
from transom.wire.tools import rendered_tools
from transom.wire.translate import DialectCounter, safe_name, translate_fact
from transom.wire.turns import without_surrogates

_SEALED = 5
"""Characters of sealed reasoning to a token: four of base64 are three bytes, and a token is about four bytes."""


class OpenAIResponses(Dialect, frozen=True):
    """Items of many kinds, the system prompt beside them as `instructions`.

    `strict`: as DeepSeek has it, nothing may stand between the calls of a turn and their outputs (R4).
    """

    name: str = NAME
    strict: bool = False

    @property
    def digest_roles(self) -> tuple[str, ...]:
        return ("user", "developer", "system") if self.name == NAME else ("user",)

    def render_head(self, head: Head) -> list[Rendered]:
        items = [repaired(item(translate_fact(each, NAME))) for each in head.messages if not _is_beside(each)]
        return without_surrogates([Rendered(each) for each in items])

    def render_unit(self, unit: Unit) -> list[Rendered]:
        return without_surrogates([Rendered(each) for each in unit_items(unit, strict=self.strict)])

    def join(self, messages: Sequence[Rendered]) -> list[Raw]:
        """Items are taken as they come, but no id twice."""
        return distinct(super().join(messages))

    def parse(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        """Facts from a request's `input`. A text is what the user says."""
        if isinstance(messages, str):
            return [(0, self.parse_user(messages))]
        items = [as_item(each) for each in message_list(messages, where or "input")]
        return read(items, f"{where}, " if where else "")

    def parse_system(self, value: object) -> list[Instruction]:
        """A request's `instructions`, which come out beside the items again; null is none."""
        if not isinstance(value, (str, type(None))):
            raise InvalidMessage("instructions", f"must be a text, not {kind_of(value)}")
        return [] if value is None else [Instruction(parts=(Text(value),), extra={INSTRUCTIONS: True}, dialect=NAME)]

    def parse_user(self, content: object) -> Fact:
        return read([{"role": "user", "content": content}], "user, ")[0][1]

    def parse_tool_result(self, call: str, content: object) -> Fact:
        """The output of a function call; that of a custom tool's call comes out as such."""
        return read([{"type": "function_call_output", "call_id": call, "output": content}], "tool_result, ")[0][1]

    def accumulator(self) -> ResponsesAccumulator:
        return ResponsesAccumulator()

    def parse_reply(self, reply: object) -> Assistant:
        given = reply if holds_items(reply) else from_stream(reply, self.accumulator())
        return given if isinstance(given, Assistant) else parse_response(given)

    def format_counter(self, counter: TokenCounter) -> FormatCounter:
        return _FormatCounter(counter, NAME, objects=False, tools=self.render_tools, takes=takes)

    def render_tools(self, tools: Sequence[Raw]) -> list[Raw]:
        return rendered_tools(tools, tool_formats.RESPONSES)

    def body(self, head: Head, messages: list[Raw], tools: Sequence[Raw] = ()) -> Raw:
        """`instructions`, if the head came with any, and `input`."""
        beside = [each for each in head.messages if _is_beside(each)]
        words = ["".join(part.text for part in each.parts if isinstance(part, Text)) for each in beside]
        fields: Raw = {"instructions": replace_surrogates("\n\n".join(words))} if words else {}
        return {**fields, "input": messages, **self._tools(tools)}

    def violations(self, body: Raw) -> list[Violation]:
        return violations(body, strict=self.strict)


def _is_beside(instruction: Instruction) -> bool:
    return instruction.dialect == NAME and INSTRUCTIONS in (instruction.extra or {})


class _FormatCounter(DialectCounter):
    """Reasoning weighs what it says in the clear and what it holds sealed. A call of a built-in tool weighs its item,
    and the most that an output of ours costs beside its text."""

    def count_part(self, part: Addressed) -> int:
        if isinstance(part, Call) and is_built_in(part):
            tokens = max(super().count_part(part), self._strings(call_item(part)))
            screenshot = SCREENSHOT_TOKENS if part.name == "computer" else 0
            return tokens + STAND_IN + screenshot
        sealed = (part.extra or {}).get("encrypted_content") if isinstance(part, Reasoning) else None
        return super().count_part(part) + (-(-len(sealed) // _SEALED) if isinstance(sealed, str) else 0)

    def count_envelope(self, fact: Fact) -> int:
        tokens, count = super().count_envelope(fact), self.count
        if isinstance(fact, ToolResult) and fact.extra and fact.extra.get("type") in BUILT_IN_OUTPUTS:
            return tokens + self._strings(fact.extra)
        if not isinstance(fact, Assistant):
            return tokens
        if not fact.parts and not fact.calls:  # only a placeholder can say that it spoke
            return tokens + self.left_out
        own = fact.calls if fact.dialect == NAME else ()
        return tokens + sum(max(0, count(safe_name(call.name)) - count(call.name)) for call in own)

    def _strings(self, item: Raw) -> int:
        return sum(map(self.count, strings_in(item)))


RESPONSES = OpenAIResponses()

DEEPSEEK_RESPONSES = OpenAIResponses(f"deepseek_{NAME}", strict=True)
"""DeepSeek's Responses API: facts are the same, requests stricter."""
