"""Does what an exchange asks for: sends, reads and waits, in a thread or on an event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from typing import Any, Protocol

from transom.conversation.runs.work import AwaitSummary
from transom.conversation.summary_job import await_summary
from transom.http.exchange import Answer, Exchange, NextChunk, Reply, Send, Steps


class Sender(Protocol):
    """Sends the requests of one exchange, one after the other, and reads the newest answer."""

    def send(self, body: bytes | None) -> Answer:
        """Send the request with this body (None: with its own), and close the answer before."""
        ...

    def next_chunk(self) -> bytes | None:
        """The next bytes of the newest answer; None at its end."""
        ...


class AsyncSender(Protocol):
    """As `Sender`, on an event loop."""

    async def send(self, body: bytes | None) -> Answer: ...

    async def next_chunk(self) -> bytes | None: ...


def drive(exchange: Exchange, sender: Sender) -> Reply:
    """Run the steps of an exchange in this thread. Returns the reply for the client; a stream is relayed afterwards.

    What the sender raises is logged as a failure, and raised again.
    """
    steps, outcome = exchange.steps(), None
    while True:
        want = _advance(exchange, steps, outcome)
        if isinstance(want, Reply):
            return want
        try:
            if isinstance(want, AwaitSummary):
                outcome = await_summary(want)
            else:
                outcome = sender.send(want.body) if isinstance(want, Send) else sender.next_chunk()
        except BaseException as error:
            exchange.broke_off(error)
            raise


async def drive_async(exchange: Exchange, sender: AsyncSender) -> Reply:
    """As `drive`, on an event loop: each step in a worker thread, the waiting on the loop."""
    from transom.conversation.runs.async_driver import await_summary_async  # noqa: PLC0415 - anyio only on an event loop
    from transom.conversation.threads import in_thread  # noqa: PLC0415 - likewise

    steps, outcome = exchange.steps(), None
    while True:
        want = await in_thread(partial(_advance, exchange, steps, outcome))
        if isinstance(want, Reply):
            return want
        try:
            if isinstance(want, AwaitSummary):
                outcome = await await_summary_async(want)
            else:
                outcome = await (sender.send(want.body) if isinstance(want, Send) else sender.next_chunk())
        except BaseException as error:
            await in_thread(partial(exchange.broke_off, error))
            raise


def relayed(exchange: Exchange, begun: tuple[bytes, ...], read: Callable[[], bytes | None]) -> Iterator[bytes]:
    """Yield the bytes of a streamed reply for the client: `begun`, then what `read` returns until that is None.

    The reply is logged before the client has its end. Close the iterator when the client goes away: what came is logged
    as a failure then.
    """
    error: BaseException | None = None
    try:
        yield from begun
        while (chunk := read()) is not None:
            if exchange.feed(chunk):
                exchange.whole()
            yield chunk
    except BaseException as raised:
        error = raised
        raise
    finally:
        exchange.broke_off(error)


async def relayed_async(
    exchange: Exchange, begun: tuple[bytes, ...], read: Callable[[], Awaitable[bytes | None]]
) -> AsyncIterator[bytes]:
    """As `relayed`, on an event loop."""
    from transom.conversation.threads import in_thread  # noqa: PLC0415 - anyio only on an event loop

    error: BaseException | None = None
    try:
        for chunk in begun:
            yield chunk
        while (chunk := await read()) is not None:
            if exchange.feed(chunk):
                await in_thread(exchange.whole)
            yield chunk
    except BaseException as raised:
        error = raised
        raise
    finally:
        await in_thread(partial(exchange.broke_off, error))


def _advance(exchange: Exchange, steps: Steps, outcome: Any) -> Send | NextChunk | AwaitSummary | Reply:
    """One step of the exchange: what it waits for, or after the last one its reply. It is a value, because
    StopIteration cannot leave a worker thread. If the step raises, the exchange is closed."""
    try:
        return steps.send(outcome)
    except StopIteration as done:
        return done.value
    except BaseException:
        exchange.close()
        raise
