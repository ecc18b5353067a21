"""The conversation for an event loop (asyncio or trio): the methods of `Conversation`, each in a worker thread."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack, aclosing, asynccontextmanager
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack

from transom.conversation import argument_checks as check
from transom.conversation.argument_checks import Content
from transom.conversation.conversation import Conversation
from transom.conversation.events import Event, Finished, RunResult
from transom.conversation.lock_and_lease import until_free
from transom.conversation.runs.run_options import RunOptions
from transom.conversation.summary_job import AwaitSummary, SummarySteps, next_step

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K")


async def _in_thread(call: Callable[[], R]) -> R:
    from transom.conversation.event_loop_threads import in_thread  # noqa: PLC0415 - anyio only where there is an event loop

    return await in_thread(call)


def _async(
    method: Callable[Concatenate[Conversation, P], R],
) -> Callable[Concatenate[AsyncConversation, P], Awaitable[R]]:
    """Make the awaitable twin of a method: it runs in a worker thread."""

    @wraps(method)
    async def call(self: AsyncConversation, *args: P.args, **kwargs: P.kwargs) -> R:
        return await _in_thread(partial(method, self.conversation, *args, **kwargs))

    return call


def _waiting(
    method: Callable[Concatenate[Conversation, P], R], steps: Callable[Concatenate[Conversation, P], SummarySteps[R]]
) -> Callable[Concatenate[AsyncConversation, P], Awaitable[R]]:
    """Make the awaitable twin of a method that may wait for a summary."""

    @wraps(method)
    async def call(self: AsyncConversation, *args: P.args, **kwargs: P.kwargs) -> R:
        from transom.conversation.runs.async_driver import await_summary_async  # noqa: PLC0415 - as above

        begun = steps(self.conversation, *args, **kwargs)
        step = await _in_thread(partial(next_step, begun, None))
        while isinstance(step, AwaitSummary):
            step = await _in_thread(partial(next_step, begun, await await_summary_async(step)))
        return step

    return call


def _opener(
    make: Callable[P, Conversation],
) -> Callable[Concatenate[type[AsyncConversation], P], Awaitable[AsyncConversation]]:
    """Make the awaitable twin of a class method that opens a conversation. It opens one in a worker thread."""

    @wraps(make)
    async def call(cls: type[AsyncConversation], *args: P.args, **kwargs: P.kwargs) -> AsyncConversation:
        return cls(await _in_thread(partial(make, *args, **kwargs)))

    return call


class _Property(property, Generic[R]):
    """A property of the conversation, found by the name under which it stands. `read` is there for its type."""

    def __init__(self, read: Callable[[Conversation], R]) -> None:
        super().__init__(read)
        self._name = ""

    def __set_name__(self, twin: type, name: str) -> None:
        self._name, of = name, getattr(Conversation, name)
        super().__init__(of.fget, of.fset)
        self.__doc__ = of.__doc__

    def __get__(self, twin: Any, kind: type | None = None) -> R:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self if twin is None else getattr(twin.conversation, self._name)  # pyright: ignore[reportReturnType]

    def __set__(self, twin: Any, value: object) -> None:
        setattr(twin.conversation, self._name, value)


class AsyncConversation:
    """The twin of `Conversation` for an event loop (asyncio or trio): the same names and arguments.

    Methods are awaited, `open` and `from_messages` too. Three are not: `subscribe` is an ordinary call, `stream` is
    read with `async for`, `lease` is entered with `async with`. Properties are read as usual.

    Planning and storing run in worker threads, so that neither blocks the loop. `conversation` is the `Conversation`
    that does the work.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation

    open = classmethod(_opener(Conversation.open))
    from_messages = classmethod(_opener(Conversation.from_messages))

    user = _async(Conversation.user)
    observe = _async(Conversation.observe)
    failed = _async(Conversation.failed)
    tool_result = _async(Conversation.tool_result)
    clip_new = _async(Conversation.clip_new)
    append = _async(Conversation.append)
    extend = _async(Conversation.extend)
    readback = _async(Conversation.readback)
    search = _async(Conversation.search)
    pin = _async(Conversation.pin)
    undo = _async(Conversation.undo)
    pending = _async(Conversation.pending)
    approved = _async(Conversation.approved)
    approve = _async(Conversation.approve)
    reject = _async(Conversation.reject)
    require_approval = _async(Conversation.require_approval)
    take_approved = _async(Conversation.take_approved)
    compact = _waiting(Conversation.compact, Conversation._compact_steps)  # pyright: ignore[reportPrivateUsage]
    edit = _async(Conversation.edit)
    preview_edit = _async(Conversation.preview_edit)
    last_edit = _async(Conversation.last_edit)
    request = _waiting(Conversation.request, Conversation._request_steps)  # pyright: ignore[reportPrivateUsage]
    plan_request = _waiting(Conversation.plan_request, Conversation._plan_request_steps)  # pyright: ignore[reportPrivateUsage]
    window = _async(Conversation.window)
    set_mode = _async(Conversation.set_mode)
    plan_for = _async(Conversation.plan_for)
    prepare = _async(Conversation.prepare)
    explain = _async(Conversation.explain)
    edit_costs = _async(Conversation.edit_costs)
    view_at_call = _async(Conversation.view_at_call)
    close = _async(Conversation.close)

    def subscribe(self, kind: type[K], callback: Callable[[K], object]) -> Callable[[], None]:
        """As `Conversation.subscribe`. The callback is called in a worker thread."""
        return self.conversation.subscribe(kind, callback)

    async def fork(self, at: int | None = None, name: str | None = None) -> Self:
        """Begin a conversation that has everything up to entry `at`, as `Conversation.fork` does, and return its async
        twin."""
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
        """As `Conversation.stream`; settings too are checked when the first event is asked for. The results of parallel
        tools are logged as they come, and reported when all are done."""
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
        """Be the only one who runs this conversation during the block, as with `Conversation.lease`. `wait`: seconds to
        wait while somebody else has the lease, without blocking the event loop."""
        import anyio  # noqa: PLC0415 - only where there is an event loop

        with ExitStack() as stack:
            hold = partial(self.conversation._guard.hold_lease, stack)  # pyright: ignore[reportPrivateUsage]
            tries = until_free(hold, check.seconds("wait", wait))
            while (pause := await _in_thread(partial(next, tries, None))) is not None:  # noqa: ASYNC110 - no event says it
                await anyio.sleep(pause)
            yield

    # settings and facts: read the log in a worker thread, because it is synchronous
    log = _Property(lambda conv: conv.log)
    system = _Property(lambda conv: conv.system)
    view = _Property(lambda conv: conv.view)
    store = _Property(lambda conv: conv.store)
    summary = _Property(lambda conv: conv.summary)
    user_id = _Property(lambda conv: conv.user_id)
    session_id = _Property(lambda conv: conv.session_id)
    tags = _Property(lambda conv: conv.tags)
    mode = _Property(lambda conv: conv.mode)
    head = _Property(lambda conv: conv.head)
    indexes = _Property(lambda conv: conv.indexes)
    usage = _Property(lambda conv: conv.usage)
    window_usage = _Property(lambda conv: conv.window_usage)
    settings = _Property(lambda conv: conv.settings)
    dialect = _Property(lambda conv: conv.dialect)
    budget = _Property(lambda conv: conv.budget)
    policy = _Property(lambda conv: conv.policy)
    state = _Property(lambda conv: conv.state)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()
