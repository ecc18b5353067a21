"""Calibration: how many of the provider's tokens one of ours is, learned from reported usage.

Each reply moves the ratio a fifth of the way (`STEP`) towards the ratio that it reports. Every reply may move it up: a
smaller window is always safe. Only a reply that is evidence may move it down. The reason: some gateways report only the
part of the prompt that they did not read from a cache, and such reports would let a window grow beyond the model's
limit.

A reply is evidence if it says how much was read from the cache, or if nothing could be, because the request shared
nothing with the one before. Also, the newest replies that are evidence (at most `REMEMBERED`, at least `REPORTS`) must
report about the same ratio over prompts of different sizes. If a part of them were left out as cached, the ratios would
differ.
"""

from __future__ import annotations

from msgspec import Struct

from transom.core.entry import Sent
from transom.core.message import Usage

STEP = 0.2
"""How far one reply moves the ratio towards what it reports."""
FLOOR, CEILING = 0.8, 2.0
"""The least and the greatest ratio."""
REPORTS = 3
"""The ratio may go down once this number of replies are evidence."""
REMEMBERED = 8
"""How many of the newest replies that are evidence are compared. All of them must agree."""
AGREEMENT = 1.1
"""Replies agree if the highest ratio is at most this times the lowest."""
SIZES = 1.25
"""Prompts differ in size if the largest has at least this times the tokens of the smallest."""


class Calibration(Struct, frozen=True, gc=False):
    """How many of the provider's tokens one of our tokens is: `ratio`, 1.0 at first.

    `reports`: the newest replies that are evidence, each as the tokens that we counted and the ratio that it reported.
    They decide whether the ratio may fall. It rises without them too: with any reply, and with a refusal.
    """

    ratio: float = 1.0
    reports: tuple[tuple[int, float], ...] = ()

    def learn(self, sent: Sent, usage: Usage) -> Calibration:
        """The calibration after a reply to the request `sent`, whose usage the provider reports. The module says how it
        moves."""
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

    @property
    def agreed(self) -> float | None:
        """The highest ratio that the newest replies report, if they are evidence that agrees; else None."""
        return max(ratio for _, ratio in self.reports) if _agree(self.reports) else None

    def refused(self, sent: Sent, used: int) -> Calibration:
        """The calibration after a provider has refused the request `sent` and said that it had `used` tokens.

        The ratio rises to `used` ÷ our count at once, to `CEILING` at most. It never falls here.
        """
        if not sent.tokens:
            return self
        return Calibration(ratio=max(self.ratio, min(CEILING, used / sent.tokens)), reports=self.reports)


def _agree(reports: tuple[tuple[int, float], ...]) -> bool:
    """Whether there are enough reports, of different sizes, with about the same ratio."""
    sizes, ratios = [size for size, _ in reports], [ratio for _, ratio in reports]
    enough = len(reports) >= REPORTS and max(sizes) >= SIZES * min(sizes)
    return enough and max(ratios) <= AGREEMENT * min(ratios)
