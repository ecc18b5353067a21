"""Transports for the HTTP clients below the SDKs: each request to a model passes an exchange.

`httpx2` and `httpx` have the same interface.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

from transom.http.exchange import ClientRequest, Exchange, exchange_of
from transom.http.gateway import Gateway
from transom.http.send import AsyncSender, Sender, drive, drive_async, forwarded


class Transport:
    """A transport for `httpx2.Client` or `httpx.Client`: requests that ask a model for a reply go through the gateway.

    All other requests pass as they are.

    - `gateway`: has the store and the settings; any number of transports may share one.
    - `inner`: the transport that sends. It stays open when this one is closed. None: a new one, which is closed too.
    - `http`: the library of the new one, "httpx2" or "httpx". None: httpx2 if it is installed, else httpx.
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

    def __exit__(self, *exception: object) -> None:
        self.close()

    def handle_request(self, request: Any) -> Any:
        """Send a request, and return the response for the client.

        A request that asks a model for a reply goes through the gateway: it is logged, and sent with a window. Any
        other request is sent as it is, without the header `x-transom-session`. Raises the errors of the HTTP library;
        those of the gateway become what its `on_error` says.
        """
        exchange = _exchange(self.gateway, request, request.read())
        if exchange is None:
            return self._inner.handle_request(forwarded(request, None))
        sender = Sender(self._inner, request)
        reply = drive(exchange, sender)
        return sender.response_of(reply, exchange)

    def close(self) -> None:
        """Close the inner transport, if it was made here, and the gateway, if `owns_gateway` was set."""
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

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request, and return the response for the client.

        A request that asks a model for a reply goes through the gateway: it is logged, and sent with a window. Any
        other request is sent as it is, without the header `x-transom-session`. Raises the errors of the HTTP library;
        those of the gateway become what its `on_error` says.
        """
        exchange = _exchange(self.gateway, request, await request.aread())
        if exchange is None:
            return await self._inner.handle_async_request(forwarded(request, None))
        return await self.send(request, exchange)

    async def send(self, request: Any, exchange: Exchange) -> Any:
        """Send a request through its exchange, which `exchange_of` has made. Returns the response for the client."""
        sender = AsyncSender(self._inner, request)
        reply = await drive_async(exchange, sender)
        return sender.response_of(reply, exchange)

    async def aclose(self) -> None:
        """Close the inner transport, if it was made here, and the gateway, if `owns_gateway` was set."""
        if self._owns_inner:
            await self._inner.aclose()
        if self._owns_gateway:
            self.gateway.close()


def _exchange(gateway: Gateway, request: Any, content: bytes) -> Exchange | None:
    url = request.url
    return exchange_of(gateway, ClientRequest(request.method, url.path, request.headers, content, host=url.host))


def _library(name: str | None) -> Any:
    return import_module(name or ("httpx2" if find_spec("httpx2") else "httpx"))
