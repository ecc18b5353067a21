"""Decides when no summary is asked for: because making one failed too often, or summaries have cost too much. It
decides from the log alone."""

from __future__ import annotations

from typing import cast

from msgspec import Struct

from transom.core.view import View
from transom.errors import InvalidSetting, quote


class SummaryLimits(Struct, frozen=True, kw_only=True):
    """Stop summaries from being asked for after failures, or when they have cost too much.

    - `strikes`: after this number of failures in a row, no summary is asked for until the window has grown.
    - `pause`: by how much it must grow, as a share of the budget's usable tokens.
    - `spend`: the maximum number of tokens that summaries may have cost, as a share of the tokens of all requests of
      the conversation. Tokens that were read from a cache do not count.

    Raises InvalidSetting if `strikes` is not a whole number of at least 1, or a share is not a number of at least 0.
    """

    strikes: int = 3
    pause: float = 0.5
    spend: float = 0.25

    def __post_init__(self) -> None:
        if type(self.strikes) is not int or self.strikes < 1:
            raise InvalidSetting(f"limits: strikes must be a whole number of at least 1, not {quote(self.strikes)}")
        for name in ("pause", "spend"):
            share = cast("object", getattr(self, name))
            if isinstance(share, bool) or not isinstance(share, (int, float)) or not share >= 0:
                raise InvalidSetting(f"limits: {name} must be a share, at least 0, not {quote(share)}")

    def reason(self, view: View, usable: int) -> str:
        """Why no summary is asked for now, as a sentence for people; empty if one may be asked for.

        `usable`: the tokens that a request may have.
        """
        known = view.summaries
        if known.strikes >= self.strikes:
            grown, least = grown_since(view, known.failed_at), int(self.pause * usable)
            if grown < least:
                return (
                    f"{known.strikes:,} failures in a row; the window has grown by {grown:,} of {least:,} tokens since"
                )
        if known.spent > self.spend * known.sent and known.spent:
            return f"summaries have cost {known.spent:,} tokens of {known.sent:,} sent, more than {self.spend:.0%}"
        return ""


def grown_since(view: View, seq: int) -> int:
    """The raw tokens that came into the window after an entry: those of the slots that begin behind it."""
    tokens = 0
    for slot in reversed(view.slots):
        if slot.first <= seq:
            break
        tokens += slot.size.tokens
    return tokens
