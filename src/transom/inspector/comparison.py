"""Compares policies and context windows on the conversation that is looked at: `transom compare` for the page.

The conversation is replayed in memory, once for each pair of a policy and a context window. Each question of the page
works on it for a quarter of a second, so that the page can draw what there is, and can stop asking.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import product
from threading import Lock
from time import monotonic

from msgspec import Struct

from transom.core.budget import Budget
from transom.errors import InvalidSetting
from transom.evaluation.compare import Compared, RecordedCall
from transom.exporters.export import export
from transom.importers import read
from transom.policies import policy_named
from transom.providers.model_prices import token_prices
from transom.reports.policy_figures import figures
from transom.reports.recorded_calls import judge_of, recorded_calls
from transom.reports.verdict import verdict
from transom.stores import Store, StoredLog

MOST_PAIRS = 12
"""The most pairs of a policy and a context window that are compared at once."""
MOST_COMPARISONS = 4
"""How many comparisons are kept: each tab of a browser may have its own. If there are more, the one that was asked for
longest ago is dropped."""
SECONDS_OF_WORK = 0.25
"""How long one question works on a comparison."""

Point = tuple[int, int | None]


class ComparedRow(Struct, frozen=True, kw_only=True):
    """One policy in a context window of `tokens`.

    `figures`: by name, what `verdict` judges a policy by; their `cost` is a share of what sending the whole history
    costs. `dollars`: the price of all input tokens; None if no price is known, or if calls were
    refused, since the dollars of fewer calls cannot be compared. Both are None until all calls of this
    row are replayed.
    """

    policy: str
    tokens: int
    figures: dict[str, float | None] | None = None
    dollars: float | None = None


class ComparisonPage(Struct, frozen=True, kw_only=True):
    """What a comparison has so far.

    `rows`: one for each pair of a context window and a policy. `points`: for each replayed call, from number `first`
    on, the index of its row, and the tokens of its window (None if no window could be built). `calls`: about how many
    calls a row has when it is done. `sentence`: which policy to take; None until all is done.
    """

    rows: list[ComparedRow]
    calls: int
    first: int
    points: list[Point]
    sentence: str | None


class Comparison:
    """One conversation under several policies and context windows."""

    def __init__(self, log: StoredLog, policies: Sequence[str], windows: Sequence[int], model: str) -> None:
        """`policies`: names. `windows`: the tokens of each context window. `model`: "provider:model", whose prices are
        taken if they are known. Raises InvalidSetting for no pair or more than `MOST_PAIRS`, for an unknown policy, and
        for a conversation without messages."""
        if not windows:
            raise InvalidSetting("no request was planned yet: give the tokens of a context window")
        self._rows = [
            ComparedRow(policy=policy_named(name).name, tokens=tokens) for tokens, name in product(windows, policies)
        ]
        if not 0 < len(self._rows) <= MOST_PAIRS:
            raise InvalidSetting(f"choose 1 to {MOST_PAIRS} pairs of a policy and a context window")
        self._budgets = [Budget(context=row.tokens) for row in self._rows]
        known = token_prices(model)
        self._prices = known if known is not None and known.input else None
        found = next(iter(read(BytesIO(b"".join(export(log, "openai"))), "openai")), None)
        if found is None or not found.messages:
            raise InvalidSetting("this conversation has no messages yet")
        self._record = found
        self._calls = sum(message.get("role") == "assistant" for message in self._record.messages)
        self._results = dict[str, Compared]()
        self._points: list[Point] = []
        self._work: Iterator[object] = self._replays()
        self._lock = Lock()

    def page(self, first: int) -> ComparisonPage:
        """Work on the comparison for `SECONDS_OF_WORK` (0.25), then return all rows, and the points from index `first`
        on: the number of points that the caller has already. Call it again until `sentence` is not None. Raises what
        replaying the conversation raises; then the comparison is never done."""
        stop = monotonic() + SECONDS_OF_WORK
        with self._lock:
            for _ in self._work:
                if monotonic() >= stop:
                    break
            return ComparisonPage(
                rows=list(self._rows),
                calls=self._calls,
                first=first,
                points=self._points[first:],
                sentence=verdict(self._results).sentence if len(self._results) == len(self._rows) else None,
            )

    def _replays(self) -> Iterator[RecordedCall]:
        """Replay one row after another; yield after each call, so that the work can be interrupted there."""
        relative = None if self._prices is None else self._prices.relative()
        several = len({row.tokens for row in self._rows}) > 1
        for index, row in enumerate(self._rows):
            judge = judge_of(self._record, self._budgets[index])
            for call in recorded_calls(self._record, budget=self._budgets[index], policy=policy_named(row.policy)):
                judge.add(call)
                self._points.append((index, None if call.window is None else call.window.tokens))
                yield call
            found = judge.result(relative)
            price = None
            if self._prices is not None and not found.stats.refused:  # the dollars of fewer calls cannot be compared
                price = found.model_cost.paid * self._prices.input / 1_000_000
            self._rows[index] = ComparedRow(policy=row.policy, tokens=row.tokens, figures=figures(found), dollars=price)
            self._results[f"{row.policy} in {row.tokens:,} tokens" if several else row.policy] = found


class Comparisons:
    """The comparisons that were asked for last, of all conversations of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[tuple[object, ...], Comparison] = OrderedDict()
        self._lock = Lock()

    def get(self, name: str, policies: Sequence[str], windows: Sequence[int], entries: int, model: str) -> Comparison:
        """Return the comparison of a conversation with these settings: the one that is kept, or a new one, for which
        nothing is replayed yet. MOST_COMPARISONS (4) are kept. `windows`: the tokens of each. `entries`: how many
        entries the caller knows; with another number, the conversation is compared anew. `model`: "provider:model", for
        prices.

        Raises InvalidSetting for no pair of a policy and a window or more than MOST_PAIRS (12), for an unknown policy,
        and for a conversation without messages.
        """
        key = name, entries, tuple(policies), tuple(windows), model
        with self._lock:
            if key not in self._kept:
                self._kept[key] = Comparison(self._store.open(name), policies, windows, model)
                if len(self._kept) > MOST_COMPARISONS:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]
