"""The tests that every strategy and policy must pass, as classes to inherit from. This module needs pytest and
Hypothesis.

    class TestMine(StrategyConformance):
        strategy = Mine()
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from transom.core.budget import Budget
from transom.core.entry import Entry
from transom.core.message import Fact, role_of
from transom.core.policy import Policy, Strategy
from transom.errors import BudgetImpossible, shorten
from transom.evaluation.explanations import preview
from transom.policies import policy_named
from transom.policies.last_resort import LAST_RESORT
from transom.testing.laws import check_plan, check_plans_in_turn, check_proposals, plan_call
from transom.testing.random_logs import Step, budgets, logs, states, work_logs, write_log

_SLOW_PHASES = (Phase.shrink, Phase.explain)
"""The phases of Hypothesis that take minutes for a failing test, and no time for one that passes."""


class PolicyConformance:
    """The tests of a policy. Inherit from it in a class that pytest collects, and set `policy`: a policy or its name.

    You may also set `dialects` (the names of the APIs whose rules the windows must obey), `examples` (how many random
    logs each test tries; None: what the Hypothesis profile says) and `shrink` (whether a failure is reported only after
    the smallest log that fails was looked for, which can take minutes).
    """

    policy: str | Policy
    """The policy, or its name."""
    dialects: ClassVar[Sequence[str]] = ("openai",)
    """The names of the provider APIs by whose rules its windows are checked."""
    examples: ClassVar[int | None] = None
    """How many random logs each test tries; None: as many as the Hypothesis profile says."""
    shrink: ClassVar[bool] = False
    """Whether a failure is reported only after the smallest log that fails was looked for, which can take minutes."""

    def policies(self) -> list[Policy]:
        """The policies that the tests use: yours, and a copy with less room, which compacts earlier and more often."""
        few = Budget(context=300, max_messages=6)
        policy = policy_named(self.policy)
        return [policy, replace(policy, trigger=0.3, target=0.1, own_limits=few)]

    def test_every_plan_obeys_the_laws(self) -> None:
        """Every law of a single plan (`check_plan`), for random logs, states and budgets. Where nothing fits the
        budget, nothing is checked."""

        @self._settings()
        @given(_any_log(), states(), budgets(), st.sampled_from(self.policies()), st.sampled_from(self.dialects))
        def law(log: list[Entry], state: dict[str, str], budget: Budget, policy: Policy, dialect: str) -> None:
            with _log_reported(log, budget=budget, state=state, dialect=dialect):
                try:
                    call = plan_call(log, budget, policy, state=state, dialect=dialect)
                except BudgetImpossible:
                    return
                check_plan(call)

        law()

    def test_each_request_begins_with_the_one_before_or_names_the_break(self) -> None:
        """Law 3: of two requests in a row the second begins with the whole first one, or names its break."""

        @self._settings()
        @given(logs(), logs(), states(), budgets(), st.sampled_from(self.policies()), st.sampled_from(self.dialects))
        def law(
            log: list[Entry], news: list[Entry], state: dict[str, str], budget: Budget, policy: Policy, dialect: str
        ) -> None:
            with _log_reported(log, news, budget=budget, state=state, dialect=dialect):
                check_plans_in_turn(log, news, budget, policy, state=state, dialect=dialect)

        law()

    def test_a_log_without_turns_can_be_planned(self) -> None:
        """A log with only a note has no turn to compact. Its plan must be valid all the same."""
        for policy in self.policies():
            check_plan(plan_call(write_log([Step("other")]), Budget(context=150), policy))

    def _settings(self) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """The settings of Hypothesis for a test: the number of examples, and no time limit, because a slow machine is
        not a mistake. The first failure is reported as it was found, unless `shrink` is set."""
        return settings(
            max_examples=self.examples or settings().max_examples,
            deadline=None,
            phases=[phase for phase in settings().phases if phase not in _SLOW_PHASES or self.shrink],
            report_multiple_bugs=False,
            verbosity=Verbosity.quiet,  # the log as Hypothesis made it is unreadable: see `_log_reported`
            suppress_health_check={*settings().suppress_health_check, HealthCheck.too_slow},
        )


class StrategyConformance(PolicyConformance):
    """The tests of a strategy, alone and in a policy. Inherit from it in a class that pytest collects, and set
    `strategy`. Set `arrival` to true if the strategy runs on what was not sent yet, and not when a window is full. The
    other settings are those of `PolicyConformance`; `policy` is not used."""

    strategy: Strategy
    """The strategy to be tested."""
    arrival: ClassVar[bool] = False
    """Whether the strategy runs on arrival, before an entry is first sent, and not under pressure."""

    def policies(self) -> list[Policy]:
        """One policy, which runs this strategy and then the last resort."""
        policy = Policy(name="conformance", last_resort=LAST_RESORT, trigger=0.4, target=0.1)
        # A function as a class attribute would be bound to the instance.
        strategy = type(self).__dict__.get("strategy", self.strategy)
        return [replace(policy, arrival=(strategy,)) if self.arrival else replace(policy, pressure=(strategy,))]

    @pytest.mark.parametrize("over_limit", [False, True], ids=["within the limit", "over the limit"])
    def test_what_it_proposes_saves_something_and_spares_what_must_stay(self, over_limit: bool) -> None:
        """Laws 7 and 10, for the proposals alone, before a plan chooses among them: each fold or trim saves bytes and
        tokens, and spares the newest unit and what is pinned, open or restored (`check_proposals`)."""
        (policy,) = self.policies()
        strategy = (*policy.arrival, *policy.pressure)[0]

        @self._settings()
        @given(_any_log())
        def law(log: list[Entry]) -> None:
            with _log_reported(log):
                check_proposals(log, strategy, over_limit=over_limit, arrival=self.arrival)

        law()


@contextmanager
def _log_reported(log: Sequence[Entry], news: Sequence[Entry] = (), **about: object) -> Generator[None]:
    """Add a note to an error of the block: the log of the test, an entry a line. `news`: what was appended after the
    first plan. `about`: what else the test was given."""
    try:
        yield
    except Exception as problem:
        lines = ["the log, an entry a line (`shrink = True` in your class looks for a smaller one, for minutes):"]
        lines += [_entry_line(one) for one in log]
        lines += ["appended after the first plan:", *map(_entry_line, news)] if news else []
        lines += [f"{name}: {value}" for name, value in about.items()]
        problem.add_note("\n".join(lines))
        raise


def _entry_line(entry: Entry) -> str:
    """Describe an entry on one line: a fact by its role and text, another one by its fields."""
    body = entry.body
    if isinstance(body, Fact):
        return f"{entry.seq:>4} {role_of(body)}: {preview(body)}"
    return f"{entry.seq:>4} {shorten(' '.join(repr(body).split()), 110)}"


def _any_log() -> st.SearchStrategy[list[Entry]]:
    """Random conversations, and logs as of a coding agent."""
    return st.one_of(logs(), work_logs())
