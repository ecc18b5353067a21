"""How a window is kept small: a policy, and the strategies that it runs in order.

A strategy is a callable with frozen settings that proposes edits. It never sees a provider and keeps no state. The
planner appends the proposed edits that apply; under pressure, it stops as soon as the target is met.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from msgspec import Struct, field

from transom.core.budget import UNLIMITED, Budget, fits, pressure
from transom.core.edit import Edit, Fold, Trim
from transom.core.log import IndexCache
from transom.core.message import Recalled
from transom.core.ranges import check_ranges
from transom.core.redact_derived_text import Redact, redacted_fold
from transom.core.summary import Summarise
from transom.core.tokens import ZERO, Size, TokenCounter
from transom.core.view import View
from transom.errors import InvalidSetting, is_number, quote

DEFAULT_TRIGGER = 0.95
"""The trigger of a policy that gives none, a share of the room."""

DEFAULT_TARGET, TARGET_BELOW_TRIGGER = 0.6, 0.75
"""The target of a policy that gives none: this share of the room, but at most this share of the trigger. (With a target
close to the trigger, nearly every request would need a compaction.)"""

NO_LIMITS = Budget(context=UNLIMITED)
"""The `own_limits` of a policy that has none: a budget that no window exceeds."""


class Target(Struct, frozen=True):
    """What a strategy must reach, and what it may use for it. All sizes are raw (not calibrated).

    - `goal`: the size that `view.total`, which includes the head, must come down to.
    - `deep_goal`: a goal for `last_resort` strategies that shorten required units. There it is lower than `goal`, so
      that the next call need not shorten them again. For other strategies it may be higher.
    - `limit`: for `pressure` strategies, the limits against which the trigger is measured: of each limit the lower one
      of the budget's and the policy's, which this plan may have lowered further. For all other strategies, the budget's
      limits. Under pressure and over the limit: if messages or bytes fill up first, the token limit is lowered to
      match.
    - `fixed_size`: the size of the head and the required units. 0 for `arrival` strategies and recall steps; for these
      `required`, `protected` and `due_notes` are empty too.
    - `budget`, `counter`: the limits as the caller set them, and the token counter of the view.
    - `reference`: gives the words by which a text names the entry with a seq ("entry 412").
    - `required`: keys of the units that must stay in the window: the first task and the newest user message.
    - `protected`: these keys, and those of the units that keep rules name.
    - `newest_unit`: the key of the newest unit; -1 if there is none.
    - `over_limit`: true if the window does not fit the limit and everything else was tried: for `last_resort`
      strategies, and for `pressure` ones that run again with them. Only then may a strategy also change what the user
      restored.
    - `due_notes`: the size of what will be added before the request (notes, recalled text); `goal` leaves room for it.
    - `indexes`: data computed from the log, which strategies keep from plan to plan.
    - `summaries_can_be_made`: false if nobody but the provider itself can make a summary.
    - `waits_for_wants`: true if the request waits for the summary that a strategy wants. A strategy wants one then,
      however little it would gain.
    - `may_replace_summary`: true if a strategy may want another summary of turns that are folded already. It takes the
      place of the one that their fold shows.
    - `redact`: applied to the text of every fold before it is logged; None redacts nothing.
    - `policy_trigger`, `policy_target`: the policy's trigger and target, as shares of the room; a target of None
      follows the trigger (see `Policy`). `arrival` strategies and recall steps get 1 and None.
    """

    goal: Size
    deep_goal: Size
    limit: Size
    fixed_size: Size
    budget: Budget
    counter: TokenCounter
    reference: Callable[[int], str]
    required: tuple[int, ...] = ()
    protected: frozenset[int] = frozenset()
    newest_unit: int = -1
    over_limit: bool = False
    due_notes: Size = ZERO
    indexes: IndexCache = field(default_factory=IndexCache)
    summaries_can_be_made: bool = True
    waits_for_wants: bool = False
    may_replace_summary: bool = False
    redact: Redact | None = None
    policy_trigger: float = 1.0
    policy_target: float | None = None

    def pressure(self, view: View, saved: Size = ZERO) -> float:
        """How full the fullest limit of the view is, due notes included, beside `fixed_size`: 0 empty, 1 full, above 1
        over the limit. `saved`: a size that is taken away first."""
        return pressure(view.total.plus(self.due_notes).minus(saved), self.fixed_size, self.limit)

    def is_met(self, view: View) -> bool:
        """Whether every size of the view (tokens, bytes, images, messages) is within `goal`."""
        return fits(view.total, self.goal)

    def as_logged(self, view: View, edit: Edit) -> Edit:
        """The edit as the plan will log it: the text of a fold is redacted. Any other edit, and a fold that does not
        apply to the view, comes back as it is.

        The redacted fold may not apply: the names of secrets may be longer than the secrets, and then it saves nothing.
        """
        if self.redact is None or not isinstance(edit, Fold) or view.refusal(edit) is not None:
            return edit
        return redacted_fold(view, edit, self.redact, self.indexes)


Strategy = Callable[[View, Target], Iterator[Edit]]
"""Proposes edits for a view, one at a time; it may stop when `target.is_met`. Edits that do not apply are left out."""


class KeptUnit(NamedTuple):
    """A unit that a keep rule protects: a compaction pins it, so that a fold over it does not hide it.

    `key`: the key of the unit. `why`: the reason that the pin gives. `trim`: an edit that makes the unit small enough
    to stay, which is made when the unit is sent again anyway; None: the unit stays as it is.
    """

    key: int
    why: str
    trim: Trim | None = None


KeepRule = Callable[[View, Target], Iterator[KeptUnit]]
"""Names the units that a compaction protects."""

RecallStep = Callable[[View, Target], Iterator[Recalled]]
"""Yields a text of old entries that the newest turn refers to. Only the first one is used; if it yields none, nothing
is recalled."""


class Choice(Struct, frozen=True, kw_only=True):
    """One way to compact a window: its name among the costs, and the strategies that run in this order."""

    name: str
    """How `transom explain` names it."""
    strategies: tuple[Strategy, ...]
    """In the order in which they run."""


class Policy(Struct, frozen=True, kw_only=True):
    """Which strategies keep a window small, and when they run. `name` is for reports and errors.

    `arrival` strategies run on entries that no request has carried yet, so their edits break no cached prefix.
    `pressure` strategies run when the fullest limit is at `trigger`, in order, until it is down to `target`.
    `last_resort` strategies run when the window is over a limit, in order, until it fits.

    - `trigger`, `target`: how full the fullest limit is, as shares of the room that it leaves beside the head and the
      required messages. A trigger of infinity means never; at 0 every request is compacted. A target that is None
      follows the trigger: 0.6, but at most three quarters of the trigger. A `Digest` has shares of its own; they are
      scaled to a target that is given, and to a trigger below 1.
    - `keep`: rules. The `pressure` strategies do not fold away the units that they name; the `last_resort` ones may.
    - `soft_trigger`: a share of the trigger. From there on, the summaries that the `pressure` strategies want are made
      in the background. None: they are made when those strategies run, and the request waits.
    - `own_limits`: limits at which the `pressure` strategies start where they are lower than the budget's. No request
      is refused because of them.
    - `choices`: ways to compact that a budget with prices chooses from: all of them are tried, and of those that bring
      the window below the trigger the one that is cheapest for each call is taken (docs/why/prices.md). Without prices,
      or if none does, the `pressure` strategies run.
    - `recall`: steps that bring back old entries for the newest message of the user or turn of the model. The first
      fact that one of them gives is added at the end of the window, once for each of these. A compaction makes room for
      it if it must; if the window is not below the trigger with it (with a trigger of 0 or infinity: below the
      limits), nothing is recalled.

    Raises InvalidSetting if a list of steps is not a tuple of callables or holds a class instead of an instance, if a
    number among the settings of a step is not in the range of its type (`transom.core.ranges`), if `choices` is not a
    tuple of `Choice` with different names, if a share is not a number from 0 to 1 (a trigger may be infinity), if a
    given `target` is above a trigger that is not 0, if a trigger or target is given and there is no step that could
    follow it, or if `own_limits` is not a Budget.
    """

    name: str = "custom"
    keep: tuple[KeepRule, ...] = ()
    arrival: tuple[Strategy, ...] = ()
    pressure: tuple[Strategy, ...] = ()
    last_resort: tuple[Strategy, ...] = ()
    recall: tuple[RecallStep, ...] = ()
    trigger: float = DEFAULT_TRIGGER
    target: float | None = None
    soft_trigger: float | None = None
    own_limits: Budget = NO_LIMITS
    choices: tuple[Choice, ...] = ()

    def __post_init__(self) -> None:
        for name in ("keep", "arrival", "pressure", "last_resort", "recall"):
            _must_be_steps(name, getattr(self, name))
        _must_be_choices(self.choices)
        for name, whole in (("trigger", "room"), ("target", "room"), ("soft_trigger", "trigger")):
            share = cast("object", getattr(self, name))
            if share == float("inf") if name == "trigger" else share is None:  # never, and not given
                continue
            if not (is_number(share) and 0 <= share <= 1):
                raise InvalidSetting(f"policy: {name} must be a share of the {whole}, from 0 to 1, not {quote(share)}")
        if self.target is not None and self.target > self.trigger > 0:
            raise InvalidSetting(f"policy: target {self.target} must not be above trigger {self.trigger}")
        has_steps = self.arrival or self.pressure or self.last_resort or self.recall or self.choices
        if not has_steps and self.trigger <= 1 and (self.trigger != DEFAULT_TRIGGER or self.target is not None):
            share = f"trigger={self.trigger}" if self.target is None else f"target={self.target}"
            raise InvalidSetting(
                f"policy: without strategies nothing happens at {share}; for the default policy with it, "
                f'give policy="default:{share}"'
            )
        if not isinstance(cast("object", self.own_limits), Budget):
            raise InvalidSetting(f"policy: own_limits must be a Budget, not {quote(self.own_limits)}")

    @property
    def target_share(self) -> float:
        """The target as a share of the room. If the policy gives none: 0.6, but at most three quarters of the
        trigger."""
        return min(DEFAULT_TARGET, TARGET_BELOW_TRIGGER * self.trigger) if self.target is None else self.target

    def prepare(self, view: View, budget: Budget, indexes: IndexCache) -> None:
        """Call `prepare(view, budget, indexes)` of every strategy and recall step that has such a method. It computes
        now what the next plan will need. Optional: the plan is the same without it, and takes longer.
        """
        of_choices = (strategy for choice in self.choices for strategy in choice.strategies)
        steps = (*self.arrival, *self.pressure, *self.last_resort, *self.recall, *of_choices)
        for strategy in steps:
            if (prepare := getattr(strategy, "prepare", None)) is not None:
                with naming(strategy, self):
                    prepare(view, budget, indexes)


def policy_limit(budget: Budget, policy: Policy, calibration: float) -> Size:
    """The limits against which the trigger is measured: each the lower one of the budget's and the policy's
    `own_limits`.

    `calibration`: the provider's tokens for one of ours. The result is a raw size.
    """
    limit = budget.limits(calibration)
    if policy.own_limits is NO_LIMITS:
        return limit
    return Size(*map(min, limit, policy.own_limits.limits(calibration)))


def is_at_trigger(size: Size, fixed: Size, lower: Size, limit: Size, trigger: float) -> bool:
    """Whether a window of this size is at the trigger: whether its pressure is at least `trigger`. `fixed`: the part of
    the size that cannot be taken away. `lower`: the limits that it is measured against (see `policy_limit`). `limit`:
    the budget's.

    A trigger of 1 means: when it no longer fits. So a window that fits exactly is not at it, unless the policy has a
    limit of its own.
    """
    if trigger == 1 and lower == limit and fits(size, limit):
        return False
    return pressure(size, fixed, lower) >= trigger


def compacts_next(view: View, budget: Budget, policy: Policy) -> bool:
    """Whether the next plan will compact this view because of its size: its fullest limit is at the trigger, or it is
    over the budget. If not, prices, new state or recalled text may still make the plan compact.
    """
    limit, lower = budget.limits(view.calibration), policy_limit(budget, policy, view.calibration)
    return not fits(view.total, limit) or is_at_trigger(view.total, view.fixed_size, lower, limit, policy.trigger)


def wants_of(strategy: Strategy, view: View, target: Target, policy: Policy) -> list[Summarise]:
    """The summaries that a strategy wants before it runs: those of its method `wants(view, target)`, none without that
    method."""
    wants = getattr(strategy, "wants", None)
    if wants is None:
        return []
    with naming(strategy, policy):
        return list(wants(view, target))


def name_of(step: Strategy | KeepRule | RecallStep) -> str:
    """The name of a strategy, keep rule or recall step in errors: the module and name of its function or class."""
    owner = step if hasattr(step, "__qualname__") else type(step)
    return f"{getattr(owner, '__module__', '')}.{getattr(owner, '__qualname__', '')}"


@contextmanager
def naming(step: Strategy | KeepRule | RecallStep, policy: Policy) -> Generator[None]:
    """A context manager. An exception raised in it gets a note with the names of the step and its policy; otherwise it
    stays what it is."""
    try:
        yield
    except Exception as error:
        error.add_note(f"raised by {name_of(step)}, in policy {quote(policy.name)}")
        raise


def _must_be_choices(given: object) -> None:
    """Raises InvalidSetting unless `given` is a tuple of choices with different names and valid strategies."""
    choices = cast("tuple[Any, ...]", given)
    if not isinstance(given, tuple) or not all(isinstance(one, Choice) for one in choices):
        raise InvalidSetting(f"policy: choices must be a tuple of Choice, not {quote(cast('object', choices))}")
    names = [one.name for one in choices]
    if len(set(names)) < len(names):
        raise InvalidSetting(f"policy: each of the choices needs a name of its own, not {', '.join(names)}")
    for one in choices:
        _must_be_steps("strategies of a choice", one.strategies)


def _must_be_steps(name: str, steps: object) -> None:
    """Raises InvalidSetting unless `steps` is a tuple of callables, and no class is among them."""
    if not isinstance(steps, tuple) or not all(map(callable, cast("tuple[Any, ...]", steps))):
        kind = "callables" if name in {"keep", "recall"} else "strategies"
        raise InvalidSetting(f"policy: {name} must be a tuple of {kind}, not {quote(cast('object', steps))}")
    if classes := [step.__name__ for step in cast("tuple[Any, ...]", steps) if isinstance(step, type)]:
        raise InvalidSetting(f"policy: {name} needs {classes[0]}(), with its settings, not the class")
    for step in cast("tuple[Any, ...]", steps):
        check_ranges(step)
