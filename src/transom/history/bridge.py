"""Any history manager drives the engine, and the engine is a history manager."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from transom.core.budget import Budget
from transom.core.edit import Edit
from transom.core.message import Raw
from transom.core.policy import Aim, Policy
from transom.core.view import View
from transom.drive.fit import fit
from transom.errors import InvalidSetting
from transom.history.diffing import difference
from transom.history.protocol import HistoryManager, SessionProtocol, strategy_name
from transom.history.reading import shown
from transom.history.session import Session
from transom.policies import policy_named
from transom.wire.saying import copied


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

    def __call__(self, view: View, aim: Aim) -> Iterator[Edit]:
        given = shown(view)
        handed: list[Raw] = copied(given.messages)
        session = self.session if self.session is not None else Session()
        result = self.manager.curate(list(handed), session=session)
        found = difference(view, aim, given, handed, result, strategy_name(self.manager))
        for what in found.ignored:
            self.told(what)
        yield from found.edits


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
    beneath = policy_named(base)
    return Policy(
        name=f"managed by {strategy_name(manager)}",
        arrival=(ManagedStrategy(manager, session, told),),
        pressure=beneath.pressure,
        hard=beneath.hard,
        trigger=beneath.trigger,
        target=beneath.target,
    )


class EngineManager(Struct, frozen=True):
    """A history manager on `transom.fit`: whatever the list holds, what it returns is valid and within the budget.

    Raises InvalidSetting for limits that `fit` does not know (bytes, images); `curate` BudgetImpossible,
    InvalidMessage.
    """

    policy: str | Policy = "default"
    budget: Budget = Budget()
    tools: tuple[Raw, ...] = ()

    def __post_init__(self) -> None:
        policy_named(self.policy)
        if self.budget.max_bytes is not None or self.budget.max_images is not None:
            raise InvalidSetting("an EngineManager has no limits of bytes and images: open a Conversation for these")

    def curate(self, messages: Sequence[dict[str, Any]], *, session: SessionProtocol) -> list[dict[str, Any]]:  # noqa: ARG002 - protocol
        return fit(
            messages,
            context=self.budget.context,
            reserve=self.budget.reserve,
            max_messages=self.budget.max_messages,
            policy=self.policy,
            tools=self.tools,
        )
