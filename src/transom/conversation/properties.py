"""The properties of a conversation: what it was opened with, and what may be set for the next request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakSet

from transom.conversation import argument_checks as check
from transom.conversation.argument_checks import State
from transom.conversation.bus import PublishedSteps
from transom.conversation.request_planner import RequestPlanner
from transom.conversation.summary_scheduler import SummaryScheduler
from transom.conversation.usage import WindowUsage
from transom.core.budget import Budget
from transom.core.derived import Derived
from transom.core.entry import Meta
from transom.core.message import Head
from transom.core.policy import Policy
from transom.core.summary import Summary
from transom.core.view import View
from transom.errors import InvalidSetting
from transom.policies import policy_named
from transom.stores import Store, StoredLog
from transom.wire.dialect import Dialect

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K")
C = TypeVar("C", bound="ConversationProperties")


def locked(method: Callable[Concatenate[C, P], R]) -> Callable[Concatenate[C, P], R]:
    """One thread at a time: the method holds the conversation's lock."""

    @wraps(method)
    def call(self: C, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:  # pyright: ignore[reportPrivateUsage] - the class's own decorator
            return method(self, *args, **kwargs)

    return call


class ConversationProperties:
    """The base class of `Conversation` that has its lock and its properties.

    The properties do not take the lock: each reads or sets one value.
    """

    def __init__(self, planner: RequestPlanner, summaries: SummaryScheduler) -> None:
        self._planner, self._summaries = planner, summaries
        self._lock = threading.RLock()
        self._closed = False
        self._is_running = False
        self._runs: WeakSet[PublishedSteps] = WeakSet()
        self._home: Store | None = None  # the store that it was opened from

    @property
    def log(self) -> StoredLog:
        """The log of everything that happened."""
        return self._planner.writer.log

    @property
    def dialect(self) -> Dialect:
        """The provider API this conversation speaks. A run speaks its provider's."""
        return self._planner.dialect

    @property
    def budget(self) -> Budget:
        """The limits of the next request. A number sets the context window, not the other limits."""
        return self._planner.budget

    @budget.setter
    def budget(self, budget: Budget | int) -> None:
        self._planner.budget = check.limits(budget, self._planner.budget)

    @property
    def policy(self) -> Policy:
        """How the next window is kept small. A name sets one of `transom.policies`."""
        return self._planner.policy

    @policy.setter
    def policy(self, policy: str | Policy) -> None:
        self._planner.policy = policy_named(policy)

    @property
    def state(self) -> dict[str, State]:
        """What the model reads when it changes, by key: a copy. Set a new dict to change it."""
        return dict(self._planner.state)

    @state.setter
    def state(self, state: Mapping[str, State] | None) -> None:
        announced = check.state(state)
        check.must_be_of_user("state", announced, self.user_id)
        self._planner.state = announced

    @property
    def summary(self) -> Summary | None:
        """The newest summary of the conversation: what a model, or code, made of its older turns."""
        newest = self.view.summary
        return None if newest is None else newest[1]

    @property
    def store(self) -> Store | None:
        """The store that it was opened from; None for a conversation that was made of a log."""
        return self._home

    @property
    def user_id(self) -> str:
        """Whose conversation it is; empty if nobody's."""
        return self._planner.writer.owner.user_id

    @property
    def session_id(self) -> str:
        """The session that it belongs to; empty if none."""
        return self._planner.writer.owner.session_id

    @property
    def tags(self) -> Meta:
        """The mode, the run and the agent that every new fact has in its `Meta`."""
        return self._planner.tags

    @tags.setter
    def tags(self, tags: Meta) -> None:
        self._planner.tags = check.tags(tags)

    @property
    def mode(self) -> str:
        """The mode that `set_mode` has set; empty if none."""
        return "" if self._planner.mode is None else self._planner.mode.mode

    @property
    def head(self) -> Head:
        """What stands before the conversation in the next window: instructions, and the tools of the last one."""
        return self._planner.frame.head

    @property
    def derived(self) -> Derived:
        """What was derived from the log so far. Not for use while another thread uses the conversation."""
        return self._planner.derived

    @property
    def view(self) -> View:
        """What the log shows now."""
        return self._planner.view

    @property
    def usage(self) -> WindowUsage:
        """How full the window is before the next plan."""
        return self._planner.usage(self.view)

    def subscribe(self, kind: type[K], callback: Callable[[K], object]) -> Callable[[], None]:
        """Call back with each event of this class, until the function that this returns is called.

        The events are those of `transom.conversation.bus`, and those of runs but for the two deltas; `object` is for
        all. The callback is called in the thread where it happens, behind the log, while the conversation is locked. It
        may read the conversation, and must be quick. What it raises is logged with `logging` and changes nothing.
        """
        return self._planner.bus.subscribe(kind, callback)

    def _must_be_open(self) -> None:
        if self._closed:
            raise InvalidSetting("the conversation is closed")
