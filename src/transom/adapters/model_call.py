"""One model call of a framework: its window, the attempts at it, and its reply or failure in the log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from anyio.to_thread import run_sync

from transom.adapters.branch import Branch
from transom.conversation.conversation import Conversation
from transom.conversation.model_calls.retry import Retry
from transom.core.entry import Meta
from transom.core.message import Raw
from transom.core.tool import Tool
from transom.core.window import Window
from transom.errors import ConversationBusy, InvalidMessage, ProviderError, TransomError, quote
from transom.overflow import classify
from transom.providers.model_prices import cost
from transom.providers.sdk_errors import provider_error

R = TypeVar("R")

_TOO_LONG = ("ContextWindowOverflow", "ContextOverflow", "ContextLengthExceeded")
"""Parts of the names of exceptions by which frameworks say that a request was too long."""

_WAY_OUT = "another run of this session has not ended: try again when it has, or give this run another session id"


class ModelCall:
    """One model call of a framework, until its reply is logged or it has failed.

    Making one plans the request and logs it: `window` is what the next attempt sends. `branch`: the branch of the
    session in which the call is made. `tools`, `model`: as for `Session.begin`. Raises BudgetImpossible if no window
    fits, ConversationBusy if another run has the conversation.
    """

    def __init__(self, branch: Branch, tools: Sequence[Raw | Tool], model: str) -> None:
        self._branch, self._tools, self._model, self._is_open = branch, tools, model, True
        branch.is_waiting = True
        self.conversation.plan_for(model)
        self.window: Window = self._plan()

    @property
    def conversation(self) -> Conversation:
        """The conversation that the call is a part of."""
        return self._branch.conversation

    @property
    def messages(self) -> list[Any]:
        """The window as messages of the framework, made anew at each access: the original objects, unless the window
        shows them differently."""
        return self._branch.format.write(self.window.view, self._branch.sources)

    def _plan(self) -> Window:
        try:
            return self.conversation.plan_request(tools=self._tools)
        except TransomError as error:
            self._branch.is_waiting = self._is_open = False
            if isinstance(error, ConversationBusy):
                raise ConversationBusy(self.conversation.log.name, error.holder, _WAY_OUT) from None
            raise

    def send(self, ask: Callable[[list[Any]], R], reply_of: Callable[[R], Any]) -> R:
        """Ask the model, and log its reply. If the messages were too long, or a part was refused, ask again with a
        smaller window.

        `ask`: sends messages. `reply_of`: the reply in what `ask` returned; if it gives None, a failure is logged.
        Returns what `ask` returned. Raises what `ask` raises, BudgetImpossible if no smaller window can be made, and
        InvalidMessage for a reply that cannot be read.
        """
        while True:
            try:
                answer = ask(self.messages)
            except BaseException as error:
                if not self.failed(error):
                    raise
                continue
            self.observe(reply_of(answer))
            return answer

    async def send_async(self, ask: Callable[[list[Any]], Awaitable[R]], reply_of: Callable[[R], Any]) -> R:
        """Ask the model, and log its reply: the async form of `send`. Plans are made in a worker thread."""
        while True:
            try:
                answer = await ask(self.messages)
            except BaseException as error:
                if not await self.failed_async(error):
                    raise
                continue
            await run_sync(self.observe, reply_of(answer))
            return answer

    def observe(self, reply: Any) -> None:
        """Log the reply, with its usage if the framework reports it. After this the call is over.

        `reply`: in the framework's form; None: the call has ended without one. That, and a reply that cannot be read,
        is logged as a failure, so that nobody waits for the call. After the call is over, None does nothing. Raises
        InvalidMessage for a reply that cannot be read.
        """
        if reply is None:
            self._end_with(ProviderError("empty", "the call ended without a reply of the model"))
            return
        name = self._model
        try:
            turn = self._branch.format.read_reply(reply)
        except InvalidMessage as unreadable:
            self._end_with(ProviderError("malformed", str(unreadable)))
            raise
        self.conversation.append(turn, Meta(model=name, cost=cost(turn.usage, name)) if name else None)
        self._branch.is_waiting = self._is_open = False

    def _end_with(self, error: ProviderError) -> None:
        """Log the failure of a call that nobody will send again."""
        if self._is_open and self.conversation.view.in_flight is not None:
            self.conversation.failed(error, model=self._model, retry=Retry(attempts=1))
        self._branch.is_waiting = self._is_open = False

    def failed(self, error: BaseException, *, may_ask_again: bool = True) -> bool:
        """Log a failure. True if the caller should send `messages` again.

        It is True if the request was too long or a part of it was refused, and a smaller window is possible: `messages`
        are those of that window then. `may_ask_again`: false if the caller cannot, because a part of the reply has
        reached the framework: then the result is False, and no window is planned. If the request was too long and is
        not sent again here, the error gets a note with the numbers. All other errors are left to the framework, which
        may retry them.

        The call is over unless the result is True: later errors are not logged, nor are errors after the reply. A
        cancelled call, or a stream that is not read to its end, is a failure too, so that the next call need not wait
        for it. Raises BudgetImpossible if the smaller window cannot be planned.
        """
        if not self._is_open:
            return False
        decision = self.conversation.failed(error_of(error), model=self._model)
        if may_ask_again and decision.smaller and decision.max_tokens is None:
            self.window = self._plan()
            return True
        if decision.kind == "overflow":
            error.add_note(decision.why)
        self._branch.is_waiting = self._is_open = False
        return False

    async def failed_async(self, error: BaseException, *, may_ask_again: bool = True) -> bool:
        """Log a failure, and return whether the caller should send `messages` again: `failed`, in a worker thread, so
        that the event loop is not blocked. For a cancellation, and any other `error` that is no Exception, `failed`
        runs at once on the event loop: a cancelled task cannot wait for a thread."""
        failed = partial(self.failed, error, may_ask_again=may_ask_again)
        return await run_sync(failed) if isinstance(error, Exception) else failed()


def error_of(error: BaseException) -> ProviderError:
    """What a framework raised, as the provider's error, with its status if it still has one. The error is returned, not
    raised.

    Frameworks wrap errors: the first error in the chain of causes that has a status counts. An exception whose name
    says that the request was too long counts as status 413, unless the error with a status says so itself.
    """
    causes: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in causes:
        causes.append(each)
        each = each.__cause__ or each.__context__
    read = [provider_error(each, is_of_sdk=False) for each in causes if isinstance(each, Exception)]
    of_status = next((each for each in read if each.status is not None), None)
    names = [kind.__name__ for each in causes for kind in type(each).__mro__]
    says_so = any(part in name for name in names for part in _TOO_LONG)
    if says_so and (of_status is None or classify(of_status.status, of_status.body) is None):
        return ProviderError("bad_request", quote(str(error)), status=413, body=f"context_length_exceeded: {error}")
    return of_status or (read[0] if read else ProviderError("unknown", str(error)))
