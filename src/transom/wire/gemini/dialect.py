"""The dialect of Google's Gemini API (generateContent), as Google AI and Vertex offer it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import ClassVar

from transom import texts
from transom.core.message import Addressed, Assistant, Fact, Head, Instruction, Other, Raw, Text, ToolResult, User
from transom.core.tokens import MESSAGE_TOKENS, REQUEST_TOKENS, FormatCounter, TokenCounter
from transom.core.unit import Unit
from transom.wire import translate
from transom.wire.dialect import Dialect, Placed, Rendered, Violation
from transom.wire.dialect_counter import DialectCounter, ToolRenderer
from transom.wire.fields import message_list, require_own_parts
from transom.wire.gemini import parse, render
from transom.wire.gemini.keys import DIALECT_NAME, SIGNATURE, snake
from transom.wire.gemini.parse import USAGE, plain
from transom.wire.gemini.rules import violations
from transom.wire.gemini.stream import GeminiAccumulator
from transom.wire.media_tokens import GEMINI as GEMINI_RATES
from transom.wire.replies import UsageFields
from transom.wire.tools import GEMINI as GEMINI_TOOLS
from transom.wire.tools import ToolFormat
from transom.wire.translate import safe_name


class GeminiCounter(DialectCounter):
    """Counts for Gemini: a function's response repeats the name of its call, and is counted with it.

    `counter`: counts texts. `tools`: renders tool schemas. The tokens of a request beside its facts (`request`) have
    room for the short user message that a request may need before its first call.
    """

    rates = GEMINI_RATES
    user_first = True

    def __init__(self, counter: TokenCounter, tools: ToolRenderer) -> None:
        super().__init__(counter, DIALECT_NAME, objects=True, tools=tools)
        self.request = REQUEST_TOKENS + MESSAGE_TOKENS + self.count(texts.CONTINUE)

    def image(self, width: int, height: int) -> int:
        """The tokens of an image: 258 for each tile of 768 × 768 pixels, for at most 16 tiles: the header of an image
        may state any size."""
        return 258 * min(16, ceil(width / 768) * ceil(height / 768))

    def count_part(self, part: Addressed) -> int:
        """The tokens of a part. Signatures do not count; an empty text counts as the placeholder that may stand in its
        place."""
        if isinstance(part, Other):
            part = Other({key: value for key, value in part.raw.items() if key not in SIGNATURE})
        tokens = super().count_part(part)
        return max(tokens, self.left_out) if isinstance(part, Text) and not part.text else tokens

    def count_envelope(self, fact: Fact) -> int:
        """The tokens beside the parts, with the call's name in a response, and the mark on instructions, which the API
        does not know."""
        tokens, own = super().count_envelope(fact), fact.dialect == DIALECT_NAME
        if isinstance(fact, Instruction):
            tokens += self.count(texts.instruction_text(fact.role, "")) + (0 if fact.parts else self.left_out)
        elif isinstance(fact, Assistant):
            names = [call.name or texts.UNNAMED if own else safe_name(call.name) for call in fact.calls]
            tokens += sum(map(self.count, names)) + MESSAGE_TOKENS * (fact.order.count("|") if own else 0)
            tokens += 0 if fact.parts or names else self.left_out
        elif isinstance(fact, ToolResult) and own:
            tokens -= self.count((fact.extra or {}).get("name") or "")
        return tokens


class GeminiDialect(Dialect, frozen=True):
    """Contents that are lists of parts, with the system instruction beside them.

    Gemini 3 wants a thought signature on the first call of a step. A turn from another provider gets the signature that
    stands for a missing one; older models ignore it. `strict`: the model is Gemini 3. Then unsigned turns of Gemini's
    own get that signature too, and `violations` reports calls without any.
    """

    name: str = DIALECT_NAME
    strict: bool = False

    usage_fields: ClassVar[UsageFields | None] = USAGE
    tool_format: ClassVar[ToolFormat] = GEMINI_TOOLS

    def required_user_turn(self, turn: Assistant) -> str:
        """`texts.CONTINUE`, because the user must speak last (G6); empty if the turn ends with a part of the provider's
        own tools."""
        return translate.user_turn_after(turn, DIALECT_NAME)

    def user_message(self, text: str) -> Rendered:
        """A content of the user with this text."""
        return render.by_user({"text": text})

    def render_unit(self, unit: Unit) -> list[Rendered]:
        return render.unit_contents(unit, strict=self.strict)

    def join(self, messages: Sequence[Rendered]) -> list[Raw]:
        return render.joined(messages)

    def parse(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        items = message_list(messages, where or "contents")
        return parse.parse([plain(item) for item in items], f"{where}, " if where else "")

    def parse_system(self, value: object) -> list[Instruction]:
        return [parse.instruction(plain(value), "system")]

    def parse_user(self, content: object) -> Fact:
        require_own_parts(content, "user", DIALECT_NAME)
        return User(parts=parse.content(content, "user"), dialect=DIALECT_NAME)

    def parse_tool_result(self, call: str, content: object) -> Fact:
        """Read a function's response: a text, parts, or the object that it is. `call`: the id of the call, or the name
        of its function if it has none."""
        return parse.tool_result(parse.response_parts(content, "tool_result"), call)

    def accumulator(self) -> GeminiAccumulator:
        return GeminiAccumulator()

    def _parse_response(self, reply: object) -> Assistant:
        return parse.parse_response(reply)

    def format_counter(self, counter: TokenCounter) -> FormatCounter:
        return GeminiCounter(counter, self.render_tools)

    def body(self, head: Head, messages: list[Raw], tools: Sequence[Raw] = ()) -> Raw:
        """The body of a request, as `Dialect.body` says: the contents, the tools, and the system instruction if there
        is one."""
        system = render.system(head.messages)
        fields: Raw = {} if system is None else {"systemInstruction": system}
        return {**fields, "contents": messages, **self._tools(tools)}

    def arguments(self, body: Raw) -> Raw:
        """The contents, and everything else in `config`, with keys in snake case, as the SDK takes them."""
        config = {snake(key): value for key, value in body.items() if key != "contents"}
        return {"contents": body["contents"], **({"config": config} if config else {})}

    def violations(self, body: Raw) -> list[Violation]:
        return violations(body, strict=self.strict)


GEMINI = GeminiDialect()
