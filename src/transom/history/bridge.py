"""Any history manager drives the engine, and the engine is a history manager."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from transom.conversation.fit import fit
from transom.core.budget import Budget
from transom.core.edit import Edit
from transom.core.message import Raw
from transom.core.policy import Policy, Target
from transom.core.tool import Tool
from transom.core.view import View
from transom.history.diff import Difference, shown
from transom.history.managers import HistoryManager, Messages, SessionProtocol, strategy_name
from transom.history.session import Session
from transom.policies import policy_named


class NotCurated(UserWarning):
    """A manager did what no edit can do: it was left undone, and the window is valid without it."""


def _warn(what: str) -> None:
    warnings.warn(what, NotCurated, stacklevel=2)


class ManagedStrategy(Struct, frozen=True):
    """Asks a manager what it makes of the messages that a view shows, and proposes the edits that do it.

    Turns it drops are folded (with its own words in their place, if it puts any there), texts it shortens are trimmed,
    each with a reference to the whole. What it does beside that is left undone and `told`: half a pair dropped (the
    result shows its reference alone), another order, messages from nowhere, longer texts, other calls, a system message
    gone. The manager gets copies. An error that it raises is passed on.
    """

    manager: HistoryManager
    session: SessionProtocol | None = None
    told: Callable[[str], None] = _warn

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        given = shown(view)
        session = Session() if self.session is None else self.session
        result = cast("object", self.manager.curate([one.message for one in given], session=session))
        if not isinstance(result, (list, tuple)):
            self.told(f"a manager must return a list of messages, not {type(result).__name__}")
            return
        found = Difference(view, target, given, cast("Sequence[object]", result), strategy_name(self.manager))
        edits = [*found.trims(), *found.folds()]
        for what in dict.fromkeys(found.ignored):
            self.told(what)
        yield from edits


def managed_policy(
    manager: HistoryManager,
    *,
    base: str | Policy = "default",
    session: SessionProtocol | None = None,
    told: Callable[[str], None] = _warn,
) -> Policy:
    """A policy under which the manager curates before every call that has something new; `base` steps in when room is
    short all the same, so that every window is valid and in budget.

    The manager sees the window as it stands, older cuts included. What it drops stays dropped, and can be undone.
    Raises InvalidSetting for an unknown base.
    """
    name, strategy = f"managed by {strategy_name(manager)}", ManagedStrategy(manager, session, told)
    return replace(policy_named(base), name=name, arrival=(strategy,))


class EngineManager(Struct, frozen=True):
    """A history manager on `transom.fit`: whatever the list holds, what it returns is valid and within the budget.

    Raises InvalidSetting for an unknown policy; `curate` raises BudgetImpossible, InvalidMessage.
    """

    policy: str | Policy = "default"
    budget: Budget = Budget()
    tools: tuple[Raw | Tool, ...] = ()

    def __post_init__(self) -> None:
        policy_named(self.policy)

    def curate(self, messages: Messages, *, session: SessionProtocol) -> list[dict[str, Any]]:  # noqa: ARG002 - protocol
        return fit(messages, budget=self.budget, policy=self.policy, tools=self.tools)
