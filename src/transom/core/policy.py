"""How a window is kept small: strategies, in the order in which a policy runs them.

A strategy is a callable with frozen settings that proposes edits; it never sees a provider and keeps no state. The
planner takes the edits that apply, and stops as soon as there is room.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from msgspec import Struct, field

from transom.core.budget import UNLIMITED, Budget, fits, pressure
from transom.core.derived import Derived
from transom.core.edit import Edit, Trim
from transom.core.message import Recalled
from transom.core.summary import Summarise
from transom.core.tokens import ZERO, Size, TokenCounter
from transom.core.view import View
from transom.errors import InvalidSetting, quote

DEFAULT_TARGET = 0.6

NO_LIMITS = Budget(context=UNLIMITED)
"""No limits."""


class Target(Struct, frozen=True):
    """What a strategy must reach: `view.total` within `goal` (raw size, everything included). And what it may use.

    `deep_goal`: the goal for shortening required units; deeper, so that the next call need not repeat it. `limit`: of
    the budget and the policy; if messages or bytes fill up first, its tokens are lowered to match. `fixed_size`: head
    and required units. `reference` names an entry. `required`: keys of the units that must stay in the window (first
    task, newest user message). `protected`: these, and the units that keepers name. `newest_unit`: its key. `hard`:
    the window does not fit the limit; also places that the user restored may be changed. `due_notes`: the notes that
    will be added before the request; `goal` leaves room for them. `derived`: data from the log, such as indexes.
    `waits_for_wants`: what a strategy wants is waited for, however little there is to gain.
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
    hard: bool = False
    due_notes: Size = ZERO
    derived: Derived = field(default_factory=Derived)
    waits_for_wants: bool = False

    def pressure(self, view: View, saved: Size = ZERO) -> float:
        """How full the fullest limit would be, due notes included, after `saved` is gone."""
        return pressure(view.total.plus(self.due_notes).minus(saved), self.fixed_size, self.limit)

    def is_met(self, view: View) -> bool:
        """Whether nothing is left to do."""
        return fits(view.total, self.goal)


Strategy = Callable[[View, Target], Iterator[Edit]]


class KeptUnit(NamedTuple):
    """The key of a unit that a compaction pins out of its folds, why, and the trim that makes it small enough."""

    key: int
    why: str
    trim: Trim | None = None


Keeper = Callable[[View, Target], Iterator[KeptUnit]]

RecallStep = Callable[[View, Target], Iterator[Recalled]]
"""Brings old entries back for the newest turn. It gives at most one fact: nothing where nothing is worth its tokens."""


class Policy(Struct, frozen=True, kw_only=True):
    """When strategies run, and which. `name` is for reports and errors.

    `arrival` strategies run on entries that no request has carried yet, so their edits break no cached prefix.
    `pressure` strategies run when the fullest limit is at `trigger`, one after the other until it is down to `target`.
    `hard` strategies run when the window is over a limit, until it fits.

    `trigger` and `target` are shares of the room that a limit leaves beside the head and the required messages; a
    trigger of infinity means never. `keepers` name units that the `pressure` strategies do not fold away; the `hard`
    ones may. From `soft_trigger` on, a share of the trigger, what the `pressure` strategies want (summaries) is made in
    the background; without one, they want it when they run, and the request waits. `own_limits` start the `pressure`
    strategies where they are lower than the budget's limits; no request is refused because of them.

    `recall` steps bring back old entries that the newest turn refers to: the first fact that one of them gives is
    added at the end of the window, once for each turn. A compaction makes room for it if it must; where there is no
    room, nothing is recalled. Raises InvalidSetting.
    """

    name: str
    keepers: tuple[Keeper, ...] = ()
    arrival: tuple[Strategy, ...] = ()
    pressure: tuple[Strategy, ...] = ()
    hard: tuple[Strategy, ...] = ()
    recall: tuple[RecallStep, ...] = ()
    trigger: float = 0.95
    target: float = DEFAULT_TARGET
    soft_trigger: float | None = None
    own_limits: Budget = NO_LIMITS

    def __post_init__(self) -> None:
        for name in ("keepers", "arrival", "pressure", "hard", "recall"):
            _must_be_steps(name, getattr(self, name))
        for name in ("trigger", "target"):
            share = cast("object", getattr(self, name))
            never = name == "trigger" and share == float("inf")
            if not isinstance(share, (int, float)) or not (0 <= share <= 1 or never):
                raise InvalidSetting(f"policy: {name} must be a share of the room, from 0 to 1, not {quote(share)}")
        soft = cast("object", self.soft_trigger)
        if soft is not None and not (isinstance(soft, (int, float)) and 0 <= soft <= 1):
            raise InvalidSetting(f"policy: soft_trigger must be a share of the trigger, from 0 to 1, not {quote(soft)}")
        if self.target > self.trigger > 0 and self.target != DEFAULT_TARGET:
            raise InvalidSetting(f"policy: target {self.target} must not be above trigger {self.trigger}")
        if not isinstance(cast("object", self.own_limits), Budget):
            raise InvalidSetting(f"policy: own_limits must be a Budget, not {quote(self.own_limits)}")

    def prepare(self, view: View, budget: Budget, derived: Derived) -> None:
        """Warm the strategies' indexes before the next plan. Optional: it changes latency, never a window.

        Calls `prepare(view, budget, derived)` of every strategy that has such a method.
        """
        for strategy in (*self.arrival, *self.pressure, *self.hard, *self.recall):
            if (prepare := getattr(strategy, "prepare", None)) is not None:
                with naming(strategy, self):
                    prepare(view, budget, derived)


def wants_of(strategy: Strategy, view: View, target: Target, policy: Policy) -> list[Summarise]:
    """What a strategy wants before it runs: the wants of its method `wants(view, target)`, if it has one."""
    wants = getattr(strategy, "wants", None)
    if wants is None:
        return []
    with naming(strategy, policy):
        return list(wants(view, target))


def name_of(step: Strategy | Keeper | RecallStep) -> str:
    """How an error names a strategy, a keeper or a recall step: by its function or its class."""
    owner = step if hasattr(step, "__qualname__") else type(step)
    return f"{getattr(owner, '__module__', '')}.{getattr(owner, '__qualname__', '')}"


@contextmanager
def naming(step: Strategy | Keeper | RecallStep, policy: Policy) -> Generator[None]:
    """An error that a step of a policy raises gets a note with its name. The error itself stays what it is."""
    try:
        yield
    except Exception as error:
        error.add_note(f"raised by {name_of(step)}, in policy {quote(policy.name)}")
        raise


def _must_be_steps(name: str, steps: object) -> None:
    if not isinstance(steps, tuple) or not all(map(callable, cast("tuple[Any, ...]", steps))):
        kind = "callables" if name in {"keepers", "recall"} else "strategies"
        raise InvalidSetting(f"policy: {name} must be a tuple of {kind}, not {quote(cast('object', steps))}")
    if classes := [step.__name__ for step in cast("tuple[Any, ...]", steps) if isinstance(step, type)]:
        raise InvalidSetting(f"policy: {name} needs {classes[0]}(), with its settings, not the class")
