"""The conversation for an event loop (asyncio or trio): the methods of `Conversation`, each in a worker thread."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import ExitStack, aclosing, asynccontextmanager
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack

from transom.conversation import argument_checks as check
from transom.conversation.access.lease import pauses
from transom.conversation.argument_checks import Content, State
from transom.conversation.conversation import Conversation
from transom.conversation.events import Event, Finished, RunResult
from transom.conversation.runs.run_options import RunOptions
from transom.conversation.settings import Settings
from transom.conversation.summary_job import AwaitSummary, SummaryOutcome, SummarySteps
from transom.conversation.usage import ConversationUsage, WindowUsage
from transom.core.budget import Budget
from transom.core.entry import Meta
from transom.core.message import Head
from transom.core.policy import Policy
from transom.core.summary import Summary
from transom.core.view import View
from transom.stores import Store, StoredLog
from transom.wire.dialect import Dialect

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K")


async def _in_thread(call: Callable[[], R]) -> R:
    from transom.conversation.threads import in_thread  # noqa: PLC0415 - anyio only where there is an event loop

    return await in_thread(call)


def _async(
    method: Callable[Concatenate[Conversation, P], R],
) -> Callable[Concatenate[AsyncConversation, P], Awaitable[R]]:
    """The method, for an event loop."""

    @wraps(method)
    async def call(self: AsyncConversation, *args: P.args, **kwargs: P.kwargs) -> R:
        return await _in_thread(partial(method, self.conversation, *args, **kwargs))

    return call


def _waiting(
    method: Callable[Concatenate[Conversation, P], R], steps: Callable[Concatenate[Conversation, P], SummarySteps[R]]
) -> Callable[Concatenate[AsyncConversation, P], Awaitable[R]]:
    """A method that may wait for a summary, for an event loop: its steps in worker threads, the wait on the loop."""

    @wraps(method)
    async def call(self: AsyncConversation, *args: P.args, **kwargs: P.kwargs) -> R:
        from transom.conversation.runs.async_driver import await_summary_async  # noqa: PLC0415 - as above

        begun = steps(self.conversation, *args, **kwargs)
        outcome: SummaryOutcome | None = None
        while True:
            want = await _in_thread(partial(_advance, begun, outcome))
            if isinstance(want, _Returned):
                return want.value
            outcome = await await_summary_async(want)

    return call


class _Returned(Generic[R]):
    def __init__(self, value: R) -> None:
        self.value = value


def _advance(steps: SummarySteps[R], outcome: SummaryOutcome | None) -> AwaitSummary | _Returned[R]:
    """One step. StopIteration cannot leave a thread."""
    try:
        return next(steps) if outcome is None else steps.send(outcome)
    except StopIteration as done:
        return _Returned(done.value)


def _opener(
    make: Callable[P, Conversation],
) -> Callable[Concatenate[type[AsyncConversation], P], Awaitable[AsyncConversation]]:
    """A class method that opens a conversation, for an event loop."""

    @wraps(make)
    async def call(cls: type[AsyncConversation], *args: P.args, **kwargs: P.kwargs) -> AsyncConversation:
        return cls(await _in_thread(partial(make, *args, **kwargs)))

    return call


class AsyncConversation:
    """The twin of `Conversation` for an event loop: the same names and arguments. Methods are awaited;
    properties are not.

    Planning and storing run in worker threads, so that neither blocks the loop. `conversation` is the conversation
    itself.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation

    open = classmethod(_opener(Conversation.open))
    from_messages = classmethod(_opener(Conversation.from_messages))

    user = _async(Conversation.user)
    observe = _async(Conversation.observe)
    failed = _async(Conversation.failed)
    tool_result = _async(Conversation.tool_result)
    append = _async(Conversation.append)
    extend = _async(Conversation.extend)
    readback = _async(Conversation.readback)
    search = _async(Conversation.search)
    pin = _async(Conversation.pin)
    undo = _async(Conversation.undo)
    compact = _waiting(Conversation.compact, Conversation._compact_steps)  # pyright: ignore[reportPrivateUsage]
    edit = _async(Conversation.edit)
    preview_edit = _async(Conversation.preview_edit)
    last_edit = _async(Conversation.last_edit)
    request = _waiting(Conversation.request, Conversation._request_steps)  # pyright: ignore[reportPrivateUsage]
    plan_request = _waiting(Conversation.plan_request, Conversation._plan_request_steps)  # pyright: ignore[reportPrivateUsage]
    window = _async(Conversation.window)
    set_mode = _async(Conversation.set_mode)
    prepare = _async(Conversation.prepare)
    explain = _async(Conversation.explain)
    edit_costs = _async(Conversation.edit_costs)
    view_at_call = _async(Conversation.view_at_call)
    close = _async(Conversation.close)

    def subscribe(self, kind: type[K], callback: Callable[[K], object]) -> Callable[[], None]:
        """As `Conversation.subscribe`. The callback is called in a worker thread."""
        return self.conversation.subscribe(kind, callback)

    async def fork(self, at: int | None = None, name: str | None = None) -> Self:
        """As `Conversation.fork`."""
        return type(self)(await _in_thread(partial(self.conversation.fork, at, name)))

    async def run(self, input: Content | None = None, **settings: Unpack[RunOptions]) -> RunResult:  # noqa: A002
        """As `Conversation.run`; cancelling the task stops the run and leaves a valid log."""
        result: RunResult | None = None
        async with aclosing(self._events(input, settings, stream=False)) as events:
            async for event in events:
                if isinstance(event, Finished):
                    result = event.result
        assert result is not None
        return result

    def stream(self, input: Content | None = None, **settings: Unpack[RunOptions]) -> AsyncGenerator[Event, None]:  # noqa: A002
        """As `Conversation.stream`. The results of parallel tools are logged as they come, and reported when all are
        done."""
        return self._events(input, settings, stream=True)

    def _events(self, input: Content | None, settings: RunOptions, *, stream: bool) -> AsyncGenerator[Event, None]:  # noqa: A002 - as in `run`
        from transom.conversation.runs.async_driver import drive_async  # noqa: PLC0415 - anyio only where there is a loop

        begin = self.conversation._start  # pyright: ignore[reportPrivateUsage] - the twin
        return drive_async(
            partial(begin, input, settings, stream=stream),
            approve=settings.get("approve"),
            cancel=settings.get("cancel"),
        )

    @asynccontextmanager
    async def lease(self, wait: float = 0) -> AsyncGenerator[None]:
        """As `Conversation.lease`."""
        import anyio  # noqa: PLC0415 - only where there is an event loop

        left = pauses(check.seconds("wait", wait))
        with ExitStack() as stack:
            while not await _in_thread(partial(self.conversation._holds, stack)):  # pyright: ignore[reportPrivateUsage]
                if (pause := next(left, None)) is None:
                    await _in_thread(partial(stack.enter_context, self.conversation.lease()))
                    break
                await anyio.sleep(pause)
            yield

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    # ---- settings and facts

    @property
    def log(self) -> StoredLog:
        """The log of everything that happened. It is synchronous: on an event loop, read it in a worker thread."""
        return self.conversation.log

    @property
    def view(self) -> View:
        """What the log shows now."""
        return self.conversation.view

    @property
    def store(self) -> Store | None:
        """The store that it was opened from."""
        return self.conversation.store

    @property
    def summary(self) -> Summary | None:
        """The newest summary of the conversation."""
        return self.conversation.summary

    @property
    def user_id(self) -> str:
        """Whose conversation it is; empty if nobody's."""
        return self.conversation.user_id

    @property
    def session_id(self) -> str:
        """The session that it belongs to; empty if none."""
        return self.conversation.session_id

    @property
    def tags(self) -> Meta:
        """The mode, the run and the agent that every new fact has in its `Meta`."""
        return self.conversation.tags

    @tags.setter
    def tags(self, tags: Meta) -> None:
        self.conversation.tags = tags

    @property
    def mode(self) -> str:
        """The mode that `set_mode` has set; empty if none."""
        return self.conversation.mode

    @property
    def head(self) -> Head:
        """What stands before the conversation in the next window."""
        return self.conversation.head

    @property
    def indexes(self) -> Any:
        """Data computed from the log so far."""
        return self.conversation.indexes

    @property
    def usage(self) -> ConversationUsage:
        """What the requests of this conversation took, their cost, and how full the window is."""
        return self.conversation.usage

    @property
    def window_usage(self) -> WindowUsage:
        """How full the window is before the next plan."""
        return self.conversation.window_usage

    @property
    def settings(self) -> Settings:
        """The settings of the next request."""
        return self.conversation.settings

    @property
    def dialect(self) -> Dialect:
        """The provider API this conversation speaks."""
        return self.conversation.dialect

    @property
    def budget(self) -> Budget:
        """The limits of the next request."""
        return self.conversation.budget

    @budget.setter
    def budget(self, budget: Budget | int | str) -> None:
        self.conversation.budget = budget

    @property
    def policy(self) -> Policy:
        """How the next window is kept small."""
        return self.conversation.policy

    @policy.setter
    def policy(self, policy: str | Policy) -> None:
        self.conversation.policy = policy

    @property
    def state(self) -> dict[str, State]:
        """What the model reads when it changes, by key: a copy."""
        return self.conversation.state

    @state.setter
    def state(self, state: Mapping[str, State] | None) -> None:
        self.conversation.state = state
