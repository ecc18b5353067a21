"""How our token counts compare with those of the provider: the ratio that replies and refusals teach.

Each reply moves the ratio of the provider's tokens to ours a fifth of the way (`STEP`) towards the ratio
that it reports. Every reply may move it up: a smaller window is always safe. Only a reply that is evidence may move it
down. The reason: some gateways report only the part of the prompt that they did not read from a cache, and such reports
would let a window grow beyond the model's limit. Down, the ratio moves towards the highest of the replies that are
compared, not towards the newest: after a few short requests with a low ratio, the next long one must not be too large.

A refusal may say how many tokens the request had, and raises the ratio at once. It may be wrong: then the replies after
it report about the ratio that was known before. `REFUTING` of these in a row, each for a request of at least a quarter
of the refused one, refute it if it was more than a tenth higher: the ratio from before is in force again. (Reports of
the uncached part alone lie below that ratio.) After each refutation four times as many are needed. The limit that the
refusal taught is another matter: `core/learned_limit.py` says why.

A reply is evidence if it says how much was read from the cache, or if nothing could be read from it, because the
request shared nothing with the one before. And one reply is not enough: the newest replies that are evidence (at least
`MIN_REPORTS`, at most `MAX_REPORTS`) must report about the same ratio for prompts of different sizes. If a part of the
prompts were left out as cached, the ratios would differ.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from transom.core.entry import Sent
from transom.core.message import Usage

STEP = 0.2
"""How far one reply moves the ratio: this share of the way towards the ratio that the reply reports."""
MIN_RATIO, MAX_RATIO = 0.8, 2.0
"""The range of the ratio: the provider's tokens for one of ours."""
MIN_REPORTS = 3
"""The ratio may fall once there are this many replies that are evidence."""
MAX_REPORTS = 8
"""How many of the newest replies that are evidence are compared. All of them must agree."""
MAX_DISAGREEMENT = 1.1
"""Replies agree if the highest ratio is at most this times the lowest."""
REFUTING = 3
"""How many replies in a row refute the ratio of a refusal, if no refusal was refuted before."""
MIN_REFUTING_SHARE = 0.25
"""The request of such a reply must have at least this share of the tokens of the refused request."""
MIN_SIZE_DIFFERENCE = 1.25
"""Prompts differ in size if the largest has at least this times the tokens of the smallest."""


class Calibration(Struct, frozen=True, gc=False, omit_defaults=True):
    """How many of the provider's tokens one of our tokens is: `ratio`, 1.0 at first, and always from 0.8 to 2.0.

    `reports`: the newest replies that are evidence, each as the tokens that we counted and the ratio that it reported.
    They decide whether the ratio may fall. Any reply that reports a higher ratio raises it, and so does a refusal.
    """

    ratio: float = 1.0
    reports: tuple[tuple[int, float], ...] = ()
    of_refusal: float = 0.0
    """The ratio that the newest refusal set; 0 if there was none, or if it was refuted."""
    before_refusal: float = 0.0
    """The ratio before the refusal, or before the first of several in a row; 0 if no refusal is left that can be
    refuted."""
    refused_tokens: int = 0
    """The tokens of the refused request, as we count."""
    steady: int = 0
    """How many of the newest replies in a row have reported about the ratio from before the refusal, or about `ratio`
    if there is no refusal to refute. Counted up to the number that refutes a refusal."""
    refuted: int = 0
    """How many refusals were refuted."""

    def learn(self, sent: Sent, usage: Usage) -> Calibration:
        """The calibration after a reply to the request `sent`, whose usage the provider reports. The ratio moves a
        fifth of the way (`STEP`) to the one that the reply reports, if that is higher. It moves down only if several
        replies that are evidence agree (the docstring of this module has the whole rule). Without a number of prompt
        tokens (`usage.prompt` is 0) nothing changes."""
        if not usage.prompt or not sent.tokens:
            return self
        seen = whole_prompt(usage) / sent.tokens
        reports = self.reports
        is_evidence = bool(usage.cached or not sent.shared_tokens)
        if is_evidence:
            reports = (*reports, (sent.tokens, seen))[-MAX_REPORTS:]
        if seen >= self.ratio:
            goal = min(MAX_RATIO, seen)
        elif is_evidence and _agree(reports):
            goal = max(MIN_RATIO, *(ratio for _, ratio in reports))
        else:
            goal = self.ratio
        learned = replace(self, ratio=self.ratio + STEP * (goal - self.ratio), reports=reports)
        return learned._after_report(sent.tokens, seen)

    def _after_report(self, tokens: int, seen: float) -> Calibration:
        """This calibration with one more reply that may refute the newest refusal."""
        known = self.before_refusal or self.ratio
        is_near = max(known, seen) <= MAX_DISAGREEMENT * min(known, seen)
        if not is_near:
            return replace(self, steady=0) if self.steady else self
        if tokens < MIN_REFUTING_SHARE * self.refused_tokens:
            return self
        steady = min(self.steady + 1, self._refuting)
        if not self.before_refusal or steady < self._refuting:
            return replace(self, steady=steady) if steady != self.steady else self
        return replace(
            self,
            ratio=min(self.ratio, max(known, seen)),
            of_refusal=0.0,
            before_refusal=0.0,
            refused_tokens=0,
            refuted=self.refuted + 1,
        )

    @property
    def _refuting(self) -> int:
        """How many replies in a row refute a refusal."""
        return REFUTING * 4 ** min(self.refuted, 6)

    def at_limit(self, refused: float) -> float:
        """The ratio to use for a request that is as long as a learned limit allows. `refused`: the ratio of the request
        that was refused.

        Usually it is `refused`, because that was measured on a request of this size. Another ratio takes its place if
        it is higher, or more than a tenth lower: the highest one of the newest replies that are evidence, if these
        agree; or else `ratio`, if no refusal is left to be refuted and enough replies in a row have reported about that
        ratio.
        """
        agreed = refused
        if _agree(self.reports):
            agreed = max(ratio for _, ratio in self.reports)
        elif not self.before_refusal and self.steady >= self._refuting:
            agreed = self.ratio
        return max(refused, agreed) if refused <= MAX_DISAGREEMENT * agreed else agreed

    def refused(self, sent: Sent, used: int) -> Calibration:
        """The calibration after a provider has refused the request `sent` and said that it had `used` tokens.

        The ratio rises to `used` ÷ our count at once, to 2.0 at most. It never falls here; but the ratio from before is
        kept, and later replies can bring it back (see the docstring of this module).
        """
        if not sent.tokens:
            return self
        ratio = max(self.ratio, min(MAX_RATIO, used / sent.tokens))
        before = self.before_refusal or self.ratio
        can_be_refuted = ratio > MAX_DISAGREEMENT * before
        return replace(
            self,
            ratio=ratio,
            of_refusal=ratio,
            before_refusal=before if can_be_refuted else 0.0,
            refused_tokens=sent.tokens if can_be_refuted else 0,
            steady=0,
        )


def whole_prompt(usage: Usage) -> int:
    """The tokens of a whole prompt, those that were read from the cache included: `prompt`. If `cached` is larger, it
    is the sum of both: some providers report the cached tokens beside the prompt."""
    return usage.prompt if usage.prompt >= usage.cached else usage.prompt + usage.cached


def _agree(reports: tuple[tuple[int, float], ...]) -> bool:
    """Whether there are enough reports, for prompts of different sizes, with about the same ratio."""
    sizes, ratios = [size for size, _ in reports], [ratio for _, ratio in reports]
    enough = len(reports) >= MIN_REPORTS and max(sizes) >= MIN_SIZE_DIFFERENCE * min(sizes)
    return enough and max(ratios) <= MAX_DISAGREEMENT * min(ratios)
