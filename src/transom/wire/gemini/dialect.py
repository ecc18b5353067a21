"""Google's Gemini API, generateContent, as Google AI and Vertex offer it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from transom.core.message import Assistant, Fact, Head, Instruction, Raw, ToolResult, User
from transom.core.tokens import Measure, TokenCounter
from transom.core.unit import Slot
from transom.wire import foreign
from transom.wire.dialect import Placed, Violation
from transom.wire.gemini import parse, render
from transom.wire.gemini.measure import GeminiMeasure
from transom.wire.gemini.reply import parse_reply, plain
from transom.wire.gemini.rules import violations
from transom.wire.gemini.words import NAME
from transom.wire.reading import listed
from transom.wire.saying import messages_of


class Gemini(Struct, frozen=True):
    """The dialect (see `wire.dialect.Dialect`): contents of parts, the system instruction beside them.

    `sign`: the first call of a turn from elsewhere gets the signature that stands for none, which Gemini 3 wants and
    others do not mind. `strict`: the model is one that takes no call without: so do unsigned turns of Gemini's own,
    and the check says where there is none.
    """

    name: str = NAME
    sign: bool = True
    strict: bool = False

    def nudge(self, turn: Assistant) -> str:
        """A word of the user's (G6), unless the turn ends with what the provider does itself."""
        return foreign.nudge(turn, NAME)

    def head(self, head: Head) -> list[Raw]:  # noqa: ARG002 - see `request`
        return []

    def slot(self, slot: Slot) -> list[Raw]:
        unit = partial(render.unit_contents, sign=self.sign, strict=self.strict)
        return messages_of(slot, lambda text: render.by_user({"text": text}), unit)

    def joined(self, messages: list[Raw]) -> list[Raw]:
        return render.joined(messages)

    def read(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        """The facts in a request's `contents`; a client library's objects are read as the dicts they dump."""
        items = listed(messages, where or "contents")
        return parse.parse([plain(item) for item in items], f"{where}, " if where else "")

    def system(self, value: object) -> list[Instruction]:
        """A text, or the `systemInstruction` of a request."""
        return [parse.instruction(plain(value), "system")]

    def user(self, content: object) -> Fact:
        return User(parts=parse.content(content, "user"), dialect=NAME)

    def result(self, call: str, content: object) -> Fact:
        """A function's response: a text, parts, or the object it is. A call without an id is named by its function."""
        return ToolResult(call=call, parts=parse.responded(content, "tool_result"), dialect=NAME)

    def reply(self, reply: object) -> Assistant:
        return parse_reply(reply)

    def measure(self, counter: TokenCounter) -> Measure:
        return GeminiMeasure(counter)

    def request(self, head: Head, messages: list[Raw]) -> Raw:
        """The contents, and the system instruction if there is any."""
        system = render.system(head.messages)
        return {"contents": messages} if system is None else {"systemInstruction": system, "contents": messages}

    def violations(self, request: Raw) -> list[Violation]:
        return violations(request, strict=self.strict)


GEMINI = Gemini()
