"""Simulates what a conversation's requests cost with prompt caching, and what its summaries cost, in units of one fresh
input token."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from transom.cache_prices import PRICES, Prices, RequestTokens
from transom.core.entry import Entry, Sent
from transom.core.priced_choices import price_of_summary
from transom.core.summary import Summary
from transom.core.tokens import TokenCounter
from transom.evaluation.sums import Sums, share


class Cost(Sums, frozen=True, kw_only=True):
    """What requests cost, in units of one fresh input token. `paid`: as they were sent; `everything`: if each had sent
    the whole conversation so far.
    """

    paid: float = 0.0
    everything: float = 0.0

    @property
    def share(self) -> float | None:
        """`paid` as a share of `everything`; None if `everything` is 0."""
        return share(self.paid, self.everything)


def cost(sent: Iterable[RequestTokens], whole: Sequence[int], prices: Prices) -> Cost:
    """Compute what the requests of one conversation cost, in units of one fresh input token.

    Each request reads from the cache what it shares with the beginning of the request before, which is assumed to be
    still cached. Output tokens cost the same under every policy and are left out.

    `sent`: of each request, in order, its tokens and those that it shares with the request before (0 for the first).
    `whole`: the tokens that each would have had if it carried everything so far; such a request begins with all of the
    one before it.
    """
    growing = ((size, min(before, size)) for before, size in pairwise((0, *whole)))
    return Cost(paid=sum(map(prices.of, sent)), everything=sum(map(prices.of, growing)))


def summary_costs(
    entries: Iterable[Entry], counter: TokenCounter, prices: Mapping[str, Prices] = PRICES
) -> Iterator[tuple[Summary, Mapping[str, float]]]:
    """Yield each summary of a log with its price by each of these price lists, in units of one fresh input token.

    The price follows from the usage that was reported for it. Without a report, a summary that a model made costs its
    own text as output, and the cheaper of two inputs: the last request before it, read from the cache; or, as fresh
    tokens, the entries since the summary before it and the text of that one. Any other summary costs 0. `prices`: by
    name; the result has the same keys. `entries`: all entries of the log, in order.
    """
    window, tokens, found = 0, [0], dict[int, Summary]()
    for entry in entries:
        tokens.append(tokens[-1] + sum(entry.tokens))
        if isinstance(entry.body, Sent):
            window = entry.body.tokens
        elif isinstance(entry.body, Summary):
            summary = found[entry.seq] = entry.body
            prior = None if summary.prior is None else found[summary.prior]
            after = -1 if prior is None else prior.last
            source = tokens[summary.last + 1] - tokens[after + 1]
            source += 0 if prior is None else counter.count(prior.text)
            yield (
                summary,
                {
                    name: price_of_summary(summary, listed, counter, window=window, source=source)
                    for name, listed in prices.items()
                },
            )
