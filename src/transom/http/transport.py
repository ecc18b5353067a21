"""Transports for the HTTP clients below the SDKs: each request to a model passes an exchange.

`httpx2` and `httpx` have the same interface. The classes of a response are those of the library that the inner
transport comes from.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Self

from transom.http.drive import drive, drive_async, relayed, relayed_async
from transom.http.exchange import Answer, ClientRequest, Exchange, Reply, exchange_of
from transom.http.gateway import SESSION_HEADERS, Gateway

OWN_HEADERS = frozenset({SESSION_HEADERS[0]})
"""The headers that are for us, and are not sent on."""
_BODY_HEADERS = frozenset({"content-length", "transfer-encoding", "content-encoding", "accept-encoding"})
"""The headers about the length and the compression of a body. The body that we send is another one, uncompressed."""


class Transport:
    """A transport for `httpx2.Client` or `httpx.Client`: requests that ask a model for a reply go through the gateway.

    All other requests pass as they are.

    - `gateway`: the store and the settings; any number of transports may share one.
    - `inner`: the transport that sends, which is not closed with this one; by default a new one, which is.
    - `http`: the library of the new one, "httpx2" or "httpx"; by default httpx2 if it is installed.
    - `owns_gateway`: whether the gateway is closed with this transport.
    """

    def __init__(
        self, gateway: Gateway, inner: Any = None, *, http: str | None = None, owns_gateway: bool = False
    ) -> None:
        self.gateway, self._owns_gateway = gateway, owns_gateway
        self._owns_inner = inner is None
        self._inner = self._new_inner(_library(http)) if inner is None else inner

    def _new_inner(self, library: Any) -> Any:
        return library.HTTPTransport()

    def __enter__(self) -> Self:
        if self._owns_inner:
            self._inner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def handle_request(self, request: Any) -> Any:
        """Send a request, and return the response for the client.

        A request that asks a model for a reply goes through the gateway: it is logged, and sent with a window. Any
        other request is sent as it is.
        """
        exchange = _exchange(self.gateway, request, request.read())
        if exchange is None:
            return self._inner.handle_request(_forwarded(request, None))
        sender = _Sender(self._inner, request)
        reply = drive(exchange, sender)
        return sender.response_of(reply, exchange)

    def close(self) -> None:
        """Close what this transport owns."""
        if self._owns_inner:
            self._inner.close()
        if self._owns_gateway:
            self.gateway.close()


class AsyncTransport(Transport):
    """A transport for `httpx2.AsyncClient` or `httpx.AsyncClient`; otherwise as `Transport`."""

    def _new_inner(self, library: Any) -> Any:
        return library.AsyncHTTPTransport()

    async def __aenter__(self) -> Self:
        if self._owns_inner:
            await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request, and return the response for the client.

        A request that asks a model for a reply goes through the gateway: it is logged, and sent with a window. Any
        other request is sent as it is.
        """
        exchange = _exchange(self.gateway, request, await request.aread())
        if exchange is None:
            return await self._inner.handle_async_request(_forwarded(request, None))
        return await self.send(request, exchange)

    async def send(self, request: Any, exchange: Exchange) -> Any:
        """Send a request through this exchange. Returns the response for the client."""
        sender = _AsyncSender(self._inner, request)
        reply = await drive_async(exchange, sender)
        return sender.response_of(reply, exchange)

    async def aclose(self) -> None:
        """Close what this transport owns."""
        if self._owns_inner:
            await self._inner.aclose()
        if self._owns_gateway:
            self.gateway.close()


class _Sender:
    """Sends one request of a client as often as its exchange asks, each time with another body."""

    def __init__(self, inner: Any, request: Any) -> None:
        self._inner, self._request, self._response = inner, request, None
        self._chunks: Any = None

    def send(self, body: bytes | None) -> Answer:
        if self._response is not None:
            self._response.close()
        response = self._response = self._inner.handle_request(_forwarded(self._request, body))
        if is_stream(response.status_code, response.headers):
            self._chunks = response.iter_bytes()
            return Answer(response.status_code, None)
        try:
            content = response.read()
        finally:
            response.close()
        return Answer(response.status_code, content)

    def next_chunk(self) -> bytes | None:
        return next(self._chunks, None)

    def response_of(self, reply: Reply, exchange: Exchange) -> Any:
        """The response for the client: the newest answer with the content of the reply, or with the stream relayed."""
        response = self._response
        if reply.content is not None:
            return _whole(self._request, response, reply)
        stream = _streams(type(response).__module__.partition(".")[0])[0]
        chunks = relayed(exchange, reply.begun, self.next_chunk)
        return _rebuilt(response, stream=stream(chunks, exchange, response))


class _AsyncSender:
    """As `_Sender`, on an event loop."""

    def __init__(self, inner: Any, request: Any) -> None:
        self._inner, self._request, self._response = inner, request, None
        self._chunks: Any = None

    async def send(self, body: bytes | None) -> Answer:
        if self._response is not None:
            await self._response.aclose()
        response = self._response = await self._inner.handle_async_request(_forwarded(self._request, body))
        if is_stream(response.status_code, response.headers):
            self._chunks = response.aiter_bytes()
            return Answer(response.status_code, None)
        try:
            content = await response.aread()
        finally:
            await response.aclose()
        return Answer(response.status_code, content)

    async def next_chunk(self) -> bytes | None:
        return await anext(self._chunks, None)

    def response_of(self, reply: Reply, exchange: Exchange) -> Any:
        """The response for the client: the newest answer with the content of the reply, or with the stream relayed."""
        response = self._response
        if reply.content is not None:
            return _whole(self._request, response, reply)
        stream = _streams(type(response).__module__.partition(".")[0])[1]
        chunks = relayed_async(exchange, reply.begun, self.next_chunk)
        return _rebuilt(response, stream=stream(chunks, exchange, response))


def is_stream(status: int, headers: Any) -> bool:
    """Whether an answer is a stream of events."""
    return status < 400 and str(headers.get("content-type", "")).startswith("text/event-stream")


def _exchange(gateway: Gateway, request: Any, content: bytes) -> Exchange | None:
    url = request.url
    return exchange_of(gateway, ClientRequest(request.method, url.path, request.headers, content, host=url.host))


def _forwarded(request: Any, body: bytes | None) -> Any:
    """The request with another body (None: with its own), without the headers that are for us.

    Its answer must not be compressed if the body is ours: an exchange reads it.
    """
    if body is None and OWN_HEADERS.isdisjoint(request.headers):
        return request
    content = request.content if body is None else body
    dropped = OWN_HEADERS if body is None else OWN_HEADERS | _BODY_HEADERS
    headers = [(name, value) for name, value in request.headers.multi_items() if name.lower() not in dropped]
    if body is not None:
        headers.append(("accept-encoding", "identity"))
    return type(request)(request.method, request.url, headers=headers, content=content, extensions=request.extensions)


def _whole(request: Any, response: Any, reply: Reply) -> Any:
    """A response with the content of a reply: a copy of the server's, or (the reply has a status) a new one of ours."""
    if reply.status is None:
        return _rebuilt(response, content=reply.content)
    library = import_module(type(request).__module__.partition(".")[0])
    headers = {"content-type": "application/json", "x-should-retry": "false"}
    return library.Response(reply.status, headers=headers, content=reply.content)


def _rebuilt(response: Any, **body: Any) -> Any:
    """A response with the status and the headers of another one, and this body, which is not compressed."""
    headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _BODY_HEADERS]
    return type(response)(response.status_code, headers=headers, extensions=response.extensions, **body)


def _library(name: str | None) -> Any:
    return import_module(name or ("httpx2" if find_spec("httpx2") else "httpx"))


@lru_cache(maxsize=8)
def _streams(library: str) -> tuple[Any, Any]:
    """The classes of a response's stream, made for this library: for sync clients and for async ones.

    Closing a stream closes the server's response, and ends the exchange.
    """
    http = import_module(library)

    class Stream(http.SyncByteStream):
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

    class AsyncStream(http.AsyncByteStream):
        def __init__(self, chunks: Any, exchange: Exchange, response: Any) -> None:
            self._chunks, self._exchange, self._response = chunks, exchange, response

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._chunks

        async def aclose(self) -> None:
            from transom.conversation.threads import in_thread  # noqa: PLC0415 - anyio only on an event loop

            try:
                with suppress(RuntimeError):  # it is at work in another task
                    await self._chunks.aclose()
                await in_thread(lambda: self._exchange.broke_off(None))
            finally:
                await self._response.aclose()

    return Stream, AsyncStream
