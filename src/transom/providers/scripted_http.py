"""A scripted provider behind the real SDK of an API: answers its HTTP requests without a network."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from transom.errors import ProviderError
from transom.providers.base import Provider
from transom.providers.scripted_replies import Json


def http_client(provider: Provider, kind: str) -> Any:
    """Make an HTTP client whose requests the provider answers: for `http_client=` of an SDK.

    `kind`: "Client" or "AsyncClient". Newer SDKs are made on `httpx2`, older ones on `httpx`: the newer one is taken
    where it is installed.
    """
    http: Any = import_module("httpx2" if find_spec("httpx2") else "httpx")

    def answer(request: Any) -> Any:
        body: Json = json.loads(request.content)
        streamed = bool(body.pop("stream", False))
        try:
            if streamed:
                events = b"".join(_events(provider.dialect, provider.stream(body)))
                return http.Response(200, headers={"content-type": "text/event-stream"}, content=events)
            return http.Response(200, json=provider.complete(body))
        except ProviderError as error:
            return http.Response(error.status or 500, text=error.body or "{}")

    return getattr(http, kind)(transport=http.MockTransport(answer))


def _events(dialect: str, chunks: Iterable[Any]) -> Iterable[bytes]:
    """The chunks of a stream as server-sent events, as the API writes them."""
    is_chat = dialect.startswith(("openai", "mistral"))
    for chunk in chunks:
        name = "" if is_chat else f"event: {chunk['type']}\n"
        yield f"{name}data: {json.dumps(chunk)}\n\n".encode()
    if is_chat:
        yield b"data: [DONE]\n\n"
