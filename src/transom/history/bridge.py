"""Uses a history manager as a policy (`managed_policy`), and Transom's planning as a history manager
(`EngineManager`)."""

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
    """Warns that a manager made a change that no edit can make. The change is left out; the window is valid without
    it."""


def _warn(message: str) -> None:
    """Give a warning of the class `NotCurated`."""
    warnings.warn(message, NotCurated, stacklevel=2)


class ManagedStrategy(Struct, frozen=True):
    """A strategy that gives copies of a view's messages to a manager, and proposes the edits that make its changes.

    A turn that the manager removes is folded. A text that it puts in the place of removed turns becomes the text of the
    fold. A text that it shortens is trimmed. A result that it removes without its call is trimmed to a reference. Folds
    and trims name the entries that they hide.

    Other changes are not made, and `on_ignored` is called with a line for each, equal lines once: a call removed
    without its results, another order, new messages, longer texts, other calls, a changed system message. It is also
    called if the manager does not return a list. The first task, the newest user message, the newest turn, pinned units
    and what the user restored stay in the window if the manager removes them; of these no line says so. An exception of
    the manager is passed on. `session`: given to the manager at each call.
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
    """Return a policy in which a manager chooses what the model sees, before every request that has new messages.

    The manager gets the messages of the window, with earlier folds and trims. What it removes stays out of later
    windows, until an undo brings it back. The first task, the newest user message, the newest turn and pinned units
    stay, whatever it removes.

    `base`: a policy or its name. If the window is over the budget all the same, this policy makes it smaller, so every
    window is valid and within the budget. The manager takes the place of what `base` does with new messages (`default`
    clips long results).

    `session`: given to the manager at each call. `on_ignored`: called with a line for each change that no edit can
    make; by default it gives a `NotCurated` warning. Raises InvalidSetting for an unknown base.
    """
    name, strategy = f"managed by {strategy_name(manager)}", ManagedStrategy(manager, session, on_ignored)
    return replace(policy_named(base), name=name, arrival=(strategy,))


class EngineManager(Struct, frozen=True):
    """A history manager that calls `transom.fit`, so that its result is valid and within the budget.

    `policy`: a policy or its name. `budget`: the limits of the result. `tools`: those of the request; they count, but
    are not in the result. A list without a message that can be shown gives an empty list. The session is not used.
    Raises InvalidSetting for an unknown policy. `curate` raises BudgetImpossible if nothing fits, and InvalidMessage if
    an item is not an OpenAI Chat message.
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
