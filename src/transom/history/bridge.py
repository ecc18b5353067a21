"""Two adapters: `managed_policy` makes a policy of a history manager, `EngineManager` is Transom's planning as a
manager."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from transom.conversation.fit import fit_or_empty
from transom.core.budget import Budget
from transom.core.edit import Edit
from transom.core.message import Raw
from transom.core.policy import Policy, Target
from transom.core.tool import Tool
from transom.core.view import View
from transom.history.diff import Difference, view_messages
from transom.history.managers import HistoryManager, Messages, strategy_name
from transom.policies import policy_named


class NotCurated(UserWarning):
    """Warns that a manager made a change that no edit can make. The change is not made; the window is valid without
    it."""


def _warn(message: str) -> None:
    """Warn with `NotCurated`."""
    warnings.warn(message, NotCurated, stacklevel=2)


class ManagedStrategy(Struct, frozen=True):
    """A strategy that gives copies of a view's messages to a manager, and proposes the edits that make the same
    changes.

    A turn that the manager removes is folded; a text that it puts in the place of removed turns becomes the text of the
    fold. A text that it shortens is trimmed. A result that it removes without its call is trimmed to its reference.
    Both kinds of edits name the entries.

    Other changes are not made, and `on_ignored` is called with a line for each: a call removed without its results,
    another order, new messages, longer texts, other calls, a removed system message. An exception of the manager is
    passed on.
    """

    manager: HistoryManager
    session: object = None
    on_ignored: Callable[[str], None] = _warn

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        messages = view_messages(view)
        result = cast("object", self.manager.curate([each.message for each in messages], session=self.session))
        if not isinstance(result, (list, tuple)):
            self.on_ignored(f"a manager must return a list of messages, not {type(result).__name__}")
            return
        returned = cast("Sequence[object]", result)
        difference = Difference(view, target, messages, returned, strategy_name(self.manager))
        edits = [*difference.trims(), *difference.folds()]
        for message in dict.fromkeys(difference.ignored):
            self.on_ignored(message)
        yield from edits


def managed_policy(
    manager: HistoryManager,
    *,
    base: str | Policy = "default",
    session: object = None,
    on_ignored: Callable[[str], None] = _warn,
) -> Policy:
    """A policy in which a manager curates the messages before every request that has new ones.

    The manager gets the messages of the window as it is, with earlier folds and trims. What it removes stays out of
    later windows; `undo` brings it back. If the window is over the budget all the same, the policy `base` makes it
    smaller: every window is valid and within the budget. `session`: given to the manager at each call. `on_ignored` is
    called with a line for each change that no edit can make; by default these are `NotCurated` warnings. Raises
    InvalidSetting for an unknown base.
    """
    name, strategy = f"managed by {strategy_name(manager)}", ManagedStrategy(manager, session, on_ignored)
    return replace(policy_named(base), name=name, arrival=(strategy,))


class EngineManager(Struct, frozen=True):
    """A history manager that calls `transom.fit`: its result is valid and within the budget. A list
    with nothing to show gives an empty list. The session is not used.

    Raises InvalidSetting for an unknown policy. `curate` raises BudgetImpossible if nothing fits, and InvalidMessage if
    an item is not an OpenAI chat message.
    """

    policy: str | Policy = "default"
    """A policy or its name."""
    budget: Budget = Budget()
    """The limits of the result."""
    tools: tuple[Raw | Tool, ...] = ()
    """The tools of the request; they count."""

    def __post_init__(self) -> None:
        policy_named(self.policy)

    def curate(self, messages: Messages, *, session: object) -> list[dict[str, Any]]:  # noqa: ARG002 - protocol
        return fit_or_empty(messages, budget=self.budget, policy=self.policy, tools=self.tools)
