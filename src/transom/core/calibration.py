"""Calibration: how many of the provider's tokens there are to one of ours, learned from reported usage.

A reply teaches at once that tokens are dearer than we count: a smaller window is always safe. That they are cheaper
needs evidence, because some gateways report only the part of the prompt that they did not read from a cache, and then a
window would grow beyond the model's limit. Three things are evidence together: the report says how much was read from
the cache (or nothing could be, because the request shared nothing with the one before); several reports agree; and they
agree over prompts of different sizes, where the part that is not cached would differ.
"""

from __future__ import annotations

from msgspec import Struct

from transom.core.entry import Sent
from transom.core.message import Usage

STEP = 0.2
"""How far one reply moves the ratio towards what it reports."""
FLOOR, CEILING = 0.8, 2.0
REPORTS = 3
"""So many reports must agree before the ratio goes down."""
REMEMBERED = 8
AGREEMENT = 1.1
"""The highest ratio may be this much above the lowest."""
SIZES = 1.25
"""The largest prompt must be this much above the smallest."""


class Calibration(Struct, frozen=True, gc=False):
    """`ratio`: the provider's tokens for one of ours. `reports`: of the newest replies that may teach a lower ratio,
    the tokens that we counted, and the ratio that was reported."""

    ratio: float = 1.0
    reports: tuple[tuple[int, float], ...] = ()

    def learn(self, sent: Sent, usage: Usage) -> Calibration:
        """With one more reply, to the request `sent`."""
        if not usage.prompt or not sent.tokens:
            return self
        whole = usage.prompt if usage.prompt >= usage.cached else usage.prompt + usage.cached
        seen = whole / sent.tokens
        reports = self.reports
        if usage.cached or not sent.shared_tokens:
            reports = (*reports, (sent.tokens, seen))[-REMEMBERED:]
        if seen >= self.ratio:
            goal = min(CEILING, seen)
        elif _agree(reports):
            goal = max(FLOOR, seen)
        else:
            goal = self.ratio
        return Calibration(ratio=self.ratio + STEP * (goal - self.ratio), reports=reports)


def _agree(reports: tuple[tuple[int, float], ...]) -> bool:
    sizes, ratios = [size for size, _ in reports], [ratio for _, ratio in reports]
    enough = len(reports) >= REPORTS and max(sizes) >= SIZES * min(sizes)
    return enough and max(ratios) <= AGREEMENT * min(ratios)
