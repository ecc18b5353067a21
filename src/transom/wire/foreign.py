"""A fact that came in another dialect, as this one would have said it: content is translated, its wire form is not.

What has no word here becomes a placeholder; reasoning, which only its own provider takes back, is left out.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from transom.core import texts
from transom.core.message import (
    Addressed,
    Assistant,
    Call,
    Fact,
    Instruction,
    Media,
    Other,
    Part,
    Text,
    ToolResult,
)
from transom.core.tokens import Measure, TokenCounter
from transom.wire.arguments import object_text
from transom.wire.media import translated
from transom.wire.naming import PLACE_LABEL, place_label, safe_name


def adopted(fact: Fact, target: str) -> Fact:
    """The fact in the dialect `target`: itself if it came in it. Calls keep their ids: see `placed`."""
    if fact.dialect == target:
        return fact
    parts = _parts(fact, target)
    plain = len(parts) == 1 and isinstance(parts[0], Text)
    shape = "text" if plain or (not parts and not isinstance(fact, Assistant)) else "parts" if parts else "null"
    changed: dict[str, Any] = {"parts": parts, "shape": shape, "extra": None, "dialect": target, "apart": False}
    if isinstance(fact, Assistant):
        changed |= {"reasoning": (), "order": fact.order.replace("r", "")}
        if len(parts) != len(fact.parts):
            changed["order"] = ""
    elif isinstance(fact, ToolResult):
        changed["legacy"] = False
    elif isinstance(fact, Instruction) and target != "responses":
        changed["role"] = "system"
    return cast("Fact", replace(fact, **changed))


def placed(turn: Assistant, key: int) -> tuple[Call, ...]:
    """The calls of another dialect's turn, under the labels of their places."""
    return tuple(Call(place_label(key, i), call.name, call.args) for i, call in enumerate(turn.calls))


def _parts(fact: Fact, target: str) -> tuple[Part, ...]:
    out = [_part(part, fact.dialect, target) for part in fact.parts]
    refusal = fact.extra.get("refusal") if fact.extra and fact.dialect == "" else None
    if isinstance(refusal, str) and refusal:  # chat keeps these words of the model beside its content
        out.append(Text(refusal))
    return tuple(out)


def _part(part: Part, source: str, target: str) -> Part:
    if isinstance(part, Text):
        return Text(part.text)
    if isinstance(part, Media):
        raw = translated(part, source, target)
        return Text(texts.left_out(part.media)) if raw is None else Media(part.media, raw)
    return Text(texts.left_out("part"))


_PLACEHOLDER = 8
"""No placeholder for a part costs more tokens."""


class Adopting(Measure):
    """Counts never less than a dialect sends when it names foreign calls by their places and leaves parts out.

    `objects`: it takes arguments as JSON objects. `name`: of a variant of the dialect, which counts otherwise.
    """

    def __init__(self, counter: TokenCounter, dialect: str, *, objects: bool, name: str = "") -> None:
        super().__init__(counter, dialect, name)
        self._objects = objects

    def part(self, part: Addressed) -> int:
        """As it will be said."""
        if self._objects and isinstance(part, Call):
            return self.count(object_text(part.args))
        tokens = super().part(part)
        return max(_PLACEHOLDER, tokens) if self.dialect and isinstance(part, Other) else tokens

    def envelope(self, fact: Fact) -> int:
        """Of a foreign fact with the longest label there is."""
        tokens, count = super().envelope(fact), self.count
        if fact.dialect == self.dialect:
            return tokens
        place = count(PLACE_LABEL)
        if isinstance(fact, Assistant):
            for call in fact.calls:
                tokens += max(0, place - count(call.id)) + max(0, count(safe_name(call.name)) - count(call.name))
        elif isinstance(fact, ToolResult):
            tokens += max(0, place - count(fact.call))
        return tokens
