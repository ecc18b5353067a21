"""Google's Gemini API, generateContent, as Google AI and Vertex offer it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil

from transom import texts
from transom.core.message import Addressed, Assistant, Fact, Head, Instruction, Other, Raw, Text, ToolResult, User
from transom.core.tokens import MESSAGE_TOKENS, REQUEST_TOKENS, FormatCounter, TokenCounter
from transom.core.unit import Unit
from transom.wire import tools as tool_formats
from transom.wire import translate
from transom.wire.dialect import Dialect, Placed, Rendered, Violation
from transom.wire.fields import message_list
from transom.wire.gemini import parse, render
from transom.wire.gemini.keys import NAME, SIGNATURE
from transom.wire.gemini.reply import parse_response, plain
from transom.wire.gemini.rules import violations
from transom.wire.gemini.stream import GeminiAccumulator
from transom.wire.media_tokens import GEMINI as GEMINI_RATES
from transom.wire.stream import from_stream
from transom.wire.tools import rendered_tools
from transom.wire.translate import ToolRenderer
from transom.wire.turns import without_surrogates


class Gemini(Dialect, frozen=True):
    """Contents of parts, the system instruction beside them.

    `sign`: the first call of a turn from elsewhere gets the signature that stands for none, which Gemini 3 wants and
    others do not mind. `strict`: the model is one that takes no call without: so do unsigned turns of Gemini's own,
    and the check says where there is none.
    """

    name: str = NAME
    sign: bool = True
    strict: bool = False

    def required_user_turn(self, turn: Assistant) -> str:
        """A word of the user's (G6), unless the turn ends with what the provider does itself."""
        return translate.user_turn_after(turn, NAME)

    def user_message(self, text: str) -> Rendered:
        return render.by_user({"text": text})

    def render_unit(self, unit: Unit) -> list[Rendered]:
        return without_surrogates(render.unit_contents(unit, sign=self.sign, strict=self.strict))

    def join(self, messages: Sequence[Rendered]) -> list[Raw]:
        return render.joined(messages)

    def parse(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        items = message_list(messages, where or "contents")
        return parse.parse([plain(item) for item in items], f"{where}, " if where else "")

    def parse_system(self, value: object) -> list[Instruction]:
        return [parse.instruction(plain(value), "system")]

    def parse_user(self, content: object) -> Fact:
        return User(parts=parse.content(content, "user"), dialect=NAME)

    def parse_tool_result(self, call: str, content: object) -> Fact:
        """A function's response: a text, parts, or the object it is. A call without an id is named by its function."""
        return parse.answered(parse.responded(content, "tool_result"), call)

    def accumulator(self) -> GeminiAccumulator:
        return GeminiAccumulator()

    def parse_reply(self, reply: object) -> Assistant:
        given = from_stream(reply, self.accumulator())
        return given if isinstance(given, Assistant) else parse_response(given)

    def format_counter(self, counter: TokenCounter) -> FormatCounter:
        return _FormatCounter(counter, self.render_tools)

    def render_tools(self, tools: Sequence[Raw]) -> list[Raw]:
        return rendered_tools(tools, tool_formats.GEMINI)

    def body(self, head: Head, messages: list[Raw], tools: Sequence[Raw] = ()) -> Raw:
        """The contents, and the system instruction if there is any."""
        system = render.system(head.messages)
        fields: Raw = {} if system is None else {"systemInstruction": system}
        return {**fields, "contents": messages, **self._tools(tools)}

    def arguments(self, body: Raw) -> Raw:
        """The SDK takes the contents, and everything else in a `config` whose keys are in snake case."""
        config = {_snake(key): value for key, value in body.items() if key != "contents"}
        return {"contents": body["contents"], **({"config": config} if config else {})}

    def violations(self, body: Raw) -> list[Violation]:
        return violations(body, strict=self.strict)


def _snake(key: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", key)


class _FormatCounter(translate.DialectCounter):
    """A request may need a word of the user's before its first call; a response says the name of its call again, and is
    counted with it."""

    rates = GEMINI_RATES

    def __init__(self, counter: TokenCounter, tools: ToolRenderer) -> None:
        super().__init__(counter, NAME, objects=True, tools=tools)
        self.request = REQUEST_TOKENS + MESSAGE_TOKENS + self.count(texts.CONTINUE)

    def image(self, width: int, height: int) -> int:
        """258 for each tile of 768 by 768 (D); of no image more than 16: a header may say anything."""
        return 258 * min(16, ceil(width / 768) * ceil(height / 768))

    def count_part(self, part: Addressed) -> int:
        """Signatures are no text; a text that is empty may need a word in its place."""
        if isinstance(part, Other):
            part = Other({key: value for key, value in part.raw.items() if key not in SIGNATURE})
        tokens = super().count_part(part)
        return max(tokens, self.left_out) if isinstance(part, Text) and not part.text else tokens

    def count_envelope(self, fact: Fact) -> int:
        """With what is said of calls in their responses, and of roles that this API does not know."""
        tokens, own = super().count_envelope(fact), fact.dialect == NAME
        if isinstance(fact, Instruction):
            tokens += self.count(texts.instruction_text(fact.role, "")) + (0 if fact.parts else self.left_out)
        elif isinstance(fact, Assistant):
            names = [call.name or texts.UNNAMED if own else translate.safe_name(call.name) for call in fact.calls]
            tokens += sum(map(self.count, names)) + MESSAGE_TOKENS * (fact.order.count("|") if own else 0)
            tokens += 0 if fact.parts or names else self.left_out
        elif isinstance(fact, ToolResult) and own:
            tokens -= self.count((fact.extra or {}).get("name") or "")
        return tokens


GEMINI = Gemini()
