"""Facts of another dialect in this one: their content is translated, their wire form is dropped.

Content that this dialect cannot express becomes a placeholder text. Reasoning is left out: only its own provider takes
it back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

from msgspec.structs import replace

from transom import texts
from transom.core import message as m
from transom.core.message import Assistant, Call, Fact, Raw, Text
from transom.core.pairing import call_labels
from transom.core.tokens import FormatCounter, TokenCounter
from transom.core.unit import Unit
from transom.wire.arguments import object_text
from transom.wire.media import pixels, translate_media
from transom.wire.media_tokens import LOW_DETAIL, OPENAI, file_tokens, is_low_detail

Takes = Callable[[str], object]
"""Whether an API takes a label as the id of a call."""

ToolRenderer = Callable[[Sequence[Raw]], list[Raw]]

_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")

PLACE_LABEL = "call_999999999_99"
"""The longest id we can generate; counted while the real one is not known."""


@lru_cache(maxsize=1024)
def safe_name(name: str) -> str:
    """A name of at most 64 letters, digits, _ and -, the same for the same name."""
    return _REFUSED.sub("_", name)[:64] or texts.UNNAMED


def translate_fact(fact: Fact, target: str) -> Fact:
    """The fact in the dialect `target`; the same object if it is in it already. Calls keep their ids: `unique_calls`
    gives those under which they are sent."""
    if fact.dialect == target:
        return fact
    parts = _parts(fact, target)
    plain = len(parts) == 1 and isinstance(parts[0], Text)
    shape = "text" if plain or (not parts and not isinstance(fact, Assistant)) else "parts" if parts else "null"
    changed: dict[str, Any] = {"parts": parts, "shape": shape, "extra": None, "dialect": target, "separate": False}
    if isinstance(fact, Assistant):
        order = "".join(letter for letter in fact.order if letter in "pc")
        changed |= {"reasoning": (), "order": order if len(parts) == len(fact.parts) else ""}
    elif isinstance(fact, m.ToolResult):
        changed["legacy"] = False
    elif isinstance(fact, m.Instruction) and target not in {"openai", "responses"}:  # only OpenAI's know developers
        changed["role"] = "system"
    return cast("Fact", replace(fact, **changed))


def user_turn_after(turn: Assistant, target: str) -> str:
    """The text of the user message after a turn that may not be the last. It is empty if the turn is in the target
    dialect and ends with a part of that provider's own tools."""
    own = turn.dialect == target and turn.parts and isinstance(turn.parts[-1], m.Other)
    return "" if own and (turn.order or "p")[-1] == "p" else texts.CONTINUE


def unique_calls(unit: Unit, turn: Assistant, takes: Takes | None = None) -> tuple[Call, ...]:
    """The calls of a unit's turn, each under an id that is unique in the turn.

    `turn` is the unit's head as this dialect has it. Calls of another dialect get ids made of their places and names
    that every API takes. The dialect's own calls keep an id that the API `takes` (None: it takes every id).
    """
    if unit.head.dialect != turn.dialect:
        return tuple(Call(f"call_{unit.key}_{i}", safe_name(c.name), c.args) for i, c in enumerate(turn.calls))
    known = turn.calls if takes is None else [c if takes(c.id) else replace(c, id="") for c in turn.calls]
    names = call_labels(known, unit.key)
    if [call.id for call in turn.calls] == [*names]:
        return turn.calls  # nearly always
    pairs = zip(turn.calls, names, strict=True)
    return tuple([call if call.id == label else replace(call, id=label) for call, label in pairs])


def _parts(fact: Fact, target: str) -> tuple[m.Part, ...]:
    out = [_part(part, fact.dialect, target) for part in fact.parts]
    refusal = fact.extra.get("refusal") if fact.extra and fact.dialect == "openai" else None
    if isinstance(refusal, str) and refusal:  # chat keeps these words of the model beside its content
        out.append(Text(refusal))
    return tuple(out)


def _part(part: m.Part, source: str, target: str) -> m.Part:
    if isinstance(part, Text):
        return Text(part.text)
    if isinstance(part, m.Media):
        raw = translate_media(part, source, target)
        return Text(texts.left_out_marker(part.media)) if raw is None else m.Media(part.media, raw)
    return Text(texts.left_out_marker("part"))


_OPENAI = frozenset({"openai", "responses"})
"""Dialects with a `detail` on images."""


class DialectCounter(FormatCounter):
    """Counts never less than a dialect sends: it names foreign calls by their places, and leaves foreign parts out.

    `objects`: the API takes arguments as JSON objects. `tools` renders tool schemas. `takes`: whether the API takes the
    id of a call of its own (None: it takes all). `name`: of a variant of the dialect that counts in another way.
    """

    def __init__(
        self,
        counter: TokenCounter,
        dialect: str,
        *,
        objects: bool,
        tools: ToolRenderer,
        takes: Takes | None = None,
        name: str = "",
    ) -> None:
        super().__init__(counter, dialect, name)
        self._render_tools = tools
        self._objects, self._takes, self.place = objects, takes, self.count(PLACE_LABEL)
        self.left_out = self.count(texts.left_out_marker("image"))
        """No placeholder for a part costs more."""

    rates = OPENAI
    """What a page of a PDF and a second of sound or film cost."""

    def count_tools(self, tools: Sequence[Raw]) -> int:
        """Tool schemas as they are rendered, each as compact JSON."""
        return super().count_tools(self._render_tools(tools))

    def image(self, width: int, height: int) -> int:  # noqa: ARG002 - a dialect may mind
        """What an image of this size in pixels costs. The flat 1,000 counts if that is more."""
        return 0

    def count_part(self, part: m.Addressed) -> int:
        """As it will be said."""
        if isinstance(part, Text):
            return self.count(part.text)
        if isinstance(part, Call):
            return self.count(object_text(part.args) if self._objects else part.args)
        if isinstance(part, m.Media) and part.media == "file":
            return max(self.left_out, file_tokens(part, self.rates))
        tokens = super().count_part(part)
        if self.dialect in _OPENAI and isinstance(part, m.Media) and is_low_detail(part):
            return LOW_DETAIL
        if self.dialect != "openai" and isinstance(part, m.Media) and part.media == "image" and (size := pixels(part)):
            return max(tokens, self.image(*size))
        return max(self.left_out, tokens) if isinstance(part, m.Other) else tokens

    def count_envelope(self, fact: Fact) -> int:
        """With the longest id there is for a call whose id will be replaced."""
        tokens, count, own, takes = super().count_envelope(fact), self.count, fact.dialect == self.dialect, self._takes
        if own and takes is None:
            return tokens
        ids = [call.id for call in fact.calls] if isinstance(fact, Assistant) else []
        if isinstance(fact, m.ToolResult):
            ids.append(fact.call)
        for label in ids:
            tokens += 0 if own and takes is not None and takes(label) else max(0, self.place - count(label))
        if isinstance(fact, Assistant) and not own:
            tokens += sum(max(0, count(safe_name(call.name)) - count(call.name)) for call in fact.calls)
        return tokens
