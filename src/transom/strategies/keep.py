"""Keep rules: they name the units that a compaction protects, beside those that every window has.

A keep rule (see `core.policy.KeepRule`) yields a `KeptUnit` for each of them, the most important first. A `KeptUnit`
may have a trim, which makes its unit smaller.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from transom.core.budget import UNLIMITED, fits
from transom.core.edit import Trim
from transom.core.message import Assistant, Instruction, Text, User
from transom.core.policy import KeptUnit, Target
from transom.core.ranges import Count, Share
from transom.core.tokens import ZERO, Size
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.record.index import Index
from transom.strategies.text.shown_parts import shown_parts
from transom.strategies.text.terms import signal_count
from transom.strategies.text.truncation import excerpt

USER_MESSAGES = "user messages"
"""Why `KeepUsers` keeps a unit."""

RECENT_UNITS = 6
"""The newest units, whose names tell what the conversation works on."""

SCORE_OF_SHARED_NAME = 2.0
"""What each name that the newest turns use too adds to the score of a unit."""

MOST_SHARED_NAMES = 3
"""How many such names count."""

LEAST_SIZE = 40
"""Tokens that a unit counts at least, where scores per token are compared: a short one says little."""

LARGE_RESULTS = 1_000
"""A unit with more tokens of results is mostly material, so its score falls."""


class KeepUsers(Struct, frozen=True, kw_only=True):
    """Protects the user's messages, and instructions between them, the newest first.

    Together they may have min(`tokens`, `fraction` of the usable tokens), and the same fraction of every other limit.
    The first message that does not fit is shortened to an excerpt if at least `least` tokens are left for it; older
    messages are not protected. A message of more than `each` tokens is passed over; None: none is. Messages that every
    window has are not counted.
    """

    tokens: Count = 20_000
    fraction: Share = 0.15
    least: Count = 50
    each: Count | None = None

    def __call__(self, view: View, target: Target) -> Iterator[KeptUnit]:
        other_limits = (int(self.fraction * limit) for limit in list(target.limit)[1:])
        left = Size(target.budget.share(self.tokens, self.fraction), *other_limits)
        messages = [unit for unit in view.visible_units() if unit.by_user or isinstance(unit.first_fact, Instruction)]
        for unit in reversed(messages):
            if unit.key in target.required or (self.each is not None and unit.size.tokens > self.each):
                continue
            if fits(unit.size, left):
                left = left.minus(unit.size)
                yield KeptUnit(unit.key, USER_MESSAGES)
                continue
            if left.tokens >= self.least and left.messages > 0:
                trim = _excerpt(view, target, unit, left.tokens)
                if trim is not None:
                    yield KeptUnit(unit.key, USER_MESSAGES, trim)
            return


class KeepBest(Struct, frozen=True, kw_only=True):
    """Protects the units with the best scores, in the share `share` of what the goal leaves beside the units that must
    stay. The newest unit, which no fold takes, is not one of them.

    Half of the share goes to the `newest` newest units, as far as they fit; the rest to the units that have points, by
    score per token. A unit that does not fit is passed over.

    A unit gets a point for each name, number, request or prohibition in its author's own words. If it is older than the
    six newest, it gets two for each name that it shares with them, for three names at most. Requests and prohibitions
    are found in English only. The score falls with the age of the unit, and if its results have more than 1,000 tokens.
    """

    share: Share = 0.5
    newest: Count = 10

    def __call__(self, view: View, target: Target) -> Iterator[KeptUnit]:
        units = [
            unit for unit in view.visible_units() if unit.key < target.newest_unit and unit.key not in target.required
        ]
        index = Index.of(view, target.budget.usable, target.indexes)
        names = [frozenset[str]().union(*(index.at(view, seq).names for seq in unit.seqs)) for unit in units]
        recent = frozenset[str]().union(*names[-RECENT_UNITS:])
        scores = dict[int, float]()
        for at, unit in enumerate(units):
            shared = len(recent & names[at]) if at < len(units) - RECENT_UNITS else 0  # not with themselves
            score = _own_score(unit) + SCORE_OF_SHARED_NAME * min(MOST_SHARED_NAMES, shared)
            results = sum(sum(entry.tokens) for entry in view.entries_of(unit)[1:])
            scores[unit.key] = score * min(1.0, LARGE_RESULTS / max(1, results)) * (0.5 + at / len(units))
        best = [unit for unit in units if scores[unit.key]]
        best.sort(key=lambda unit: (-scores[unit.key] / max(LEAST_SIZE, unit.size.tokens), -unit.key))
        room = [max(0, goal - fixed) * self.share for goal, fixed in zip(target.goal, target.fixed_size, strict=True)]
        half, whole, used = Size(*(int(part / 2) for part in room)), Size(*map(int, room)), ZERO
        kept = set[int]()
        newest = ((unit, half, "newest") for unit in units[: -self.newest - 1 : -1])
        for unit, most, why in (*newest, *((unit, whole, f"score {scores[unit.key]:.1f}") for unit in best)):
            if unit.key not in kept and fits(used.plus(unit.size), most):
                used = used.plus(unit.size)
                kept.add(unit.key)
                yield KeptUnit(unit.key, why)


def _own_score(unit: Unit) -> int:
    """Count the names, numbers, requests and prohibitions in the words of a unit's author."""
    fact = unit.first_fact
    parts = fact.parts if isinstance(fact, (User, Instruction, Assistant)) else ()
    return sum(signal_count(part.text) for part in parts if isinstance(part, Text))


def _excerpt(view: View, target: Target, unit: Unit, tokens: int) -> Trim | None:
    """The trim of the longest text of a message that brings the message down to this many tokens; None if none does."""
    parts = list(shown_parts(view, unit, "text"))
    if not parts:
        return None
    part = max(parts, key=lambda part: part.shown_tokens)
    most = tokens - (unit.size.tokens - part.shown_tokens)
    if most <= 0:
        return None
    return replace(excerpt(target, part, most), why=USER_MESSAGES)


class KeepTools(Struct, frozen=True):
    """Protects, for each of some tools, the newest turn that called it: for example the newest todo list. At most
    `most` turns are protected, the newest ones.

    `names`: the names of the tools; or "tool:argument", such as "read_file:path", which protects the newest turn for
    each value of that argument. A turn of more than min(`tokens`, `fraction` of the usable tokens) is passed over, and
    so is a turn with calls that have no result yet: then the next older turn with a call of that tool is protected.
    """

    names: tuple[str, ...]
    """The names of tools; or "tool:argument", such as "read_file:path", which protects the newest turn for each value
    of that argument."""
    most: Count = UNLIMITED
    tokens: Count = UNLIMITED
    fraction: Share = 1.0

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
    """The value of the argument `name`, as JSON; empty without a name, or if the arguments are no JSON object."""
    try:
        read: Any = json.loads(args) if name else None
    except (ValueError, RecursionError):
        return ""
    return json.dumps(cast("dict[str, Any]", read).get(name)) if isinstance(read, dict) else ""
