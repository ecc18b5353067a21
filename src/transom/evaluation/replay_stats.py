"""The figures of a replay, as sums over calls, conversations and files."""

from __future__ import annotations

from msgspec import Struct

from transom.core.unit import FoldedSlot
from transom.core.window import Window
from transom.errors import BudgetImpossible
from transom.evaluation.sums import Sums, share

Span = tuple[int, int]
"""The least and the greatest value."""


class ReplayStats(Sums, frozen=True, kw_only=True):
    """Counts of calls, sums of raw tokens over the sent calls, and the CPU time of building windows.

    - `conversations`: how many. `calls`: the messages of the model that were replayed: each is `sent`, or `refused`
      because no window fits. `skipped`: the other messages of the model. They have no request to replay, because
      nothing that could be sent stands before them.
    - `invalid`: windows that break a rule of the provider. `over`: windows over the limit.
    - `tokens`: of all windows. `passthrough`: the tokens of the same calls if each carried the whole history.
      `shared_tokens`: of the prefixes that windows share with the window before.
    - `breaks`: windows that do not begin with the whole window before. `compactions`: windows with a fold that is newer
      than all folds of the windows before.
    - `seconds`: of CPU, for refused windows too.
    """

    conversations: int = 0
    calls: int = 0
    sent: int = 0
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

    @property
    def cached_share(self) -> float | None:
        """Tokens shared with the request before, as a share of the tokens sent; None if nothing was sent."""
        return share(self.shared_tokens, self.tokens)

    @property
    def sent_share(self) -> float | None:
        """Tokens sent, as a share of what passthrough would send; None if nothing was sent."""
        return share(self.tokens, self.passthrough)

    @property
    def ms_per_call(self) -> float | None:
        """CPU milliseconds for each window, refused ones included; None if there was none."""
        return share(1e3 * self.seconds, self.calls)


class Needs(Struct, frozen=True, kw_only=True):
    """What refused calls would have needed, in tokens: of each figure the least and the greatest over these calls.

    `need`: the size of the smallest possible window; `head`: the part of it that is the system prompt and the tools.
    """

    need: Span
    head: Span

    def merged(self, other: Needs) -> Needs:
        """Return the ranges that cover this and `other`."""
        return Needs(need=_wider(self.need, other.need), head=_wider(self.head, other.head))


def needs_of(refused: BudgetImpossible) -> Needs:
    """Read from the bill of a refused call what it would have needed: one value, so both ends of each range are equal.
    The call must have been refused for its tokens, not for bytes, images or messages."""
    need, head = refused.bill["need"], refused.bill.get("head", 0) + refused.bill.get("tools", 0)
    return Needs(need=(need, need), head=(head, head))


def _wider(one: Span, other: Span) -> Span:
    return min(one[0], other[0]), max(one[1], other[1])


def unedited(window: Window) -> int:
    """Count the raw tokens that the window would have if no edit had ever been made: with everything said so far."""
    return window.size.tokens + sum(slot.untrimmed_size.tokens - slot.size.tokens for slot in window.slots)


def newest_fold(window: Window) -> int:
    """Return the seq of the newest fold in the window; -1 if it has none."""
    return max((slot.seq for slot in window.slots if isinstance(slot, FoldedSlot)), default=-1)


def replay_stats(window: Window, *, newest_before: int) -> ReplayStats:
    """Return the figures of one sent call, without `invalid`, `over` and `seconds`, which the window does not tell.

    `newest_before`: the seq of the newest fold of the windows before it, or -1.
    """
    return ReplayStats(
        calls=1,
        sent=1,
        tokens=window.size.tokens,
        passthrough=unedited(window),
        shared_tokens=window.shared_tokens,
        breaks=int(window.breaks is not None),
        compactions=int(newest_fold(window) > newest_before),
    )
