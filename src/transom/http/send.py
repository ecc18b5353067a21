"""Does what an exchange asks for: sends, reads and waits, in a thread or on an event loop.

The classes of a response are those of the HTTP library that the transport comes from.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from transom.conversation.summary_job import AwaitSummary, await_summary, next_step
from transom.http.exchange import ClientReply, Exchange, NextChunk, Send, ServerAnswer, Steps
from transom.http.requesters import SESSION_HEADERS

OWN_HEADERS = frozenset({SESSION_HEADERS[0]})
"""The headers that are for us, and are not sent on."""
_BODY_HEADERS = frozenset({"content-length", "transfer-encoding", "content-encoding", "accept-encoding"})
"""The headers about the length and the compression of a body. The body that we send is another one, uncompressed."""

_RawHeaders = list[tuple[bytes, bytes]]


class BaseSender:
    """The base class of the two senders. `inner`: the transport that sends. `request`: the client's request, of the
    HTTP library."""

    def __init__(self, inner: Any, request: Any) -> None:
        self._inner, self._request, self._response = inner, request, None
        self._chunks: Any = None

    def response_of(self, reply: ClientReply, exchange: Exchange) -> Any:
        """Make the response for the client, of the class that the HTTP library has. `reply`: what `drive` returned for
        this sender. If it has a status, the response is a new one with that status and content. Otherwise it is a copy
        of the server's newest response, with the content of the reply, or with its stream relayed (`relayed`): then the
        client must read or close the response, or no other request enters the conversation."""
        response = self._response
        if reply.content is not None:
            return _whole(self._request, response, reply)
        stream = _stream(type(response).__module__.partition(".")[0])
        return _rebuilt(response, stream=stream(self._relayed(reply, exchange), exchange, response))

    def _relayed(self, reply: ClientReply, exchange: Exchange) -> Any:
        raise NotImplementedError


class Sender(BaseSender):
    """Sends one request of a client as often as its exchange asks, each time with another body."""

    def send(self, body: bytes | None) -> ServerAnswer:
        """Send the request with this body (None: with its own), and return the answer, also one with the status of an
        error. The answer to the attempt before is closed first. A stream is not read yet: see `next_chunk`. Raises the
        errors of the HTTP library."""
        if self._response is not None:
            self._response.close()
        response = self._response = self._inner.handle_request(forwarded(self._request, body))
        if is_stream(response.status_code, response.headers):
            self._chunks = response.iter_bytes()
            return ServerAnswer(response.status_code, None)
        try:
            content = response.read()
        finally:
            response.close()
        return ServerAnswer(response.status_code, content)

    def next_chunk(self) -> bytes | None:
        """The next bytes of the newest answer, which must be a stream; None at its end."""
        return next(self._chunks, None)

    def _relayed(self, reply: ClientReply, exchange: Exchange) -> Iterator[bytes]:
        return relayed(exchange, reply.begun, self.next_chunk)


class AsyncSender(BaseSender):
    """Sends one request of a client as often as its exchange asks, on an event loop. Each method is the async form of
    the method of `Sender`."""

    async def send(self, body: bytes | None) -> ServerAnswer:
        if self._response is not None:
            await self._response.aclose()
        response = self._response = await self._inner.handle_async_request(forwarded(self._request, body))
        if is_stream(response.status_code, response.headers):
            self._chunks = response.aiter_bytes()
            return ServerAnswer(response.status_code, None)
        try:
            content = await response.aread()
        finally:
            await response.aclose()
        return ServerAnswer(response.status_code, content)

    async def next_chunk(self) -> bytes | None:
        return await anext(self._chunks, None)

    def _relayed(self, reply: ClientReply, exchange: Exchange) -> AsyncIterator[bytes]:
        return relayed_async(exchange, reply.begun, self.next_chunk)


def is_stream(status: int, headers: Any) -> bool:
    """Whether an answer with this status and these headers is a stream of events. An error (400 and above) is none."""
    return status < 400 and str(headers.get("content-type", "")).startswith("text/event-stream")


def drive(exchange: Exchange, sender: Sender) -> ClientReply:
    """Run the steps of an exchange in this thread. Returns the reply for the client; the rest of a stream is read
    afterwards, by `relayed`.

    What the sender raises is logged as a failure, and raised again.
    """
    steps, outcome = exchange.steps(), None
    while True:
        want = _advance(exchange, steps, outcome)
        if isinstance(want, ClientReply):
            return want
        try:
            if isinstance(want, AwaitSummary):
                outcome = await_summary(want)
            else:
                outcome = sender.send(want.body) if isinstance(want, Send) else sender.next_chunk()
        except BaseException as error:
            exchange.broke_off(error)
            raise


async def drive_async(exchange: Exchange, sender: AsyncSender) -> ClientReply:
    """Run the steps of an exchange, and return the reply for the client: `drive` on an event loop. Each step runs in a
    worker thread; sending, reading and waiting are done on the loop."""
    from transom.conversation.event_loop_threads import in_thread  # noqa: PLC0415 - anyio only on an event loop
    from transom.conversation.runs.async_driver import await_summary_async  # noqa: PLC0415 - likewise

    steps, outcome = exchange.steps(), None
    while True:
        want = await in_thread(partial(_advance, exchange, steps, outcome))
        if isinstance(want, ClientReply):
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
    """Yield the bytes of a streamed reply for the client: `begun`, then what `read` returns, until it returns None.

    The reply is logged before the client has its last bytes. Close the iterator when the client goes away: then what
    had come is logged as a failure.
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
    """Yield the bytes of a streamed reply for the client: `relayed` on an event loop. The log is written in a worker
    thread."""
    from transom.conversation.event_loop_threads import in_thread  # noqa: PLC0415 - anyio only on an event loop

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


def _advance(exchange: Exchange, steps: Steps, outcome: Any) -> Send | NextChunk | AwaitSummary | ClientReply:
    """Do one step of the exchange. Returns what it waits for; after the last step its reply. If the step raises, the
    exchange is closed."""
    try:
        return next_step(steps, outcome)
    except BaseException:
        exchange.close()
        raise


# ---- requests and responses of an HTTP library


def forwarded(request: Any, body: bytes | None) -> Any:
    """A copy of the request with another body (None: with its own), without the headers that are for us. If nothing
    would change, the request itself.

    With another body, it asks for an answer that is not compressed, because the exchange reads the answer.
    """
    if body is None and OWN_HEADERS.isdisjoint(request.headers):
        return request
    content = request.content if body is None else body
    dropped = OWN_HEADERS if body is None else OWN_HEADERS | _BODY_HEADERS
    headers = _without(request.headers, dropped)
    if body is not None:
        headers.append((b"accept-encoding", b"identity"))
    return type(request)(request.method, request.url, headers=headers, content=content, extensions=request.extensions)


def _whole(request: Any, response: Any, reply: ClientReply) -> Any:
    """A response with the content of a reply: a copy of the server's, or (the reply has a status) a new one of ours."""
    if reply.status is None:
        return _rebuilt(response, content=reply.content)
    library = import_module(type(request).__module__.partition(".")[0])
    headers = {"content-type": "application/json", "x-should-retry": "false"}
    return library.Response(reply.status, headers=headers, content=reply.content)


def _rebuilt(response: Any, **body: Any) -> Any:
    """A response with the status and the headers of another one, and this body, which is not compressed."""
    headers = _without(response.headers, _BODY_HEADERS)
    return type(response)(response.status_code, headers=headers, extensions=response.extensions, **body)


def _without(headers: Any, dropped: frozenset[str]) -> _RawHeaders:
    """The headers but those with these names, as bytes: a header may have any bytes, and the libraries encode texts as
    ASCII only."""
    raw: _RawHeaders = headers.raw
    return [(name, value) for name, value in raw if name.lower().decode("latin-1") not in dropped]


@lru_cache(maxsize=8)
def _stream(library: str) -> Any:
    """The class of a response's stream, for this library, sync and async. Closing it closes the server's response, and
    ends the exchange."""
    http = import_module(library)

    class Stream(http.SyncByteStream, http.AsyncByteStream):
        def __init__(self, chunks: Any, exchange: Exchange, response: Any) -> None:
            self._chunks, self._exchange, self._response = chunks, exchange, response

        def __iter__(self) -> Iterator[bytes]:
            return self._chunks

        def close(self) -> None:
            try:
                self._chunks.close()
                self._exchange.broke_off(None)  # also if nobody has read anything
            finally:
                self._response.close()

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._chunks

        async def aclose(self) -> None:
            from transom.conversation.event_loop_threads import in_thread  # noqa: PLC0415 - anyio only on an event loop

            try:
                with suppress(RuntimeError):  # it is at work in another task
                    await self._chunks.aclose()
                await in_thread(lambda: self._exchange.broke_off(None))
            finally:
                await self._response.aclose()

    return Stream
