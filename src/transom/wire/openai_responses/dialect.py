"""The OpenAI Responses API, and what is compatible with it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from transom.core.message import Assistant, Fact, Head, Instruction, Raw, Text
from transom.core.tokens import Measure, TokenCounter, clean
from transom.core.unit import Slot
from transom.errors import InvalidMessage
from transom.wire.dialect import Placed, Violation
from transom.wire.foreign import adopted
from transom.wire.openai_responses.items import INSTRUCTIONS, NAME
from transom.wire.openai_responses.measure import ResponsesMeasure
from transom.wire.openai_responses.mend import distinct, mended
from transom.wire.openai_responses.read import read
from transom.wire.openai_responses.render import item, shown
from transom.wire.openai_responses.reply import as_item, parse_reply
from transom.wire.openai_responses.rules import violations
from transom.wire.reading import kind_of, listed


class OpenAIResponses(Struct, frozen=True):
    """The dialect (see `wire.dialect.Dialect`): items of many kinds, the system prompt beside them as `instructions`.

    `strict`: as DeepSeek has it, nothing may stand between the calls of a turn and their outputs (R4).
    """

    strict: bool = False
    nudge: str = ""

    @property
    def name(self) -> str:
        """Two names, since windows are remembered by them."""
        return f"deepseek_{NAME}" if self.strict else NAME

    def head(self, head: Head) -> list[Raw]:
        """The instructions that stand among the items, in front of them."""
        return [mended(item(adopted(each, NAME))) for each in head.messages if not _is_beside(each)]

    def slot(self, slot: Slot) -> list[Raw]:
        """What a slot shows, by itself alone."""
        return shown(slot, strict=self.strict)

    def joined(self, messages: list[Raw]) -> list[Raw]:
        """Items are taken as they come, but no id twice."""
        return distinct(messages)

    def read(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        """Facts from a request's `input`. A text is what the user says; a client library's object is read as it would
        send it. Raises InvalidMessage."""
        if isinstance(messages, str):
            return [(0, self.user(messages))]
        items = [as_item(each) for each in listed(messages, where or "input")]
        return read(items, f"{where}, " if where else "")

    def system(self, value: object) -> list[Instruction]:
        """A request's `instructions`, which come out beside the items again; null is none. Raises InvalidMessage."""
        if value is None:
            return []
        if not isinstance(value, str):
            raise InvalidMessage("instructions", f"must be a text, not {kind_of(value)}")
        return [Instruction(parts=(Text(value),), extra={INSTRUCTIONS: True}, dialect=NAME)]

    def user(self, content: object) -> Fact:
        """A user message."""
        return read([{"role": "user", "content": content}], "user, ")[0][1]

    def result(self, call: str, content: object) -> Fact:
        """The output of a function call; that of a custom tool's call comes out as such."""
        answer = {"type": "function_call_output", "call_id": call, "output": content}
        return read([answer], "tool_result, ")[0][1]

    def reply(self, reply: object) -> Assistant:
        """The output of a response, or the items of one turn."""
        return parse_reply(reply)

    def measure(self, counter: TokenCounter) -> Measure:
        """See `ResponsesMeasure`."""
        return ResponsesMeasure(counter)

    def request(self, head: Head, messages: list[Raw]) -> Raw:
        """`instructions`, if the head came with any, and `input`."""
        beside = [each for each in head.messages if _is_beside(each)]
        words = ["".join(part.text for part in each.parts if isinstance(part, Text)) for each in beside]
        return {**({"instructions": clean("\n\n".join(words))} if words else {}), "input": messages}

    def violations(self, request: Raw) -> list[Violation]:
        """See `rules`."""
        return violations(request, strict=self.strict)


def _is_beside(instruction: Instruction) -> bool:
    return instruction.dialect == NAME and bool(instruction.extra) and INSTRUCTIONS in (instruction.extra or {})


RESPONSES = OpenAIResponses()

DEEPSEEK_RESPONSES = OpenAIResponses(strict=True)
"""DeepSeek's Responses API: facts are the same, requests stricter."""
