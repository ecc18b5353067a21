"""Observation masking: the oldest tool results become one line each, many at a time."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom import texts
from transom.core.edit import Edit
from transom.core.policy import Target
from transom.core.view import View
from transom.strategies.observations import Observation, Replacement, batch, observations
from transom.strategies.text.stubs import outcome


class Mask(Struct, frozen=True, kw_only=True):
    """Shows results older than the `last` ones as one line (SWE-agent). Images stay; `DropMedia` is for them.

    The border between old and new moves `polling` results at a time (SWE-agent's word), so that the prefix stays cached
    in between. The `first` results stay, and those of `tools`.
    """

    last: int = 5
    polling: int = 10
    first: int = 1
    tools: frozenset[str] = frozenset()

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        found = list(observations(view, target))
        stop = len(found) // max(1, self.polling) * self.polling - self.last
        yield from batch(view, target, self._masks(target, found[self.first : max(stop, 0)]), 0.0, "mask")

    def _masks(self, target: Target, old: list[Observation]) -> Iterator[Replacement]:
        for one in old:
            if one.free and one.call.name not in self.tools:
                reference = target.reference(one.entry)
                for part in one.parts:
                    lines = part.text.count("\n") + 1
                    yield (
                        one.unit,
                        part,
                        texts.masked_marker(reference, one.call.name, lines, outcome(one.result, one.call.name)),
                    )
