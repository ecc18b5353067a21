"""Says which of several policies to take, by their figures over the same conversations.

A policy is left out if it refuses calls that another one sends, or builds a wrong window. Of the others those stay that
keep the largest share of what the user asked; of these, those that have the largest share of the names that the next
step uses; of these the cheapest is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from transom.evaluation.compare import Compared

EQUAL_SHARES = 0.03
"""Shares that differ by no more count as equal."""

EQUAL_COSTS = 0.02
"""Costs that differ by no more than this share of the cheaper one count as equal."""

HINT_BELOW = 5
"""With fewer conversations than this the figures are called a hint."""

_Measure = Callable[[Compared], float | None]


class Verdict(Struct, frozen=True, kw_only=True):
    """Which policy to take. `policy`: its name, None if the figures cannot tell. `sentence`: the policy and the
    reasons, or why the figures cannot tell."""

    policy: str | None
    sentence: str


def verdict(results: Mapping[str, Compared]) -> Verdict:
    """Say which policy to take. `results`: the figures of each policy, by its name, over the same conversations.

    Left out are policies that refuse more calls than another one, or build wrong windows. Of the others those stay that
    keep most of the user's messages; of these, those that have most of the names that the next step uses. The cheapest
    of these is taken; of equally cheap ones, the one that breaks the cached prefix least often. Shares count as equal
    if they differ by at most 0.03 (EQUAL_SHARES), costs if they differ by at most 2% (EQUAL_COSTS).

    The figures cannot tell if there are fewer than two policies, if nothing was sent or made smaller, or if each policy
    with the fewest refusals builds wrong windows.
    """
    if not any(one.stats.calls for one in results.values()):
        return _untold("there is no model call to compare")
    if not any(one.stats.sent for one in results.values()):
        return _untold("no call was sent under any of these policies: the budget is too small")
    least = min(one.stats.refused for one in results.values())
    fit = {
        name: one
        for name, one in results.items()
        if one.stats.refused == least and not one.stats.invalid and not one.stats.over
    }
    if not fit:
        return _untold("every policy that refuses the fewest calls builds windows that are wrong")
    if len(results) == 1:
        return _untold("there is nothing to compare with: name several policies")
    if not any(one.stats.compactions or one.stats.sent_share != 1 for one in results.values()):
        return _untold("no window was made smaller, so the policies do not differ: try a smaller budget")
    best = _best(fit, lambda one: one.requests_share)
    best = _best(best, lambda one: one.found_share)
    name = min(best, key=lambda each: (_cost_rank(best, each), best[each].stats.breaks))
    others = {other: one for other, one in results.items() if other != name}
    reasons = "; ".join(_reason(results[name], other, one, least) for other, one in others.items())
    few = results[name].stats.conversations
    hint = f" Only {few} conversation{'s' * (few > 1)}: a hint, no proof." if few < HINT_BELOW else ""
    calls = results[name].stats.calls
    small = f" The budget is too small for {least:,} of {calls:,} calls under every policy." if least else ""
    sentence = f"{name}. It {_facts(results[name])}. Of the others, {reasons}.{small}{hint}"
    return Verdict(policy=name, sentence=sentence)


def _untold(why: str) -> Verdict:
    return Verdict(policy=None, sentence=f"these figures cannot tell. {why[:1].upper()}{why[1:]}.")


def _best(results: Mapping[str, Compared], measure: _Measure) -> dict[str, Compared]:
    """Return the policies whose share is at most EQUAL_SHARES below the best one. A policy without a share is left out;
    if none has one, all are returned."""
    shares = {name: share for name, one in results.items() if (share := measure(one)) is not None}
    if not shares:
        return dict(results)
    top = max(shares.values())
    return {name: results[name] for name, share in shares.items() if share >= top - EQUAL_SHARES}


def _cost_rank(results: Mapping[str, Compared], name: str) -> float:
    """Return the cost of a policy; the cost of the cheapest one if both count as equal."""
    costs = {each: _paid(one) for each, one in results.items()}
    cheapest = min(costs.values())
    return cheapest if costs[name] <= cheapest * (1 + EQUAL_COSTS) else costs[name]


def _paid(one: Compared) -> float:
    return one.model_cost.paid or one.anthropic.paid


def _facts(one: Compared) -> str:
    """Say what speaks for a policy: what it keeps, and what it costs."""
    parts: list[str] = []
    if one.requests_share is not None:
        parts.append(f"keeps {one.requests_share:.0%} of what the user asked")
    if (found := one.found_share) is not None:
        parts.append(f"has {found:.0%} of {_what_is_found(one)}")
    everything = one.model_cost.everything or one.anthropic.everything
    if everything:
        parts.append(f"costs {_paid(one) / everything:.0%} of sending the whole history")
    return ", ".join(parts[:-1]) + f" and {parts[-1]}" if len(parts) > 1 else "".join(parts) or "sends every call"


def _what_is_found(one: Compared) -> str:
    return "the old names that the next step uses" if one.grounding.far_needed else "the names that the next step uses"


def _reason(taken: Compared, name: str, one: Compared, least: int) -> str:
    """Say why the policy `name` was not taken, but `taken`. `least`: the fewest calls that a policy refuses."""
    if one.stats.refused > least:
        return f"{name} refuses {one.stats.refused:,} of {one.stats.calls:,} calls"
    if one.stats.invalid or one.stats.over:
        return f"{name} builds {one.stats.invalid + one.stats.over:,} wrong windows"
    ratio = _paid(one) / _paid(taken) if _paid(taken) else 1.0
    is_same = abs(ratio - 1) <= EQUAL_COSTS
    price = "costs the same" if is_same else f"costs {abs(ratio - 1):.0%} {'more' if ratio > 1 else 'less'}"
    lost = [
        f"{verb} {share:.0%} of {what}"
        for verb, share, best, what in (
            ("keeps", one.requests_share, taken.requests_share, "what was asked"),
            ("has", one.found_share, taken.found_share, _what_is_found(one)),
        )
        if share is not None and best is not None and share < best - EQUAL_SHARES
    ]
    found, best = one.found_share, taken.found_share
    if lost and found is not None and best is not None and found > best + EQUAL_SHARES:
        lost.append(f"has more of {_what_is_found(one)}, {found:.0%}")
    if lost:
        return f"{name} {price}, but {' and '.join(lost)}" if ratio < 1 - EQUAL_COSTS else f"{name} {lost[0]}"
    if is_same and one.stats.breaks > taken.stats.breaks:
        return f"{name} {price} and breaks the cache {one.stats.breaks:,} times, not {taken.stats.breaks:,}"
    return f"{name} {'is as good here' if is_same else price}"
