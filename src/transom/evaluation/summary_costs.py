"""The summaries in a log, and what their requests and answers cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from transom.cache_prices import PRICES, Prices
from transom.core.entry import Entry, Sent
from transom.core.priced_choices import price_of_summary
from transom.core.summary import Summary
from transom.core.tokens import TokenCounter


def summary_costs(
    entries: Iterable[Entry], counter: TokenCounter, prices: Mapping[str, Prices] = PRICES
) -> Iterator[tuple[Summary, Mapping[str, float]]]:
    """Yield each summary of a log with its price by each of these price lists, in units of one fresh input token.

    The price follows from the usage that its model reported; without a report, from the tokens of the last request
    before it and of the entries that it summarises. A summary that no model made costs 0. `entries`: all entries of the
    log, in order.
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
