"""Prices the ways in which a full window can be compacted, by trying each on a copy of the draft.

A choice costs something once: the tokens that are no longer read from the cache, and a new summary if it needs one. And
it costs something at each call: the window that it leaves, which grows again. What it costs once is divided by the
number of calls until the next compaction. So there is one number for each choice, the price of a call.
(docs/why/prices.md)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from transom.cache_prices import ChoiceCost, CompactionCosts, Prices
from transom.core.plan_draft import Draft
from transom.core.policy import Choice
from transom.core.summary import Summarise, Summary
from transom.core.tokens import TokenCounter
from transom.core.view import View
from transom.core.window import shared_prefix_tokens

STAND_IN = "stand-in"
"""Who made a summary that is only there to try a choice out."""


class PricedWindow(NamedTuple):
    """What the price of every choice depends on. `tokens`: those of the request now. `growth`: the tokens by which it
    grows at each call, above 0. `limit`: the tokens at which the trigger compacts it. All tokens are raw."""

    prices: Prices
    tokens: int
    growth: float
    limit: int


class PricedChoice(NamedTuple):
    """A choice that was tried, its costs, and the draft with its edits."""

    choice: Choice
    cost: ChoiceCost
    draft: Draft


def choice_cost(name: str, after: View, left: int, window: PricedWindow, summary: float = 0.0) -> ChoiceCost:
    """The costs of a compaction that leaves the view `after`, in fresh input tokens. The tokens that are no longer read
    from the cache, and `summary`, are paid once; what is sent, at each call until the next compaction.

    The number of calls until then is estimated. It is the smaller of two, and at least 1: √(2 · once / (growth · read
    price)), when it pays, and the calls until the window is full. If reading from the cache is free, only the second
    counts.

    `left`: the raw tokens of the request with the view `after`, due notes included. `summary`: the price of the
    summaries that must be made for it.
    """
    prices, growth = window.prices, window.growth
    rewritten = left - shared_prefix_tokens(after, after.shared_slots)
    once = (prices.write - prices.read) * rewritten + summary
    until_full = max(0.0, window.limit - left) / growth
    until_it_pays = sqrt(2 * once / (growth * prices.read)) if prices.read else until_full
    calls = max(1.0, min(until_full, until_it_pays))
    return ChoiceCost(
        name=name,
        tokens=left,
        saved_tokens=window.tokens - left,
        once=round(once, 1),
        summary=round(summary, 1),
        calls=round(calls, 1),
        per_call=round(once / calls + prices.read * (left + growth * calls / 2), 1),
    )


def price_of_want(want: Summarise, view: View, window: PricedWindow) -> float:
    """What the summary that is wanted will cost if it is as long as it may be, in fresh input tokens."""
    source = sum(view.unit(turn.key).untrimmed_size.tokens for turn in want.turns if view.unit_of[turn.key] >= 0)
    source += 0 if want.prior is None else view.counter.count(want.prior.text)
    return window.prices.of_summary(window=window.tokens, source=source, answer=want.max_tokens)


def price_of_summary(
    summary: Summary, prices: Prices, counter: TokenCounter, *, window: int, source: int | None = None
) -> float:
    """What a summary has cost, in fresh input tokens: by the usage that was reported for it. Without a usage, 0 if no
    model made it.

    If a model made it and no usage was reported, the price is estimated from the tokens of the live request (`window`)
    and of the turns that were summarised (`source`; None: not known, and the same as `window`).
    """
    usage = summary.usage
    if usage is not None:
        fresh = max(0, usage.prompt - usage.cached)
        return prices.write * fresh + prices.read * usage.cached + prices.output * usage.output
    if not summary.made_by:
        return 0.0
    text = counter.count(summary.text)
    return prices.of_summary(window=window, source=window if source is None else source, answer=text)


def stand_in(want: Summarise, counter: TokenCounter) -> Summary:
    """A summary without meaning, as long as the one that is wanted may be, to try a choice with."""
    text = "words " * max(1, want.max_tokens - 2)
    if (tokens := counter.count(text)) > want.max_tokens:
        text = text[: len(text) * want.max_tokens // tokens]
    return Summary(last=want.last, text=text, prior=want.prior_seq, made_by=STAND_IN)


def compaction_costs(
    window: PricedWindow, view: View, why: str, tried: Sequence[ChoiceCost], taken: str
) -> CompactionCosts:
    """The costs that were compared, as a `Sent` stores them. `why`: why a choice was made (`CompactionCosts.why`).
    `taken`: the name of the choice that was taken."""
    return CompactionCosts(
        why=why,
        tokens=window.tokens,
        growth=round(window.growth, 1),
        excess=round(view.since_break.excess_cost(window.prices), 1),
        compaction=round(view.since_break.compaction_cost(window.prices, window.tokens), 1),
        choices=tuple(tried),
        taken=taken,
    )
