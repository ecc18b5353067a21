"""What a provider API is to Transom: how its requests are read, said, counted and checked.

A dialect is one value with pure methods. Facts remember the dialect they came in (`Fact.dialect`): said in that one
they come out as they came; said in another, their content is translated, and what has no word there is a placeholder.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from msgspec import Struct

from transom.core.message import Assistant, Fact, Head, Instruction, Raw
from transom.core.tokens import FormatCounter, TokenCounter
from transom.core.unit import Slot, Unit
from transom.wire.turns import sendable

Placed = tuple[int, Fact]
"""A fact with its position in the list it came from."""


class Violation(Struct, frozen=True):
    """A broken rule, the message that breaks it (-1: the request as a whole, or its tools), and how.

    `rule` is the number in that API's list of rules, or a word where those have none.
    """

    rule: str
    index: int
    why: str


class Dialect(Struct, frozen=True):
    """One provider API. `name` is what callers ask for it by. What is read raises InvalidMessage, naming the place.

    A slot's messages depend on the slot alone.
    """

    name: str

    def nudge(self, turn: Assistant) -> str:  # noqa: ARG002 - a dialect may mind
        """What must be said where a window would end with this turn, which has no calls; empty if it may end so."""
        return ""

    def head(self, head: Head) -> list[Raw]:  # noqa: ARG002 - most have them beside the messages: see `request`
        """The instructions before the conversation, as far as they stand among the messages."""
        return []

    def slot(self, slot: Slot) -> list[Raw]:
        """The messages of one slot: a unit's; or a fold's text, then those of the units pinned out of it."""
        if isinstance(slot, Unit):
            return self.unit(slot)
        return [*sendable([self.words(slot.text)]), *chain.from_iterable(map(self.unit, slot.surfaced_units))]

    def words(self, text: str) -> Raw:
        """Words of our own, as the user says them."""
        return {"role": "user", "content": text}

    def unit(self, unit: Unit) -> list[Raw]:
        """The messages of a unit as they may leave (`sendable`): its head, then the answers as they arrived.

        A call still open gets no answer here: the planner closes calls by facts before a request.
        """
        raise NotImplementedError

    def joined(self, messages: list[Raw]) -> list[Raw]:
        """A window's messages as one list, neighbours joined where the API wants it. It may take the list it is given,
        but not change the messages in it; what comes out for a prefix is a prefix."""
        return messages

    def read(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        """Facts from a request's messages, in order; several may have come in one message. A client library's objects
        are read as the dicts they dump."""
        raise NotImplementedError

    def system(self, value: object) -> list[Instruction]:
        """What stands beside the messages in a request (`system`, `instructions`, `systemInstruction`), or a text."""
        raise NotImplementedError

    def user(self, content: object) -> Fact:
        """What the user says: a text, or this dialect's content parts."""
        raise NotImplementedError

    def result(self, call: str, content: object) -> Fact:
        """A tool's answer to a call: a text, or this dialect's content parts."""
        raise NotImplementedError

    def reply(self, reply: object) -> Assistant:
        """A provider's response (object or dict), or a bare turn of the model, with its usage if that came."""
        raise NotImplementedError

    def measure(self, counter: TokenCounter) -> FormatCounter:
        """How its requests are counted: never less than what is sent."""
        raise NotImplementedError

    def request(self, head: Head, messages: list[Raw]) -> Raw:  # noqa: ARG002 - a dialect may have it there
        """A window's messages under their key of a request, with what stands beside them there."""
        return {"messages": messages}

    def violations(self, request: Raw) -> list[Violation]:
        """Everything in a request that the API would refuse for its shape."""
        raise NotImplementedError
