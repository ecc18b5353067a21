"""The dialect of the OpenAI Responses API, and of DeepSeek's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from transom.core import message as m
from transom.core.tokens import FormatCounter, TokenCounter, replace_surrogates
from transom.core.unit import Unit
from transom.errors import InvalidMessage
from transom.wire.bound_reasoning import bind
from transom.wire.dialect import Dialect, Placed, Rendered, Violation, messages_without_surrogates
from transom.wire.dialect_counter import DialectCounter
from transom.wire.fields import as_dict, as_list, kind_of, message_list, require_own_parts
from transom.wire.replies import UsageFields
from transom.wire.responses.built_in_tools import BUILT_IN_OUTPUTS, SCREENSHOT_TOKENS, STAND_IN, call_item, is_built_in
from transom.wire.responses.parse import DIALECT_NAME, INSTRUCTIONS, USAGE, as_item, is_item, kind, parse_response, read
from transom.wire.responses.render import item, repair, takes, unit_items, with_distinct_ids, without_orphaned_answers
from transom.wire.responses.rules import violations
from transom.wire.responses.stream import ResponsesAccumulator, holds_items
from transom.wire.tools import RESPONSES as RESPONSES_TOOLS
from transom.wire.tools import ToolFormat
from transom.wire.translate import safe_name, translate_fact

_ENCRYPTED_CHARACTERS_A_TOKEN = 5
"""Characters of encrypted reasoning for a token: four characters of base64 are three bytes, and a token is about four
bytes."""


class ResponsesCounter(DialectCounter):
    """Counts for the Responses API: reasoning with its encrypted content, calls of built-in tools with their whole
    item."""

    def messages(self, fact: m.Fact) -> int:
        """The items of a fact: one, but for a turn of the model one for each text, reasoning and call (at least one),
        and one more for a call of a built-in tool, whose output may bring a message."""
        if not isinstance(fact, m.Assistant):
            return 1
        return max(1, len(fact.parts) + len(fact.reasoning) + len(fact.calls) + sum(map(is_built_in, fact.calls)))

    def count_part(self, part: m.Addressed) -> int:
        """The tokens of a part. A call of a built-in tool counts its item, and the maximum that an output of ours costs
        beside its text."""
        if isinstance(part, m.Call) and is_built_in(part):
            tokens = max(super().count_part(part), self._strings(call_item(part)))
            screenshot = SCREENSHOT_TOKENS if part.name == "computer" else 0
            return tokens + STAND_IN + screenshot
        sealed = (part.extra or {}).get("encrypted_content") if isinstance(part, m.Reasoning) else None
        return super().count_part(part) + (
            -(-len(sealed) // _ENCRYPTED_CHARACTERS_A_TOKEN) if isinstance(sealed, str) else 0
        )

    def count_envelope(self, fact: m.Fact) -> int:
        """The tokens beside the parts: with the item of a built-in tool's output, a changed tool name, or a placeholder
        for an empty turn."""
        tokens, count = super().count_envelope(fact), self.count
        if isinstance(fact, m.ToolResult) and fact.extra and fact.extra.get("type") in BUILT_IN_OUTPUTS:
            return tokens + self._strings(fact.extra)
        if not isinstance(fact, m.Assistant):
            return tokens
        if not fact.parts and not fact.calls:  # only a placeholder can say that it spoke
            return tokens + self.left_out
        own = fact.calls if fact.dialect == DIALECT_NAME else ()
        return tokens + sum(max(0, count(safe_name(call.name)) - count(call.name)) for call in own)

    def _strings(self, item: m.Raw) -> int:
        """The tokens of all strings in an item."""
        return sum(map(self.count, m.strings_in(item)))


class ResponsesDialect(Dialect, frozen=True):
    """Items of many kinds, with the system prompt beside them as `instructions`.

    - `strict`: the rule of DeepSeek, where nothing may stand between the calls of a turn and their outputs (R4).
    - `bound`: as in `AnthropicDialect`: reasoning is bound to its prefix, and never sent on another.
    """

    name: str = DIALECT_NAME
    strict: bool = False
    bound: bool = True

    usage_fields: ClassVar[UsageFields | None] = USAGE
    tool_format: ClassVar[ToolFormat] = RESPONSES_TOOLS

    @property
    def digest_roles(self) -> tuple[str, ...]:
        return ("user", "developer", "system") if self.name == DIALECT_NAME else ("user",)

    def render_head(self, head: m.Head) -> list[Rendered]:
        items = [repair(item(translate_fact(each, DIALECT_NAME))) for each in head.messages if not _is_beside(each)]
        return messages_without_surrogates([Rendered(each) for each in items])

    def render_unit(self, unit: Unit) -> list[Rendered]:
        return [Rendered(each) for each in unit_items(unit, strict=self.strict)]

    def join(self, messages: Sequence[Rendered]) -> list[m.Raw]:
        """Return the items, without what the API refuses.

        An item with the id of an earlier one loses its id. Reasoning with such an id is left out, and the model's items
        directly behind it have neither reasoning nor ids (see `with_distinct_ids`). The answer to a request for
        approval is left out if the request does not stand before it, or has an answer already. If reasoning stands
        directly before that answer, a placeholder takes its place.
        """
        return with_distinct_ids(super().join(without_orphaned_answers(messages)))

    def parse(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        """Read a request's `input`: a list of items, or a text, which is a user message."""
        if isinstance(messages, str):
            return [(0, self.parse_user(messages))]
        items = [as_item(each) for each in message_list(messages, where or "input")]
        placed = read(items, f"{where}, " if where else "")
        return [(at, bind(fact)) for at, fact in placed] if self.bound else placed

    def parse_system(self, value: object) -> list[m.Instruction]:
        """Read a request's `instructions`: a text, or null for none. They are rendered beside the items again."""
        if not isinstance(value, (str, type(None))):
            raise InvalidMessage("instructions", f"must be a text, not {kind_of(value)}")
        return (
            []
            if value is None
            else [m.Instruction(parts=(m.Text(value),), extra={INSTRUCTIONS: True}, dialect=DIALECT_NAME)]
        )

    def parse_user(self, content: object) -> m.Fact:
        require_own_parts(content, "user", DIALECT_NAME)
        for at, part in enumerate(as_list(content)):
            if is_item(as_dict(part)):
                what = (
                    f"content[{at}] is an item ({kind(as_dict(part))}), no part of a message: `extend([...])` takes it"
                )
                raise InvalidMessage("user", what)
        return read([{"role": "user", "content": content}], "user, ")[0][1]

    def parse_tool_result(self, call: str, content: object) -> m.Fact:
        """Read the output of a call. Rendering gives it the type that its call needs: of a function or a custom
        tool."""
        output = {"type": "function_call_output", "call_id": call, "output": content}
        return read([output], "tool_result, ", reads_failed_mark=False)[0][1]

    def accumulator(self) -> ResponsesAccumulator:
        return ResponsesAccumulator(bound=self.bound)

    def is_stream(self, reply: object) -> bool:
        return isinstance(reply, (list, tuple)) and not holds_items(cast("Sequence[object]", reply))

    def _parse_response(self, reply: object) -> m.Assistant:
        return parse_response(reply, bound=self.bound)

    def format_counter(self, counter: TokenCounter) -> FormatCounter:
        return ResponsesCounter(counter, DIALECT_NAME, objects=False, tools=self.render_tools, takes=takes)

    def body(self, head: m.Head, messages: list[m.Raw], tools: Sequence[m.Raw] = ()) -> m.Raw:
        """The body of a request, as `Dialect.body` says: the `input`, the tools, and `instructions` if the head came
        with any."""
        beside = [each for each in head.messages if _is_beside(each)]
        words = ["".join(part.text for part in each.parts if isinstance(part, m.Text)) for each in beside]
        fields: m.Raw = {"instructions": replace_surrogates("\n\n".join(words))} if words else {}
        return {**fields, "input": messages, **self._tools(tools)}

    def compaction_request(self, live: m.Raw, instructions: str = "") -> m.Raw | None:  # noqa: ARG002 - the API takes none
        """The items and instructions of the live request, for `responses.compact`; never None. `instructions`: not
        used, since that API takes none for the compaction itself."""
        return {key: value for key, value in live.items() if key in {"instructions", "input"}}

    def violations(self, body: m.Raw) -> list[Violation]:
        return violations(body, strict=self.strict)


def _is_beside(instruction: m.Instruction) -> bool:
    """Whether an instruction is sent as `instructions`, beside the items."""
    return instruction.dialect == DIALECT_NAME and INSTRUCTIONS in (instruction.extra or {})


RESPONSES = ResponsesDialect()

DEEPSEEK_RESPONSES = ResponsesDialect(f"deepseek_{DIALECT_NAME}", strict=True, bound=False)
"""DeepSeek's Responses API: items are read in the same way, requests have one more rule, and
reasoning is not bound to its prefix."""
