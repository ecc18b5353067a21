"""When a strategy wants a summary, what the want holds, and which summary a fold may show.

How full a window must be for a summary that is made in the background: `core/budget_enforcer.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import msgspec

from transom.core.message import Assistant, Note, Recalled, User
from transom.core.policy import Target
from transom.core.summary import SourceTurn, Summarise, Summary
from transom.core.unit import Slot, Unit, units_in
from transom.core.view import View
from transom.strategies.record.index import Index

WHY = "summary"
"""Why a fold is there whose text begins with the rolling summary."""

LEAST_GAIN = 0.25
"""The share of F that the turns which no summary covers must have before another summary is worth its price."""

EXACT_SHARE = 0.2
"""The share of a summary for values that it must hold to the letter."""

MAX_TYPED_NAMES = 12
"""A message of the user with more names is a paste; the names in any other were typed."""

MOST_TOKENS = 4_096
"""The longest summary, however large the window is."""

LEAST_TOKENS = 160
"""Tokens that a summary may always have, since its title, its end and its first item need half as many."""

MOST_SHARE = 0.25
"""The largest share of the room that `LEAST_TOKENS` may be. If they are more, a summary has no minimum, because a
record holds more in as many tokens."""

LEAST_SUMMARY = LEAST_TOKENS // 2
"""No summary of fewer tokens is asked for, since it could hold nothing. A summarizer may say another number."""


def summary_cap(share: float, room: float) -> float:
    """The most tokens of a summary: `share` of `room`, but at least 160 if these are no more than a quarter of it."""
    return max(share * room, LEAST_TOKENS if MOST_SHARE * room >= LEAST_TOKENS else 0)


def summary_want(
    view: View, target: Target, slots: Sequence[Slot], *, free: float, most: float, beside_record: bool = False
) -> Iterator[Summarise]:
    """Yield the want for a summary of everything up to the end of `slots`, which are the slots that a compaction folds.

    Nothing is yielded if nobody makes summaries, or if too few turns came since the newest summary: less than a quarter
    of F, unless the target waits for the summary. If no turn came at all and the target allows it
    (`may_replace_summary`), the same turns are summarised again, from the summary before that one and the turns since.

    `slots`: from the beginning of what may be folded on, in the order of the window; empty: nothing is yielded. `free`:
    the tokens of F, the free room (`free_room`). `most`: the tokens that the summary may have, at most `MOST_TOKENS`
    (4,096); below 1: nothing is yielded. `beside_record`: whether a record of the same turns stands behind it.
    """
    if not slots or most < 1 or not target.summaries_can_be_made:
        return
    last = slots[-1].last
    prior_seq, prior = next(_to_go_on_from(view, last), (None, None))
    units = _units_after(view, prior, last)
    if not units and prior is not None and target.may_replace_summary:
        prior_seq, prior = next(_to_go_on_from(view, prior.last - 1), (None, None))
        units = _units_after(view, prior, last)
    if not units or (not target.waits_for_wants and sum(unit.size.tokens for unit in units) < LEAST_GAIN * free):
        return
    most = int(min(MOST_TOKENS, most))
    exact, typed = _exact_values(view, target, units, EXACT_SHARE * most)
    yield Summarise(
        last=last,
        turns=tuple(_source(view, unit) for unit in units),
        prior=prior,
        prior_seq=prior_seq,
        exact=exact,
        typed=typed,
        max_tokens=most,
        beside_record=beside_record,
    )


class ShownSummary(NamedTuple):
    """A summary that a fold may show. `seq`: of its entry; `tokens`: of its text, redacted as the fold shows it."""

    seq: int
    summary: Summary
    tokens: int


def shown_summary(view: View, before: int, most: float, target: Target) -> ShownSummary | None:
    """The newest summary that covers only turns before the unit with the key `before`. The provider's own compactions
    do not count. None if there is none, or if its text is blank or has more than `most` tokens: an older summary is
    not taken then."""
    for seq, summary in view.newest_summaries():
        if summary.last < before and summary.compaction is None:
            text = summary.text if target.redact is None else target.redact(summary.text)  # as the fold will show it
            tokens = target.counter.count(text)
            return ShownSummary(seq, summary, tokens) if tokens <= most and text.strip() else None
    return None


def _to_go_on_from(view: View, last: int) -> Iterator[tuple[int, Summary]]:
    """Yield the summaries from which a new summary up to the unit `last` may go on, the newest first."""
    readable = ((seq, one) for seq, one in view.newest_summaries() if not one.degraded and one.compaction is None)
    return ((seq, one) for seq, one in readable if one.last <= last)


def _units_after(view: View, prior: Summary | None, last: int) -> list[Unit]:
    """The units behind those that `prior` covers (None: all), up to the one with the key `last`."""
    after = -1 if prior is None else prior.last
    units = [unit for slot in view.slots for unit in units_in(slot, after + 1) if after < unit.key <= last]
    return [unit for unit in units if not isinstance(view.fetch(unit.seqs[0]).body, (Note, Recalled))]


def _source(view: View, unit: Unit) -> SourceTurn:
    entries = view.entries_of(unit)
    injected = isinstance(entries[0].body, User) and not entries[0].by_user
    return SourceTurn(key=unit.key, facts=tuple(entry.body for entry in entries), injected=injected)  # pyright: ignore[reportArgumentType]


def _exact_values(
    view: View, target: Target, units: Sequence[Unit], tokens: float
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of these turns that the summary must hold to the letter, in `tokens` tokens; and those of them that the
    user typed. First come typed names, then those in longer messages of the user, then others, each group by weight.
    One that was not typed must occur again behind these turns. Names of tools and arguments stand in every request."""
    index = Index.of(view, target.budget.usable, target.indexes)
    typed, users, others = dict[str, None](), dict[str, None](), dict[str, None]()
    for unit in reversed(units):
        by_user = view.fetch(unit.seqs[0]).by_user
        for seq in unit.seqs:
            names = [name for passage in index.at(view, seq).passages for name in passage.names]
            group = others if not by_user else typed if len(set(names)) <= MAX_TYPED_NAMES else users
            group.update(dict.fromkeys(names))
    of_tools, later = _names_of_tools(view, units), _names_after(view, index, units[-1].key)
    ranked = [name for group in (typed, users, others) for name in sorted(group, key=index.weight, reverse=True)]
    chosen: list[str] = []
    for name in (one for one in dict.fromkeys(ranked) if one not in of_tools and (one in typed or one in later)):
        tokens -= target.counter.count(name) + 2
        if tokens < 0:
            break
        chosen.append(name)
    return tuple(chosen), tuple(name for name in chosen if name in typed)


def _names_after(view: View, index: Index, key: int) -> set[str]:
    """The names in the turns behind the unit with this key."""
    units = [unit for slot in view.slots for unit in units_in(slot, key + 1) if unit.key > key]
    return {name for unit in units for seq in unit.seqs for one in index.at(view, seq).passages for name in one.names}


def _names_of_tools(view: View, units: Sequence[Unit]) -> set[str]:
    """The names of the tools that these turns call, and the keys of the arguments, at every depth."""
    heads = (view.fetch(unit.seqs[0]).body for unit in units)
    calls = [call for head in heads if isinstance(head, Assistant) for call in head.calls]
    return {call.name for call in calls} | {key for call in calls for key in _keys(_decoded(call.args))}


def _decoded(args: str) -> object:
    """The arguments of a call, as the model wrote them; None if that is no JSON."""
    try:
        return msgspec.json.decode(args)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _keys(value: object) -> Iterator[str]:
    """The keys of a JSON value and of those in it."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _keys(inner)
