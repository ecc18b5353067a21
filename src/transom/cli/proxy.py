"""The command `transom proxy`: serves as a proxy to a provider until it is told to stop."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from transom.cli.commands.programs import Proxy
from transom.cli.stores import remember_store, store_path
from transom.cli.terminal import print_wrapped, terminal
from transom.cli.transom_folder import FOLDER, make_folder
from transom.errors import InvalidSetting
from transom.extras import install_command
from transom.http.gateway import Gateway, OnError
from transom.stores.postgres_url import without_password


def needs_proxy(command: str) -> None:
    """Raise InvalidSetting if a package of the proxy is missing. The message says how to install them. `command`: names
    the command in it."""
    if any(find_spec(name) is None for name in ("httpx2", "prometheus_client", "starlette", "uvicorn", "zstandard")):
        raise InvalidSetting(f"{command} needs httpx2, starlette, uvicorn and more: {install_command('proxy')}")


def opened_gateway(store: str, budget: int | None, policy: str, on_error: OnError) -> Gateway:
    """Open the gateway for the command `proxy` or `run`; the caller closes it. Its store becomes the one that commands
    without --store use. `store`: a URL or a path; `.transom` is created if the store is in it. `budget`: tokens; None:
    the context size of each request's model. Raises what `Gateway` and `make_folder` raise."""
    if Path(store_path(store)).is_relative_to(FOLDER):
        make_folder()
    gateway = Gateway(store, budget=budget, policy=policy, on_error=on_error)
    remember_store(store)
    return gateway


def run(options: Proxy) -> int:
    """Serve until Ctrl-C. Exit code 0."""
    needs_proxy("proxy")
    from transom.proxy.app import ProxySettings  # noqa: PLC0415 - an extra
    from transom.proxy.serve import listen, serve  # noqa: PLC0415 - an extra

    settings = ProxySettings(
        upstream=options.upstream,
        max_body=options.max_body << 20,
        concurrency=options.concurrency,
        timeout=options.timeout,
    )
    try:
        listening = listen(options.host, options.port)
    except OSError as problem:
        raise InvalidSetting(f"--host, --port: {problem.strerror}") from None
    try:
        gateway = opened_gateway(options.store, options.budget, options.policy, options.on_error)
    except BaseException:
        listening.close()
        raise

    def ready() -> None:
        address, port = listening.getsockname()[:2]
        place = without_password(options.store)
        print_wrapped(terminal(), f"http://{address}:{port} → {options.upstream}, logged in {place}. Ctrl-C ends it.")
        sys.stdout.flush()

    serve(gateway, settings, listening, ready)
    return 0
