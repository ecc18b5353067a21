"""A list of items to facts.

The items of the model that follow one another (reasoning, messages, calls, what it did with built-in tools and what
those gave back) are one turn, which remembers their order; a message of anybody else or the answer to a call ends it.
"""

from __future__ import annotations

from collections.abc import Sequence

from transom.core.message import Assistant, Call, Part, Raw, Reasoning, Text
from transom.wire.dialect import Placed
from transom.wire.openai_responses import parse
from transom.wire.openai_responses.items import CALLS, NAME, OUTPUTS, SAID, Group, kept

_ANSWERS = frozenset(OUTPUTS.values())


def read(items: Sequence[object], prefix: str = "") -> list[Placed]:
    """The facts of a list of items, each with the index of its first item. Raises InvalidMessage, naming the item."""
    out: list[Placed] = []
    turn: _Turn | None = None
    for at, item in enumerate(items):
        where = f"{prefix}item {at}"
        kind, fields = parse.fields_of(item, where)
        speaker = parse.role(fields, where) if kind == "message" else ""
        if speaker == "assistant" or not (speaker or _ends(kind, fields, turn)):
            turn = turn or _Turn(at)
            turn.add(kind, fields, where)
            continue
        if turn is not None:
            out.append((turn.at, turn.fact()))
            turn = None
        if speaker:
            out.append((at, parse.message(speaker, fields, where)))
        elif kind in _ANSWERS:
            out.append((at, parse.output(kind, fields, where)))
        else:
            out.append((at, parse.more_tools(fields)))
    return out if turn is None else [*out, (turn.at, turn.fact())]


class _Turn:
    """A turn in the making, from the item at `at` on."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.own: set[object] = set()
        """The call ids of searches for tools: an output may answer one of them, and is the turn's too."""
        self._parts: list[Part] = []
        self._calls: list[Call] = []
        self._reasoning: list[Reasoning] = []
        self._groups: list[Group] = []
        self._order = ""

    def add(self, kind: str, fields: Raw, where: str) -> None:
        """One more item."""
        if kind == "reasoning":
            self._reasoning.append(parse.thought(fields, where))
            self._order += "r"
        elif kind in CALLS:
            self._calls.append(parse.call(kind, fields, where))
            self._order += "c"
        elif kind == "message":
            parts, shape = parse.content(fields, "content", where, SAID)
            stood = shape if parts or shape != "parts" else "empty"
            self._say(parts or (Text(""),), Group(len(parts) or 1, stood, fields or None))
        else:
            if kind == "tool_search_call":
                self.own.add(fields.get("call_id"))
            self._say((parse.built_in(kind, fields),), Group(shape="item"))

    def fact(self) -> Assistant:
        """The turn."""
        only = self._groups[0].shape if len(self._groups) == 1 else "parts"
        shape = "absent" if not self._groups else "text" if only == "text" else "parts"
        regular = "".join(sorted(self._order, key="rpc".index))
        return Assistant(
            parts=tuple(self._parts),
            shape=shape,
            calls=tuple(self._calls),
            reasoning=tuple(self._reasoning),
            order="" if self._order == regular else self._order,
            extra=kept(self._groups),
            dialect=NAME,
        )

    def _say(self, parts: tuple[Part, ...], group: Group) -> None:
        self._parts.extend(parts)
        self._order += "p" * len(parts)
        self._groups.append(group)


def _ends(kind: str, fields: Raw, turn: _Turn | None) -> bool:
    """Whether an item that is no message stands outside the model's turn."""
    if kind in _ANSWERS:
        label = fields.get("call_id")
        return turn is None or not isinstance(label, str) or label not in turn.own
    return kind == "additional_tools"
