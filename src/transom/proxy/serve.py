"""Runs the proxy on a socket: until it is told to stop (`serve`), or in a thread during a block (`serving`)."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

import uvicorn

from transom.http.gateway import Gateway
from transom.proxy.app import Proxy, ProxySettings

LOOPBACK = "127.0.0.1"
_BACKLOG = 1_024


def listen(host: str = LOOPBACK, port: int = 0) -> socket.socket:
    """Open a socket that listens. Port 0: any free one. Raises OSError if the port is taken, or if `host` is no address
    of this machine."""
    if ":" not in host:
        return socket.create_server((host, port), backlog=_BACKLOG)
    both = socket.has_dualstack_ipv6()  # "::" is every address of the machine, the IPv4 ones too
    return socket.create_server((host, port), family=socket.AF_INET6, dualstack_ipv6=both, backlog=_BACKLOG)


def serve(gateway: Gateway, settings: ProxySettings, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM, and return then. Requests at work have 10 seconds to end. At the end the gateway
    and the socket are closed.

    `listening`: the socket, as from `listen`. `ready`: called once, before the first request is answered; requests that
    come earlier wait.
    """
    proxy = Proxy(gateway, settings)
    server = _server(proxy)
    ready()
    with suppress(KeyboardInterrupt):  # which uvicorn raises again when it has ended
        asyncio.run(_serve(server, proxy, listening))


@contextmanager
def serving(gateway: Gateway, settings: ProxySettings) -> Generator[str]:
    """Run a proxy in a thread during the block, on a free port that only this machine can reach. Yields its URL,
    without a path. At the end of the block, requests at work have 10 seconds to end; then the gateway is closed."""
    listening = listen()
    proxy = Proxy(gateway, settings)
    server = _server(proxy)
    thread = threading.Thread(
        target=lambda: asyncio.run(_serve(server, proxy, listening)), name="transom proxy", daemon=True
    )
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


async def _serve(server: uvicorn.Server, proxy: Proxy, listening: socket.socket) -> None:
    """Serve, and close the proxy on the same event loop: its connections to the upstream belong to that loop."""
    try:
        await server.serve(sockets=[listening])
    finally:
        await proxy.aclose()


def _server(proxy: Proxy) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            proxy.app(),
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="none",  # with a library for WebSockets and without: an upgrade is an ordinary request
            timeout_graceful_shutdown=10,
            server_header=False,
            date_header=False,
        )
    )
