"""What Transom needs to know of a provider API: how to read, render, count and check its requests.

A dialect is one value whose methods are pure. A fact remembers the dialect it was read in (`Fact.dialect`). Rendered in
that dialect, it comes out as it came in. Rendered in another one, its content is translated; content that the other
API cannot express becomes a placeholder text.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from msgspec import Struct

from transom.core.message import Assistant, Fact, Head, Instruction, Raw
from transom.core.tokens import FormatCounter, TokenCounter
from transom.core.unit import Folded, Slot, Unit
from transom.wire.stream import Accumulator
from transom.wire.tools import CHAT, rendered_tools
from transom.wire.turns import Rendered, without_surrogates
from transom.wire.violations import Violation

__all__ = ["Dialect", "Placed", "Rendered", "Violation"]

Placed = tuple[int, Fact]
"""A fact with its position in the list it came from."""


class Dialect(Struct, frozen=True):
    """One provider API, under the `name` that callers use.

    The `parse` methods raise InvalidMessage, which names the place of the error. What a slot renders to depends on that
    slot alone, so that the messages of an unchanged slot never change. `digest_role`: the role of the message that
    stands for folded turns, one of `digest_roles`.
    """

    name: str
    digest_role: str = "user"

    @property
    def digest_roles(self) -> tuple[str, ...]:
        """The roles that the API allows for a text of ours among the messages."""
        return ("user",)

    # ---- reading

    def parse(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        """Facts from a request's messages, in order. One message may hold several facts.

        A message is a dict, or an object of a client library.
        """
        raise NotImplementedError

    def parse_system(self, value: object) -> list[Instruction]:
        """What a request holds beside its messages (`system`, `instructions`, `systemInstruction`), or a text."""
        raise NotImplementedError

    def parse_user(self, content: object) -> Fact:
        """A user message: a text, or a list of this dialect's content parts."""
        raise NotImplementedError

    def parse_tool_result(self, call: str, content: object) -> Fact:
        """A tool's answer to the call with this id: a text, or a list of this dialect's content parts."""
        raise NotImplementedError

    def parse_reply(self, reply: object) -> Assistant:
        """A provider's response (object or dict), or the model's message alone. Usage is read if it is there."""
        raise NotImplementedError

    def accumulator(self) -> Accumulator:
        """Collects the chunks of a streamed reply."""
        raise NotImplementedError

    # ---- rendering

    def render_head(self, head: Head) -> list[Rendered]:  # noqa: ARG002 - most APIs take them beside the messages
        """The instructions that stand among the messages, before the conversation; see `body` for the others."""
        return []

    def render_slot(self, slot: Slot) -> list[Rendered]:
        """The messages of a unit, or of a fold: its text, then the units that are pinned out of it."""
        if isinstance(slot, Unit):
            return self.render_unit(slot)
        text = without_surrogates([self.digest_message(slot)])
        return [*text, *chain.from_iterable(map(self.render_unit, slot.surfaced_units))]

    def user_message(self, text: str) -> Rendered:
        """A user message with a text of our own, such as the text of a fold."""
        return Rendered({"role": "user", "content": text})

    def digest_message(self, fold: Folded) -> Rendered:
        """The message with the text of a fold. A fold that carries required messages is always the user's."""
        if self.digest_role == "user" or fold.carries:
            return self.user_message(fold.text)
        return Rendered({"role": self.digest_role, "content": fold.text})

    def render_unit(self, unit: Unit) -> list[Rendered]:
        """The messages of a unit: its head, then the results of its calls in the order they arrived.

        A call that is still open gets no result here: the planner closes open calls before a request.
        """
        raise NotImplementedError

    def join(self, messages: Sequence[Rendered]) -> list[Raw]:
        """The messages of a window as one list; some APIs want neighbours of one role as one message.

        The given messages must not be changed. The result for a prefix is a prefix of the result.
        """
        return [rendered.message for rendered in messages]

    def required_user_turn(self, turn: Assistant) -> str:  # noqa: ARG002 - a dialect may need it
        """The text of the user message that must follow this turn (it has no calls) at the end of a window; "" if
        none must."""
        return ""

    # ---- requests

    def render_tools(self, tools: Sequence[Raw]) -> list[Raw]:
        """Tool schemas as the API takes them. One in its own format stays as it is, byte for byte; one in another
        format, or neutral (`Tool.schema`), is translated; a provider's own tool stays as it is."""
        return rendered_tools(tools, CHAT)

    def body(self, head: Head, messages: list[Raw], tools: Sequence[Raw] = ()) -> Raw:  # noqa: ARG002 - for others
        """What a request's body holds of the conversation: a window's messages, the head, and the tools if any."""
        return {"messages": messages, **self._tools(tools)}

    def _tools(self, tools: Sequence[Raw]) -> Raw:
        """The tools of a request's body: no key at all without tools, since APIs refuse an empty list."""
        return {"tools": self.render_tools(tools)} if tools else {}

    def arguments(self, body: Raw) -> Raw:
        """A body as the keyword arguments of the provider's SDK."""
        return body

    def violations(self, body: Raw) -> list[Violation]:
        """Every rule of the API about the shape of requests that a body breaks."""
        raise NotImplementedError

    def format_counter(self, counter: TokenCounter) -> FormatCounter:
        """How requests are counted with this tokenizer: never less than what is sent."""
        raise NotImplementedError
