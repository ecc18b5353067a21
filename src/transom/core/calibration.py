"""Calibration: how many of the provider's tokens there are to one of ours, learned from reported usage.

Each reply moves the ratio a fifth of the way (`STEP`) towards what it reports. Up, every reply may: a smaller window is
always safe. Down, only a reply that is evidence may. Some gateways report only the part of the prompt that they did not
read from a cache, and by such reports a window would grow beyond the model's limit.

A reply is evidence if it says how much was read from the cache, or if nothing could be, because the request shared
nothing with the one before. And the last `REMEMBERED` such replies, `REPORTS` at least, must report about the same
ratio over prompts of different sizes: the part that is not cached would differ.
"""

from __future__ import annotations

from msgspec import Struct

from transom.core.entry import Sent
from transom.core.message import Usage

STEP = 0.2
"""How far one reply moves the ratio towards what it reports."""
FLOOR, CEILING = 0.8, 2.0
REPORTS = 3
"""The ratio does not go down before there are so many replies that are evidence."""
REMEMBERED = 8
"""So many of the newest ones are compared. All of them must agree."""
AGREEMENT = 1.1
"""The highest ratio may be this much above the lowest."""
SIZES = 1.25
"""The largest prompt must be this much above the smallest."""


class Calibration(Struct, frozen=True, gc=False):
    """`ratio`: the provider's tokens for one of ours.

    `reports`: the newest replies that are evidence, each as the tokens that we counted and the ratio that it reported.
    """

    ratio: float = 1.0
    reports: tuple[tuple[int, float], ...] = ()

    def learn(self, sent: Sent, usage: Usage) -> Calibration:
        """With one more reply, to the request `sent`."""
        if not usage.prompt or not sent.tokens:
            return self
        whole = usage.prompt if usage.prompt >= usage.cached else usage.prompt + usage.cached
        seen = whole / sent.tokens
        reports = self.reports
        is_evidence = bool(usage.cached or not sent.shared_tokens)
        if is_evidence:
            reports = (*reports, (sent.tokens, seen))[-REMEMBERED:]
        if seen >= self.ratio:
            goal = min(CEILING, seen)
        elif is_evidence and _agree(reports):
            goal = max(FLOOR, seen)
        else:
            goal = self.ratio
        return Calibration(ratio=self.ratio + STEP * (goal - self.ratio), reports=reports)

    def refused(self, sent: Sent, used: int) -> Calibration:
        """After the request `sent` was refused because it had `used` tokens, which is at once at least the ratio."""
        if not sent.tokens:
            return self
        return Calibration(ratio=max(self.ratio, min(CEILING, used / sent.tokens)), reports=self.reports)


def _agree(reports: tuple[tuple[int, float], ...]) -> bool:
    sizes, ratios = [size for size, _ in reports], [ratio for _, ratio in reports]
    enough = len(reports) >= REPORTS and max(sizes) >= SIZES * min(sizes)
    return enough and max(ratios) <= AGREEMENT * min(ratios)
