"""The learned limit of a model: the most tokens that the next request may have, since the model has refused a request.

A refusal lowers the limit at once. It may be untrue: the server was starting, a gateway stood before another model, or
the error only sounded like one about length. So replies raise the limit again, step by step. If the window really is
smaller, the model refuses again, and a refused size is then tried again only after more replies than before.

A refusal that counts the tokens of its request also raises the ratio of `Calibration`, which is taken back by a rule of
its own. Two are needed, because either can be wrong alone, and other evidence refutes each: an answer to a longer
request refutes the limit, the tokens that replies report refute the ratio, also if their requests are shorter.

The rule of the limit:

- A refusal sets the limit to what the next request may have. It notes the size that was refused, and the limit that the
  model has stated, if it has.
- A reply counts if its request had at least half of the limit, and if the tokens that the provider reports for it are
  at most a tenth more than ours: otherwise our counts are too low, and the calibration must learn that first.
- After each such reply the limit goes half of the way to the refused size, until it is within a tenth of it.
- After `PATIENCE` such replies in that last tenth, larger requests are tried: up to twice the refused size.
- An answer to a request that was larger than the refused one refutes the refusal: from then on the limit doubles after
  each such reply.
- A refusal after answers multiplies the patience by `LESS_OFTEN`, up to `MAX_PATIENCE`: so in 200 turns a model whose
  window really is smaller refuses about five requests. Two things set the patience back: an answer that refutes a
  refusal, and a refusal of far less than the model has answered, because one of the two cannot be true any more.
- The limit never rises above what the model has stated, unless it has answered more than that.

All sizes are tokens as the provider counts them, as far as it has told us. Our sizes are estimates: without usage a
token of one language or file may be two of the provider's in another. So an answer or a refusal contradicts another one
only if the sizes differ clearly. And no ratio is above `MAX_RATIO`: if the provider counts even more, what it says of a
request is brought down to that, because limits are compared with such counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from transom.core.calibration import MAX_DISAGREEMENT, MAX_RATIO, Calibration, whole_prompt
from transom.core.entry import Sent
from transom.core.message import Failure, Usage

PATIENCE = 4
"""Replies near the limit before a size that was refused is tried for the first time."""
LESS_OFTEN = 4
"""The factor by which the patience grows with each refusal that follows an answer."""
MAX_PATIENCE = 1_024
"""The patience does not grow beyond this: a window that has grown is noticed in the end."""
NEAR = 0.5
"""A reply counts if its request had at least this share of the limit."""
CLOSE = 1.1
"""The limit is close to the refused size if that is at most this times the limit. An answer refutes a refusal if its
request was more than this times as large as the refused one."""
CONTRADICTION = 2.0
"""If the model has answered a request of at least this times the refused size, the two contradict each other: our
counts do not err so much."""


class LearnedLimit(Struct, frozen=True, gc=False, omit_defaults=True):
    """What is known of the limit of a model that has refused a request. `tokens`: the most tokens that the next request
    to it may have, as the provider counts them.

    A refusal sets the limit. Replies to requests near it raise it again, step by step: first up to the size that was
    refused, later beyond it, but never above what the model has stated, unless it has answered more. The docstring of
    this module has the whole rule.
    """

    tokens: int
    refused: int = 0
    """The size of the request that was refused; 0 if it is not known, or if the refusal was refuted."""
    stated: int = 0
    """The limit that the model has stated; 0 if it has stated none."""
    most: int = 0
    """Replies raise the limit up to this, and further only with patience. It is `stated`, or less if the model counted
    more than `MAX_RATIO` tokens for one of ours; 0 if it has stated none."""
    answered: int = 0
    """The largest request that was answered since the limit was learned; 0 if none was."""
    replies: int = 0
    """How many replies that count have come since the limit changed."""
    patience: int = PATIENCE
    """How many replies that count must come in the last tenth before larger requests are tried."""
    entry: int = -1
    """The seq of the newest refusal; -1 if it is in another log."""

    def after_refusal(self, limit: int, refused: int, stated: int, most: int, entry: int = -1) -> LearnedLimit:
        """The limit after one more refusal: `limit`, whatever it was before. If the model has answered requests since
        the refusal before, sizes that were refused are tried less often from now on.

        `limit`: what the next request may have. `refused`: the tokens of the request; `stated`: what the model says it
        takes; `most`: as in the field. Each of these three is 0 if it is not known. `entry`: the seq of the refusal; -1
        if it is in another log.
        """
        patience, answered = self.patience, self.answered
        if answered >= CONTRADICTION * refused > 0:
            patience = PATIENCE
        elif answered:
            patience = min(patience * LESS_OFTEN, MAX_PATIENCE)
        return LearnedLimit(
            tokens=limit,
            refused=refused,
            stated=stated or self.stated,
            most=most or self.most,
            answered=0 if answered >= refused > 0 else answered,
            patience=patience,
            entry=entry,
        )

    def after_reply(self, size: int) -> LearnedLimit:
        """The limit after a reply; it never falls. `size`: the tokens of its request, as `answered_size` gives them.
        With 0, or less than half of the limit, the reply does not raise it."""
        answered = max(self.answered, size)
        known = replace(self, answered=answered) if answered != self.answered else self
        if self.refused and answered > CLOSE * self.refused:
            known = replace(known, refused=0, patience=PATIENCE, replies=0)
        if size < NEAR * self.tokens:
            return known
        known = replace(known, replies=known.replies + 1)
        raised = known._next_step()
        if known.stated:
            most = known.most if known.replies < known.patience else known.stated
            raised = min(raised, max(most, answered))
        return replace(known, tokens=raised, replies=0) if raised > known.tokens else known

    def _next_step(self) -> int:
        """The limit after the replies so far, if the model has stated none."""
        if not self.refused:
            return 2 * self.tokens
        if self.tokens > self.refused:  # it is being tried
            return self.tokens
        if self.refused > CLOSE * self.tokens:
            return (self.tokens + self.refused) // 2
        return 2 * self.refused if self.replies >= self.patience else self.tokens


def limit_after_failure(
    known: LearnedLimit | None, failure: Failure, sent: Sent | None, calibration: Calibration, entry: int
) -> LearnedLimit:
    """The learned limit after a failure that states one (`failure.limit` is above 0). `known`: the limit before; None
    if there was none. `sent`: the request, if it is known. `calibration`: with this failure taken into account.
    `entry`: the seq of the failure."""
    ours = 0 if sent is None else round(sent.tokens * calibration.ratio)
    refused = min(failure.used or ours, ours or failure.used)
    most = failure.stated * refused // failure.used if failure.used > refused else failure.stated
    before = LearnedLimit(failure.limit) if known is None else known
    return before.after_refusal(failure.limit, refused, failure.stated, most, entry)


def answered_size(sent: Sent, usage: Usage | None, calibration: Calibration) -> int:
    """The size of a request that was answered, for `LearnedLimit.after_reply`: our calibrated count, or the tokens that
    the provider reports if these are more. 0 if the provider reports so many more that our counts cannot be compared
    with a limit yet. `calibration`: with this reply taken into account."""
    ours = round(sent.tokens * calibration.ratio)
    reported = 0 if usage is None else min(whole_prompt(usage), round(MAX_RATIO * sent.tokens))
    return 0 if reported > MAX_DISAGREEMENT * ours else max(ours, reported)


def limits_after_reply(limits: Mapping[str, LearnedLimit], model: str, size: int) -> Mapping[str, LearnedLimit]:
    """The learned limits, by model, after a reply; the same mapping if none of them changes. `model`: the one that has
    replied, as in `Sent.model`. If the request named none (empty), those limits change whose name has no ":": the name
    of a dialect. `size`: as `answered_size` gives it."""
    names = [model] if model else [name for name in limits if ":" not in name]
    for name in names:
        if (known := limits.get(name)) is not None and (after := known.after_reply(size)) is not known:
            limits = {**limits, name: after}
    return limits
