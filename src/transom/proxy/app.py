"""The proxy as an ASGI application: it sends each request to the upstream server, and its answer back.

A request that asks a model for a reply goes through an exchange (`http/exchange.py`); all others pass as they are. One
tenant is one API key: a request goes on with conversations of its own key only. The key is stored nowhere: a hash of it
names the tenant.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from urllib.parse import urlsplit

import anyio
import httpx2
from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from transom.conversation.event_loop_threads import in_thread
from transom.errors import InvalidSetting, is_number, quote
from transom.http.exchange import ClientRequest, Exchange, Figures, count_tokens, exchange_of
from transom.http.gateway import Gateway
from transom.http.provider_apis import COUNTING, api_of, error_body
from transom.http.send import OWN_HEADERS
from transom.http.transport import AsyncTransport
from transom.proxy.request_body import RequestRefused, read_body

_KEY_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
_HEADERS_NOT_SENT = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te", b"trailers", b"upgrade"),
        *(b"transfer-encoding", b"host", b"content-length", b"content-encoding"),
    }
)
"""Headers of a request that are not sent on: those for this one connection, and those about a body that is unpacked
now."""
_HEADERS_NOT_RETURNED = frozenset({b"connection", b"keep-alive", b"transfer-encoding"})
"""Headers of an answer that the client does not get: those for the connection to the upstream server."""

_NO_ANSWER = 499
"""The status of a request without an answer: the client had gone away."""

_LEAVES_BASE = re.compile(r"(^|[/\\])\.\.?([/\\;]|$)")
"""A segment `.` or `..` of an unquoted path."""

_logger = logging.getLogger(__name__)


class ProxySettings(Struct, frozen=True, kw_only=True):
    """The settings of a proxy.

    - `upstream`: the URL of the provider; it may have a path.
    - `max_body`: the most bytes of a request's body, packed and unpacked; a larger one is answered with 413.
    - `concurrency`: the most requests at once; more are answered with 503 at once, and do not wait.
    - `timeout`: seconds that the proxy waits for a connection to the upstream server, and for each next byte of its
      answer. Then the client gets 504; if the answer had begun, it breaks off.
    - `by_key`: whether each API key is a tenant of its own; if not, all requests are of one tenant.

    Raises InvalidSetting if `upstream` is no http(s) URL, or a number is not above 0.
    """

    upstream: str
    max_body: int = 64 << 20
    concurrency: int = 512
    timeout: float = 600.0
    by_key: bool = True

    def __post_init__(self) -> None:
        if urlsplit(self.upstream).scheme not in {"http", "https"} or not urlsplit(self.upstream).hostname:
            raise InvalidSetting(f"upstream: must be an http or https URL, not {quote(self.upstream)}")
        for name in ("max_body", "concurrency", "timeout"):
            value = getattr(self, name)
            if not is_number(value) or not value > 0:
                raise InvalidSetting(f"{name}: must be a number above 0, not {quote(value)}")


class Metrics:
    """The metrics of one proxy, for Prometheus. No label names a conversation, a user or a key."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "transom_requests", "Requests, by kind and status.", ("kind", "status"), registry=self.registry
        )
        self._passed = Counter(
            "transom_passed", "Requests sent as they came, by why.", ("why",), registry=self.registry
        )
        self._overflows = Counter(
            "transom_overflows", "Requests that were too long and sent again.", registry=self.registry
        )
        self._tokens = Counter("transom_tokens", "Tokens by the provider's count.", ("kind",), registry=self.registry)
        self.in_flight = Gauge("transom_in_flight", "Requests being answered.", registry=self.registry)
        self._seconds = Histogram(
            "transom_seconds", "From the request to the end of its reply.", registry=self.registry
        )

    def count(self, kind: str, status: int, seconds: float, figures: Figures | None = None) -> None:
        """Count a request that is over. `kind`: "model" for one that asks a model for a reply, else "other". `status`:
        of the answer that the client got; 499 if it went away before. `seconds`: from the request's arrival to the end
        of the answer. `figures`: those of the exchange of a "model" request; None for others."""
        self._requests.labels(kind, str(status)).inc()
        self._seconds.observe(seconds)
        if figures is None:
            return
        if figures.passed:
            self._passed.labels(figures.passed).inc()
        self._overflows.inc(figures.overflows)
        if (usage := figures.usage) is not None:
            for name, tokens in (("prompt", usage.prompt), ("cached", usage.cached), ("output", usage.output)):
                self._tokens.labels(name).inc(tokens)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)


class Proxy:
    """The proxy of one upstream server. `app` is what an ASGI server runs. Call `aclose` at the end, on the same event
    loop: the connections belong to it. `aclose` also closes the gateway, which this proxy owns."""

    def __init__(self, gateway: Gateway, settings: ProxySettings) -> None:
        self.gateway, self.settings = gateway, settings
        self.host = urlsplit(settings.upstream).hostname or ""
        limits = httpx2.Limits(max_connections=settings.concurrency, max_keepalive_connections=64)
        self._inner = httpx2.AsyncHTTPTransport(limits=limits)
        self._transport = AsyncTransport(gateway, self._inner)
        self.metrics = Metrics()
        self._at_work = 0

    def app(self) -> Starlette:
        """Make the ASGI application: `/healthz`, `/metrics`, and the proxy for all other paths. When the application
        ends, the proxy stays open: call `aclose`."""

        async def healthz(_: Request) -> Response:
            return PlainTextResponse("ok\n")

        async def metrics(_: Request) -> Response:
            return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

        return Starlette(routes=[Route("/healthz", healthz), Route("/metrics", metrics), Mount("/", self)])

    async def aclose(self) -> None:
        """Close the connections and the gateway. No request may be at work."""
        await self._inner.aclose()
        await in_thread(self.gateway.close)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request and count it. When the client goes away, the request is given up."""
        if scope["type"] != "http":
            return
        call = _Call(self, scope, receive, send)
        if self._at_work >= self.settings.concurrency:
            why = f"{self._at_work:,} requests at once, which is the limit (--concurrency)"
            await call.refuse(503, why, {"retry-after": "1"})
            return
        self._at_work += 1
        self.metrics.in_flight.inc()
        begun = time.perf_counter()
        try:
            await call.answer()
        finally:
            self._at_work -= 1
            self.metrics.in_flight.dec()
            kind = "model" if call.exchange is not None else "other"
            figures = None if call.exchange is None else call.exchange.figures
            self.metrics.count(kind, call.status, time.perf_counter() - begun, figures)

    # ---- for one call

    def tenant(self, headers: Headers, query: str) -> str:
        """Return the tenant of a request: "key-" and 16 digits of the hash of its API key, which is in a header
        (`authorization`, `x-api-key`, …) or in the parameter `key` of `query`. A key is the same tenant with "Bearer "
        before it and without. Empty if the request has no key, or if `ProxySettings.by_key` is false."""
        if not self.settings.by_key:
            return ""
        key = next((value for name in _KEY_HEADERS if (value := headers.get(name))), "")
        if not key and query:
            key = str(httpx2.QueryParams(query).get("key") or "")
        scheme, _, token = key.partition(" ")
        if scheme.lower() == "bearer":  # the same key, whichever header it comes in
            key = token.strip()
        return f"key-{sha256(key.encode()).hexdigest()[:16]}" if key else ""

    def forwarded(self, scope: Scope, headers: Headers, body: bytes) -> httpx2.Request:
        """Make the request for the upstream server, with the client's method, path and query, and its headers byte for
        byte, without those for the client's connection to us. `body`: unpacked already (`read_body`): the header
        `content-encoding` is left out too. If the path of the upstream's URL ("/v1") is also the beginning of the
        request's path, it is not doubled."""
        base, path = self.settings.upstream.rstrip("/"), scope["raw_path"].decode("latin-1").partition("?")[0]
        ends = urlsplit(base).path
        if ends and path.startswith(f"{ends}/"):  # both have the /v1
            base = base[: -len(ends)]
        query = scope["query_string"].decode("latin-1")
        url = f"{base}{path}"
        kept = [(name, value) for name, value in headers.raw if name.lower() not in _HEADERS_NOT_SENT]
        timeout = dict.fromkeys(("connect", "read", "write", "pool"), self.settings.timeout)
        return httpx2.Request(
            scope["method"],
            f"{url}?{query}" if query else url,
            headers=kept,
            content=body,
            extensions={"timeout": timeout},
        )

    async def send(self, request: httpx2.Request, exchange: Exchange | None) -> httpx2.Response:
        """Send a request to the upstream server, through its exchange if it has one, and return the response. Its
        stream is not read yet: read it, and close the response. The header `x-transom-session`, which is for us, is
        not sent. Raises the errors of httpx2. An error status of the server is a response like any other."""
        if exchange is None:
            for name in OWN_HEADERS:
                request.headers.pop(name, None)
            return await self._inner.handle_async_request(request)
        return await self._transport.send(request, exchange)


class _Call:
    """One request at the proxy. `status`: of the answer; `_NO_ANSWER` until there is one."""

    def __init__(self, proxy: Proxy, scope: Scope, receive: Receive, send: Send) -> None:
        self._proxy, self._scope, self._receive, self._send = proxy, scope, receive, send
        self._headers = Headers(raw=scope["headers"])
        self.exchange: Exchange | None = None
        self.status = _NO_ANSWER

    async def answer(self) -> None:
        """Read the request, send it, and give the answer to the client."""
        try:
            chunks = Request(self._scope, self._receive).stream()
            body = await read_body(chunks, self._headers, self._proxy.settings.max_body)
        except RequestRefused as refused:
            await self.refuse(refused.status, str(refused))
            return
        except ClientDisconnect:
            return
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, tasks.cancel_scope)
            await self._answered(body)
            tasks.cancel_scope.cancel()

    async def _answered(self, body: bytes) -> None:
        """Do what `_exchanged` does. An error of the proxy itself is logged, and answered with 500 and its type."""
        try:
            await self._exchanged(body)
        except _BrokeOffError:
            raise
        except Exception as error:
            _logger.exception("a request failed in the proxy")
            if self.status != _NO_ANSWER:  # a part of another answer has gone out
                raise
            await self.refuse(500, f"an error in the proxy itself, which its log has: {type(error).__name__}")

    async def _exchanged(self, body: bytes) -> None:
        """Refuse the request, count its tokens, or send it to the upstream server; and answer the client."""
        proxy, scope, path = self._proxy, self._scope, self._scope["path"]
        if "upgrade" in self._headers:  # Codex tries a WebSocket first, and goes on with HTTP after this status
            await self.refuse(426, "this proxy speaks HTTP, and no WebSocket")
            return
        if _LEAVES_BASE.search(path):  # the upstream's base path is the operator's choice
            await self.refuse(400, "the path has a segment . or .., which would lead out of the upstream's base path")
            return
        tenant = proxy.tenant(self._headers, scope["query_string"].decode("latin-1"))
        request = ClientRequest(scope["method"], path, self._headers, body, tenant, proxy.host)
        if api_of(path, COUNTING) is not None:
            tokens = await in_thread(partial(count_tokens, proxy.gateway, request))
            if tokens is not None:
                await self._answer(200, json.dumps({"input_tokens": tokens}).encode())
                return
        self.exchange = exchange_of(proxy.gateway, request)
        try:
            response = await proxy.send(proxy.forwarded(scope, self._headers, body), self.exchange)
        except httpx2.TimeoutException as error:
            await self.refuse(504, f"the upstream server is silent: {type(error).__name__}")
        except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError) as error:
            what = f"{type(error).__name__}: {error}".removesuffix(": ")
            await self.refuse(502, f"the upstream server closed the connection before it answered: {what}")
        except (httpx2.HTTPError, OSError) as error:
            await self.refuse(502, f"the upstream server cannot be reached: {type(error).__name__}: {error}")
        else:
            await self._respond(response)

    async def _respond(self, response: httpx2.Response) -> None:
        """Give the response to the client as it comes. If it breaks off, the client's breaks off too."""
        self.status = response.status_code
        raw = [(name, value) for name, value in response.headers.raw if name.lower() not in _HEADERS_NOT_RETURNED]
        try:
            await self._send({"type": "http.response.start", "status": response.status_code, "headers": raw})
            async for chunk in response.stream:  # type: ignore[union-attr]
                await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
            await self._send({"type": "http.response.body", "body": b""})
        except (httpx2.HTTPError, OSError) as error:
            _logger.warning("the upstream server broke off: %s", type(error).__name__)
            raise _BrokeOffError from None  # the server closes the connection, so that the client sees it too
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    async def refuse(self, status: int, why: str, headers: Mapping[str, str] | None = None) -> None:
        """Answer with an error of the proxy's own: this HTTP status, and `why` as its message."""
        await self._answer(status, error_body(status, "transom_proxy_error", status, why), headers)

    async def _answer(self, status: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        answer = Response(content, status, headers, media_type="application/json")
        await answer(self._scope, self._receive, self._send)

    async def _watch(self, scope: anyio.CancelScope) -> None:
        """Wait until the client goes away, and cancel the request then."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        scope.cancel()


class _BrokeOffError(Exception):
    """The upstream server broke off its answer."""
