"""Keep rules: they name the units that a compaction protects, beside those that every window has.

A keep rule (see `core.policy.KeepRule`) names the most important unit first, with a trim that makes it smaller if it
needs one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from msgspec import Struct

from transom import texts
from transom.core.budget import UNLIMITED, fits
from transom.core.edit import Trim
from transom.core.message import Assistant, Instruction
from transom.core.policy import KeptUnit, Target
from transom.core.tokens import Size
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.text.parts import shown_parts
from transom.strategies.text.truncation import shorten

WHY = "user messages"


class KeepUsers(Struct, frozen=True, kw_only=True):
    """Protects the user's messages (and instructions in the middle), newest first, within min(`tokens`, `fraction` of
    the usable tokens) and the same fraction of every other limit.

    The message that would exceed the tokens is excerpted if `least` tokens are left for it. A message of over `each`
    tokens is not protected. Messages that every window has are not counted.
    """

    tokens: int = 20_000
    fraction: float = 0.15
    least: int = 50
    each: int | None = None

    def __call__(self, view: View, target: Target) -> Iterator[KeptUnit]:
        other_limits = (int(self.fraction * limit) for limit in list(target.limit)[1:])
        left = Size(target.budget.share(self.tokens, self.fraction), *other_limits)
        messages = [unit for unit in view.visible_units() if unit.by_user or isinstance(unit.first_fact, Instruction)]
        for unit in reversed(messages):
            if unit.key in target.required or (self.each is not None and unit.size.tokens > self.each):
                continue
            if fits(unit.size, left):
                left = left.minus(unit.size)
                yield KeptUnit(unit.key, WHY)
                continue
            if left.tokens >= self.least and left.messages > 0:
                trim = _excerpt(view, target, unit, left.tokens)
                if trim is not None:
                    yield KeptUnit(unit.key, WHY, trim)
            return


def _excerpt(view: View, target: Target, unit: Unit, tokens: int) -> Trim | None:
    """The trim of the longest text of a message that brings the whole message down to this many tokens."""
    parts = list(shown_parts(view, unit, "text"))
    if not parts:
        return None
    part = max(parts, key=lambda part: part.shown_tokens)
    most = tokens - (unit.size.tokens - part.shown_tokens)
    if most <= 0:
        return None
    reference = target.reference(part.entry)
    keep, note = shorten(
        part,
        most,
        target.counter,
        lambda removed: texts.excerpt_marker(reference, removed),
        texts.bare_marker(reference),
    )
    return Trim(entry=part.entry, part=part.part, keep=keep, note=note, why=WHY)


class KeepTools(Struct, frozen=True):
    """Protects the newest turn that called each of these tools: a todo list, a plan.

    A name is a tool's; "tool:argument" protects the newest turn for each value of that argument ("read_file:path"). At
    most `most` turns, none of over min(`tokens`, `fraction` of the usable tokens).
    """

    names: tuple[str, ...]
    """Tools, or "tool:argument"."""
    most: int = UNLIMITED
    tokens: int = UNLIMITED
    fraction: float = 1.0

    def __call__(self, view: View, target: Target) -> Iterator[KeptUnit]:
        return islice(self._newest(view, target.budget.share(self.tokens, self.fraction)), self.most)

    def _newest(self, view: View, each: int) -> Iterator[KeptUnit]:
        seen: set[tuple[str, str, str]] = set()
        wanted: dict[str, list[str]] = {}
        for tool, _, argument in (name.partition(":") for name in self.names):
            wanted.setdefault(tool, []).append(argument)
        for unit in reversed(list(view.visible_units())):
            turn = unit.first_fact
            if isinstance(turn, Assistant) and not unit.open_calls:
                pairs = ((call, argument) for call in turn.calls for argument in wanted.get(call.name, ()))
                keys = {(call.name, argument, _value(call.args, argument)) for call, argument in pairs}
                if keys - seen and unit.size.tokens <= each:
                    yield KeptUnit(unit.key, f"newest {', '.join(sorted({name for name, _, _ in keys - seen}))}")
                    seen |= keys


def _value(args: str, name: str) -> str:
    """The value of an argument, as JSON; empty without an argument, or if the arguments are not an object."""
    try:
        read: Any = json.loads(args) if name else None
    except (ValueError, RecursionError):
        return ""
    return json.dumps(cast("dict[str, Any]", read).get(name)) if isinstance(read, dict) else ""
