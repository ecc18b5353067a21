"""The figures of a replay: counts that add up, over calls, conversations and files."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import astuple

from transom.core.unit import Folded
from transom.core.window import Window
from transom.errors import BudgetImpossible

Span = tuple[int, int]
"""The least and the greatest."""


class ReplayStats(Struct, frozen=True, kw_only=True):
    """Counts of calls and questions, sums of tokens over the calls that were sent, and CPU seconds of building.

    `invalid`, `over` and `refused` count questions too. The sums do not, because a question is no part of the
    conversation. `sent`: calls that were not refused. `tokens`, `passthrough` and `shared_tokens` are sums over these
    alone. `passthrough`: the tokens if each of them had carried the whole history. `shared_tokens`: tokens of the
    prefix shared with the window before. `breaks`: windows that do not begin with the whole window before.
    `compactions`: windows with a fold that the window before did not have. `skipped`: assistant messages with no
    message before them that could be sent.
    """

    conversations: int = 0
    calls: int = 0
    sent: int = 0
    questions: int = 0
    invalid: int = 0
    over: int = 0
    refused: int = 0
    skipped: int = 0
    tokens: int = 0
    passthrough: int = 0
    shared_tokens: int = 0
    breaks: int = 0
    compactions: int = 0
    seconds: float = 0.0

    def plus(self, other: ReplayStats) -> ReplayStats:
        """The sum of both."""
        sums = (a + b for a, b in zip(astuple(self), astuple(other), strict=True))
        return ReplayStats(**dict(zip(ReplayStats.__struct_fields__, sums, strict=True)))

    @property
    def cached_share(self) -> float | None:
        """Tokens shared with the request before, as a share of tokens sent; None if nothing was sent."""
        return self.shared_tokens / self.tokens if self.tokens else None

    @property
    def sent_share(self) -> float | None:
        """Tokens sent, as a share of what passthrough would send; None if nothing was sent."""
        return self.tokens / self.passthrough if self.passthrough else None

    @property
    def ms_per_call(self) -> float | None:
        """CPU milliseconds for each window, refused ones included."""
        windows = self.calls + self.questions
        return 1e3 * self.seconds / windows if windows else None


class Needs(Struct, frozen=True, kw_only=True):
    """The tokens that refused calls would have needed at least, and those of them that precede the conversation."""

    need: Span
    head: Span

    def and_of(self, other: Needs) -> Needs:
        """The range of both together."""
        return Needs(need=_wider(self.need, other.need), head=_wider(self.head, other.head))


def needs_of(refused: BudgetImpossible) -> Needs:
    """The tokens that one refused call would have needed, from its bill."""
    need, head = refused.bill["need"], refused.bill.get("head", 0) + refused.bill.get("tools", 0)
    return Needs(need=(need, need), head=(head, head))


def _wider(one: Span, other: Span) -> Span:
    return min(one[0], other[0]), max(one[1], other[1])


def unedited(window: Window) -> int:
    """Tokens the window would have without any edit: everything so far."""
    return window.size.tokens + sum(slot.untrimmed_size.tokens - slot.size.tokens for slot in window.slots)


def newest_fold(window: Window) -> int:
    """The entry of the newest visible fold, or -1."""
    return max((slot.seq for slot in window.slots if isinstance(slot, Folded)), default=-1)


def replay_stats(window: Window, *, newest_before: int = -1) -> ReplayStats:
    """The figures of one window; `newest_before` is the newest fold of the windows before it."""
    return ReplayStats(
        calls=1,
        sent=1,
        tokens=window.size.tokens,
        passthrough=unedited(window),
        shared_tokens=window.shared_tokens,
        breaks=int(window.breaks is not None),
        compactions=int(newest_fold(window) > newest_before),
    )
