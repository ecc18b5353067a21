"""What a fold leaves standing, beside what every window must hold: a compaction pins it out of its own folds.

Each is a keeper (see `core.policy.Keeper`): it names units, the most important first, with the trim that goes with one.
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
from transom.core.message import Assistant, Instruction, User
from transom.core.policy import KeptUnit, Target
from transom.core.tokens import Size
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.text.truncation import shorten, text_spots

SAID = "user messages"


class KeepUsers(Struct, frozen=True, kw_only=True):
    """What the user said (and instructions in the middle), newest first, within min(`tokens`, `fraction` of usable) and
    the same fraction of every other limit.

    The message that crosses the tokens is excerpted, not dropped, if `least` tokens of it still fit. What must be in
    the window anyway is not counted; a message of over `each` tokens goes the way of the rest.
    """

    tokens: int = 20_000
    fraction: float = 0.15
    least: int = 50
    each: int | None = None

    def __call__(self, view: View, target: Target) -> Iterator[KeptUnit]:
        rooms = (int(self.fraction * room) for room in list(target.limit)[1:])
        left = Size(target.budget.share(self.tokens, self.fraction), *rooms)
        for unit in reversed([unit for unit in view.visible_units() if isinstance(unit.head, (User, Instruction))]):
            if unit.key in target.required or (self.each is not None and unit.size.tokens > self.each):
                continue
            if fits(unit.size, left):
                left = left.minus(unit.size)
                yield KeptUnit(unit.key, SAID)
                continue
            fitting = left.tokens >= self.least and left.messages > 0
            if fitting and (trim := _excerpt(view, target, unit, left.tokens)) is not None:
                yield KeptUnit(unit.key, SAID, trim)
            return


def _excerpt(view: View, target: Target, unit: Unit, tokens: int) -> Trim | None:
    """The longest text of a message shortened so that all of it comes to so many tokens."""
    spots = list(text_spots(view, unit, of_results=False))
    if not spots:
        return None
    spot = max(spots, key=lambda spot: spot.shown)
    cap = tokens - (unit.size.tokens - spot.shown)
    if cap <= 0:
        return None
    ref = target.reference(spot.entry)
    keep, note = shorten(spot, cap, target.counter, lambda gone: texts.excerpt(ref, gone), texts.bare(ref))
    return Trim(entry=spot.entry, part=spot.part, keep=keep, note=note, why=SAID)


class KeepTools(Struct, frozen=True):
    """The newest turn that called each of these tools: a todo list, a plan.

    A name is a tool's; "tool:argument" keeps the newest for each value of that argument ("read_file:path"). At most
    `most` turns, each of min(`tokens`, `fraction` of usable) or less.
    """

    names: tuple[str, ...]
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
            turn = unit.head
            if isinstance(turn, Assistant) and not unit.open_calls:
                asked = ((call, argument) for call in turn.calls for argument in wanted.get(call.name, ()))
                keys = {(call.name, argument, _value(call.args, argument)) for call, argument in asked}
                if keys - seen and unit.size.tokens <= each:
                    yield KeptUnit(unit.key, f"newest {', '.join(sorted({name for name, _, _ in keys - seen}))}")
                    seen |= keys


def _value(args: str, name: str) -> str:
    """The value of an argument, as JSON; of no argument, or of arguments that are no object, nothing."""
    try:
        read: Any = json.loads(args) if name else None
    except (ValueError, RecursionError):
        return ""
    return json.dumps(cast("dict[str, Any]", read).get(name)) if isinstance(read, dict) else ""
