"""The work that a run waits for, as values: the run yields them, a driver does the work and sends the outcome back.

| work | the outcome |
|---|---|
| CallModel | the reply; None if it was streamed (the accumulator has it); a ProviderError if there is none |
| Approve | True, False, a text that says why not, or None if the call is to wait |
| RunTools | the next job that is done; its `outcome` is set |
| Sleep | None |
| AwaitSummary | a SummaryOutcome: the summary, or why there is none |

And how a run is stopped: by its conversation (`PublishedSteps.stop`), or by `cancel`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextvars import ContextVar
from inspect import GEN_RUNNING, getgeneratorstate
from threading import Lock
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from transom.conversation.event_bus import EventBus
from transom.conversation.events import ToolCalled
from transom.conversation.function_tool import FunctionTool
from transom.conversation.model_calls.model_call import CallModel
from transom.conversation.settings import Settings
from transom.conversation.summary_job import AwaitSummary
from transom.core.entry import Meta
from transom.core.message import Usage
from transom.errors import InvalidSetting, RunStopped
from transom.providers.base import Provider
from transom.stores import Store

R = TypeVar("R")


class ToolOutcome(Struct, frozen=True, kw_only=True):
    """What became of a tool call.

    `content`: what the tool returned, or what the model reads in place of that. `failed`: as in `ToolReturned`.
    `duration`: seconds that the tool took; None if it was not run. `waits`: the call is a sub-agent's, in which calls
    wait for approval; the sub-agent goes on when its own call is approved. `given_up`: nobody waits for the tool any
    longer, but it may still be at work. `usage`, `cost`, `log`: of a sub-agent's run; None, None and empty for any
    other tool. The cost is None also if it is not known.
    """

    content: object
    failed: bool = False
    duration: float | None = None
    usage: Usage | None = None
    cost: float | None = None
    log: str = ""
    waits: bool = False
    given_up: bool = False


class Caller(Struct, frozen=True, kw_only=True, eq=False):
    """What a sub-agent needs to know of the run that calls it.

    `log`, `store`, `tags`: the name, the store and the tags of the caller's conversation. `provider`: whom the caller
    has asked last. `approve`: the caller's `RunOptions.approve`; None if it has none. `tokens_left`, `cost_left`: how
    many tokens and US dollars this one call may use; None for no limit.
    """

    log: str
    store: Store | None
    settings: Settings
    """Of the caller's conversation: the sub-agent's inherits some of them (`Settings.of_sub_agent`)."""
    tags: Meta
    provider: Provider
    approve: Callable[[ToolCalled], Any] | None
    tokens_left: int | None
    cost_left: float | None


class ToolJob:
    """A tool call that a driver runs. The driver sets `started`, and `outcome` when the tool is done.

    `tool`: None if the run answers the call itself. `arguments`: checked and converted. `timeout`: seconds until nobody
    waits for the tool any more; None for no limit. Any thread may use it.
    """

    def __init__(
        self, call: ToolCalled, tool: FunctionTool | None, arguments: dict[str, Any], timeout: float | None = None
    ) -> None:
        self.call, self.tool, self.arguments, self.timeout = call, tool, arguments, timeout
        self.started = False
        self.compacts = False  # a call of context_manager, which the run answers itself
        self.is_logged = False  # whether its result is in the log
        self.waits = False  # for a person's approval
        self.outcome: ToolOutcome | None = None
        self.caller: Caller | None = None
        self._lock = Lock()
        self._late: ToolOutcome | None = None
        self._log_late: Callable[[ToolOutcome], object] | None = None

    def finish(self, outcome: ToolOutcome) -> bool:
        """Set the outcome of the tool. Returns False if the call was given up before. Then the outcome is late: it is
        logged as a late result, behind the result that says that nobody waits for the tool any more."""
        with self._lock:
            if self.outcome is None:
                self.outcome = outcome
                return True
            self._late, log_late = outcome, self._log_late
        if log_late is not None:
            log_late(outcome)
        return False

    def give_up(self, outcome: ToolOutcome) -> None:
        """Set the outcome of a call that nobody waits for any longer, unless the tool is done."""
        with self._lock:
            self.outcome = self.outcome or outcome

    def log_late(self, log: Callable[[ToolOutcome], object]) -> None:
        """Have `log` called with a late outcome: at once if there is one already, else when it comes. To be called
        after the result of the call was logged."""
        with self._lock:
            self._log_late, late = log, self._late
        if late is not None:
            log(late)


CURRENT_JOB: ContextVar[ToolJob] = ContextVar("transom_tool_job")
"""The call that a tool answers, while it runs."""


class Approve(Struct, frozen=True, eq=False):
    """Work for a driver: ask `RunOptions.approve` whether the call of `job` may run. The outcome is what it answers:
    True, False, a text that says why not, or None if the call is to wait for a person."""

    job: ToolJob


class RunTools(Struct, frozen=True, eq=False):
    """Work for a driver: start the calls of `jobs`, all at the same time, then wait until any call that was started is
    done. Without jobs nothing is started. The outcome is the job that is done, each job once."""

    jobs: tuple[ToolJob, ...] = ()


class Sleep(Struct, frozen=True, eq=False):
    """Work for a driver: wait `seconds`. The outcome is None."""

    seconds: float


Work = CallModel | Approve | RunTools | Sleep | AwaitSummary


class PublishedSteps(Generator[Any, Any, Any]):
    """The steps of a run as its conversation hands them out: events are published too, without the conversation's lock,
    and `stop` can end them."""

    def __init__(self, steps: Generator[Any, Any, Any], bus: EventBus) -> None:
        self._steps, self._bus = steps, bus
        self._is_stopped = False

    def stop(self) -> None:
        """End the run, because its conversation closes: what is open in the log is closed now, and whoever still drives
        the run gets an error. If a step is at work in another thread, nothing happens here: that step meets the closed
        conversation itself."""
        try:
            self._steps.close()
        except ValueError:
            if self._is_at_work():  # the step at work meets the closed conversation itself
                return
            raise
        finally:
            self._is_stopped = not self._is_at_work()

    def _is_at_work(self) -> bool:
        return getgeneratorstate(self._steps) == GEN_RUNNING

    def send(self, value: Any) -> Any:
        """Go on with the outcome of what the generator waited for, and return what it yields next.

        Raises InvalidSetting if the conversation was closed meanwhile.
        """
        if self._is_stopped:
            raise InvalidSetting("the conversation is closed")
        return self._seen(self._steps.send(value))

    def throw(self, *reason: Any) -> Any:
        """Throw an exception into the generator, which closes what is open in the log, and return what it yields
        meanwhile. When it has done that, it raises the exception again, here or from a later `send`."""
        return self._seen(self._steps.throw(*reason))

    def _seen(self, item: Any) -> Any:
        if self._bus.callbacks and not isinstance(item, Work):
            self._bus.publish(item)
        return item


# ---- stopping a run

TICK = 0.1
"""Seconds between two looks at `cancel` while a driver waits."""


class Cancel(Protocol):
    """A threading.Event, or anything like it."""

    def is_set(self) -> bool:
        """Whether the run must stop."""
        ...


def check_cancel(cancel: Cancel | None) -> None:
    """Raises RunStopped if `cancel` is set."""
    if cancel is not None and cancel.is_set():
        raise cancelled()


def cancelled() -> RunStopped:
    """The error that a run raises once `cancel` is set."""
    return RunStopped("cancelled", "the run was cancelled")
