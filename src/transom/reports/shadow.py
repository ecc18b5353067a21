"""Shadow answers: does the window of a policy change what a model does next?

At a sample of recorded calls a model answers three times: twice with the whole history, once with the window. The two
answers with the whole history differ too at some calls: that is chance. What the window adds to chance is its harm. No
labels are needed, and no model that judges.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import sqrt
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from transom.conversation.model_calls.model_call import CallModel, read_reply
from transom.core.budget import Budget
from transom.core.message import Assistant, Call, Raw, Text, Usage
from transom.core.policy import Policy
from transom.errors import InvalidSetting, ProviderError
from transom.evaluation.replay_stats import unedited
from transom.importers.recorded import Recorded
from transom.policies import policy_named
from transom.providers.base import Provider, model_name
from transom.providers.model_prices import context_size, cost
from transom.reports.recorded_calls import recorded_calls
from transom.wire.dialects import dialect_named

SEED = 0
"""Of the random sample: the same recordings and settings always give the same calls."""

SAME_WORDS = 0.5
"""Two answers in words count as the same if they share this much of their words (the Dice coefficient)."""

_WORDS = re.compile(r"\w+")

Interval = tuple[float, float]
"""The lower and the upper limit."""

Z = 1.959963984540054
"""The 97.5% point of the normal distribution."""


class ShadowCall(Struct, frozen=True, kw_only=True):
    """A call of the sample: number `call`, from 1, of the conversation with the id `conversation`.

    `tokens`: how many tokens the whole history has, and how many the window.
    """

    conversation: str
    call: int
    tokens: tuple[int, int]


class ShadowPlan(Struct, frozen=True, kw_only=True):
    """What will be asked, and what it costs.

    - `model`: who answers. `calls`: the sample.
    - `eligible`: the number of calls from which the sample was drawn. They are those whose window differs from the
      whole history; if there are none, all calls. `is_changed`: whether there are any.
    - `too_long`: how many calls were left out because the model's context window has no room for their whole history.
      `refused`: how many because no window fits.
    - `requests`: how many requests will be sent, three for each call; `input_tokens`: of all of them together.
      `max_dollars`: what they cost at most, without a cache; None if the prices are not known.
    """

    model: str
    calls: tuple[ShadowCall, ...]
    eligible: int
    is_changed: bool
    too_long: int
    refused: int
    requests: int
    input_tokens: int
    max_dollars: float | None


class ShadowAnswer(Struct, frozen=True, kw_only=True):
    """What the model did at a call: with the `whole` history, `again` with it, and with the `window`, a line each.

    `conversation`, `call`: which call. `chance_differs`: the two answers with the whole history differ;
    `window_differs`: the answer with the window differs from the first one.
    """

    conversation: str
    call: int
    whole: str
    again: str
    window: str
    chance_differs: bool
    window_differs: bool


class Shadow(Struct, frozen=True, kw_only=True):
    """How often the next action differs, over the calls that were compared.

    - `answers`: these calls. `failed`: how many others were left out because the model gave no answer.
    - `chance`: the share of calls at which the two answers with the whole history differ. `window`: the share at which
      the answer with the window differs from the first one. `chance_interval`, `window_interval`: their 95% intervals
      (Wilson's).
    - `added`: `window` minus `chance`, what the window adds. `added_interval`: its 95% interval (Newcombe's).
    - `sentence`: what follows from it.

    If no call was compared, the shares and `added` are None, and the intervals have their full width.
    """

    answers: tuple[ShadowAnswer, ...]
    failed: int
    chance: float | None
    chance_interval: Interval
    window: float | None
    window_interval: Interval
    added: float | None
    added_interval: Interval
    sentence: str


def plan_shadow(
    records: Sequence[Recorded], provider: Provider, *, budget: Budget, policy: Policy, calls: int, max_tokens: int
) -> ShadowPlan:
    """Draw the sample of calls, and compute what asking the model costs. Nothing is sent.

    The same arguments give the same sample. It is empty if no call can be compared. `budget`, `policy`: of the windows.
    `calls`: the most calls in the sample. `max_tokens`: of each answer. Raises InvalidMessage for a recorded message
    that its dialect does not allow.
    """
    changed: list[ShadowCall] = []
    same: list[ShadowCall] = []
    too_long = refused = 0
    room = getattr(provider, "context_size", None) or context_size(model_name(provider))
    dialect = dialect_named(provider.dialect)
    for record in records:
        for call in recorded_calls(_with_tools(record), budget=budget, policy=policy, dialect=dialect):
            if call.window is None:
                refused += 1
                continue
            whole = unedited(call.window)
            if room is not None and whole + max_tokens > room:
                too_long += 1
                continue
            one = ShadowCall(conversation=record.id, call=call.number, tokens=(whole, call.window.size.tokens))
            (changed if any(slot.size != slot.untrimmed_size for slot in call.window.slots) else same).append(one)
    eligible = changed or same
    order = {id(one): at for at, one in enumerate(eligible)}
    chosen = random.Random(SEED).sample(eligible, min(calls, len(eligible)))  # noqa: S311 - no secret
    chosen.sort(key=lambda one: order[id(one)])
    tokens = sum(2 * whole + window for one in chosen for whole, window in (one.tokens,))
    dollars = [
        cost(Usage(prompt=prompt, output=max_tokens), model_name(provider))
        for one in chosen
        for prompt in (one.tokens[0], one.tokens[0], one.tokens[1])
    ]
    known = [each for each in dollars if each is not None]
    return ShadowPlan(
        model=model_name(provider),
        calls=tuple(chosen),
        eligible=len(eligible),
        is_changed=bool(changed),
        too_long=too_long,
        refused=refused,
        requests=3 * len(chosen),
        input_tokens=tokens,
        max_dollars=sum(known) if len(known) == len(dollars) else None,
    )


def run_shadow(
    plan: ShadowPlan,
    records: Sequence[Recorded],
    provider: Provider,
    *,
    budget: Budget,
    policy: Policy,
    max_tokens: int,
    on_answer: Callable[[int], object] | None = None,
) -> Shadow:
    """Ask the model three times at each call of the sample, and compare the answers.

    `plan`: made by `plan_shadow` with the same arguments as here. `on_answer`: called after each answer with the number
    of answers so far. If the provider fails at one of the three answers, the call is left out and counted. Nothing is
    asked again. Raises ProviderError if the very first request fails, since the others would too.
    """
    answers: list[ShadowAnswer] = []
    failed = asked = 0
    for conversation, number, whole, window in _requests(plan, records, provider, budget, policy):
        turns: list[Assistant] = []
        for request in (whole, whole, window):
            try:
                turns.append(_ask(provider, request, max_tokens))
            except ProviderError:
                if not asked:
                    raise
                break
            asked += 1
            if on_answer is not None:
                on_answer(asked)
        if len(turns) < 3:
            failed += 1
            continue
        first, again, shown = turns
        answers.append(
            ShadowAnswer(
                conversation=conversation,
                call=number,
                whole=action_text(first),
                again=action_text(again),
                window=action_text(shown),
                chance_differs=not is_same_action(first, again),
                window_differs=not is_same_action(first, shown),
            )
        )
    return compared_answers(answers, failed)


def compared_answers(answers: Sequence[ShadowAnswer], failed: int = 0) -> Shadow:
    """Return how often the answers differ at these calls, and what follows from it. `failed`: how many other calls got
    no answer."""
    total = len(answers)
    pairs = [(one.window_differs, one.chance_differs) for one in answers]
    window, chance = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    counts = [pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))]
    low, high = paired_difference(*counts)
    added = (window - chance) / total if total else None
    return Shadow(
        answers=tuple(answers),
        failed=failed,
        chance=chance / total if total else None,
        chance_interval=wilson(chance, total),
        window=window / total if total else None,
        window_interval=wilson(window, total),
        added=added,
        added_interval=(low, high),
        sentence=_sentence(added, low, high),
    )


def _sentence(added: float | None, low: float, high: float) -> str:
    if added is None:
        return "No call was compared."
    if low > 0:
        return (
            f"The window changes the next action: {added:+.0%} of the calls beyond chance "
            f"(95% interval {low:+.0%} to {high:+.0%})."
        )
    return (
        f"No harm beyond chance was found: {added:+.0%} of the calls (95% interval {low:+.0%} to {high:+.0%}); "
        f"a harm of up to {max(high, 0.0):.0%} of the calls may have been missed."
    )


def is_same_action(one: Assistant, other: Assistant) -> bool:
    """Whether two turns of the model do the same.

    With calls: they call the same tools with the same arguments, in any order, however the JSON is written. Without
    calls: the Dice coefficient of their sets of words, without case, is at least `SAME_WORDS`; two turns without words
    are the same. A turn with calls and a turn without are never the same.
    """
    if one.calls or other.calls:
        return sorted(map(_call_key, one.calls)) == sorted(map(_call_key, other.calls))
    first, second = (set(_WORDS.findall(_said(turn).lower())) for turn in (one, other))
    shared = 2 * len(first & second)
    return first == second or shared >= SAME_WORDS * (len(first) + len(second))


def action_text(turn: Assistant) -> str:
    """Return what a turn does as one line: its calls as "NAME(ARGUMENTS); …", or without calls what it says. It is not
    cut."""
    if turn.calls:
        return " ".join("; ".join(f"{call.name}({call.args})" for call in turn.calls).split())
    return " ".join(_said(turn).split())


def _said(turn: Assistant) -> str:
    return " ".join(part.text for part in turn.parts if isinstance(part, Text))


def _call_key(call: Call) -> tuple[str, str]:
    """The name of a call and its arguments, in one spelling of JSON."""
    try:
        arguments = json.dumps(json.loads(call.args or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        arguments = call.args
    return call.name, arguments


def _ask(provider: Provider, request: Mapping[str, Any], max_tokens: int) -> Assistant:
    reply = provider.complete(request, max_tokens=max_tokens)
    dialect = dialect_named(provider.dialect)
    work = CallModel(provider=provider, dialect=dialect, request=request, max_tokens=max_tokens)
    return read_reply(work, reply)[0]


def _requests(
    plan: ShadowPlan, records: Sequence[Recorded], provider: Provider, budget: Budget, policy: Policy
) -> Iterator[tuple[str, int, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield for each call of the sample the id of its conversation, its number, the request with the whole history, and
    the request with the window."""
    dialect = dialect_named(provider.dialect)
    wanted = {(one.conversation, one.call) for one in plan.calls}
    for record in records:
        numbers = {number for name, number in wanted if name == record.id}
        if not numbers:
            continue
        asked = _with_tools(record)
        whole = recorded_calls(asked, budget=Budget(), policy=policy_named("passthrough"), dialect=dialect)
        windows = recorded_calls(asked, budget=budget, policy=policy, dialect=dialect)
        for one, other in zip(whole, windows, strict=True):
            if one.number in numbers:
                requests = [dialect.arguments(each.request) for each in (one, other)]
                yield record.id, one.number, requests[0], requests[1]
                numbers.discard(one.number)
            if not numbers:
                break


def _with_tools(record: Recorded) -> Recorded:
    """Return the conversation; if its recording has no tools, with a tool for each name that it calls: an API takes no
    calls of unknown tools."""
    if record.tools:
        return record
    _, facts = record.facts()
    names = dict.fromkeys(call.name for _, fact in facts if isinstance(fact, Assistant) for call in fact.calls)
    schema: Raw = {"type": "object", "properties": {}, "additionalProperties": True}
    described = "As in the conversation so far."
    tools: list[Raw] = [
        {"type": "function", "function": {"name": name, "description": described, "parameters": schema}}
        for name in names
        if name
    ]
    return replace(record, tools=tuple(dialect_named(record.dialect).render_tools(tools)))


def require_calls(plan: ShadowPlan) -> None:
    """Raise InvalidSetting if the plan has no call to compare. The message says why."""
    if not plan.calls:
        too_long = f"{plan.too_long:,} are longer than the context window of {plan.model}"
        why = too_long if plan.too_long else "there is none"
        raise InvalidSetting(f"shadow: no call to compare: {why}")


def wilson(count: int, total: int) -> Interval:
    """Return the 95% interval of the share `count / total`; (0, 1) if `total` is 0.

    The score interval: Wilson, E. B. (1927), "Probable inference, the law of succession, and statistical inference",
    Journal of the American Statistical Association 22, 209-212.
    """
    if not total:
        return 0.0, 1.0
    share, square = count / total, Z * Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = Z / (1 + square / total) * sqrt(share * (1 - share) / total + square / (4 * total * total))
    return max(0.0, middle - half), min(1.0, middle + half)


def paired_difference(both: int, first: int, second: int, neither: int) -> Interval:
    """Return the 95% interval of the difference of two shares that were counted over the same cases: first minus
    second.

    `both`, `first`, `second`, `neither`: in how many cases both things happened, only the first, only the second,
    neither. (-1, 1) without cases. Method 10 of Newcombe, R. G. (1998), "Improved confidence intervals for the
    difference between binomial proportions based on paired data", Statistics in Medicine 17, 2635-2650.
    """
    total = both + first + second + neither
    if not total:
        return -1.0, 1.0
    one, other = (both + first) / total, (both + second) / total
    (low1, high1), (low2, high2) = wilson(both + first, total), wilson(both + second, total)
    phi = _correlation(both, first, second, neither)
    down1, up1, down2, up2 = one - low1, high1 - one, other - low2, high2 - other
    below = sqrt(max(0.0, down1 * down1 - 2 * phi * down1 * up2 + up2 * up2))
    above = sqrt(max(0.0, up1 * up1 - 2 * phi * up1 * down2 + down2 * down2))
    return max(-1.0, one - other - below), min(1.0, one - other + above)


def _correlation(both: int, first: int, second: int, neither: int) -> float:
    """Return the correlation of the two things, with the continuity correction of method 10 if it is positive; 0 if one
    of them happened always or never."""
    product = (both + first) * (second + neither) * (both + second) * (first + neither)
    if not product:
        return 0.0
    total, cross = both + first + second + neither, both * neither - first * second
    return (max(cross - total / 2, 0.0) if cross > 0 else cross) / sqrt(product)
