"""What the providers of the official SDKs share: a client for each event loop, the four calls, errors in one form.

An SDK's exception holds the request with its key. It is turned into a ProviderError outside its `except` block, so that
no error of ours leads back to it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from inspect import isawaitable
from typing import Any
from urllib.parse import urlsplit

from transom.errors import InvalidSetting, ProviderError, quote
from transom.providers.sdk_errors import provider_error
from transom.wire.dialects import dialect_at

__all__ = ["SdkProvider"]

TIMEOUT = 120.0
"""Seconds without a byte from the server after which a call is given up, if the caller gives none."""


class SdkProvider:
    """One model behind an official SDK. A subclass makes the SDK's client and calls it.

    - `model`: its name in the API.
    - `base_url`: the address of another server that speaks the same API; the SDK's own environment variable
      (`address_name`) may name it too. For a host that speaks the API in a form of its own, `dialect` is that form
      (`transom.wire.dialects.HOSTS`). A subclass may pass an empty one: the address is known later, and that variable
      does not count.
    - `api_key`: by default from the environment (`key_names`).
    - `timeout`: seconds without a byte from the server, for calls that give none.

    Raises InvalidSetting if the address cannot be split into its parts, and if there is neither a key nor an address.
    With an address the key may be missing, because a server of the user's own often needs none.
    """

    name = ""
    dialect = ""
    key_names: tuple[str, ...] = ()
    """The environment variables that may hold the key; the first one that is set counts."""
    address_name = ""
    """The environment variable from which the SDK takes the address of another server, if it is not given."""
    _limit_name = "max_tokens"
    """What the API calls the most tokens of an answer."""

    def __init__(
        self, model: str, *, base_url: str | None = None, api_key: str | None = None, timeout: float = TIMEOUT
    ) -> None:
        self.model = model
        address = os.environ.get(self.address_name, "") if base_url is None else base_url  # the SDK reads it likewise
        try:
            self.dialect = dialect_at(urlsplit(address).hostname, self.dialect)
        except ValueError:  # for example because a bracket is missing
            raise InvalidSetting(f"provider {self.name}: {quote(address)} is not the address of a server") from None
        self._base_url, self._timeout = base_url, timeout
        self._key = api_key or next(filter(None, map(os.environ.get, self.key_names)), "")
        if not self._key and not address and base_url is None:  # "": it is known later
            raise InvalidSetting(f"provider {self.name}: set {' or '.join(self.key_names)} in the environment")
        self._lock = threading.Lock()
        self._client: Any = None
        self._async_client: tuple[object, Any] | None = None

    def __repr__(self) -> str:
        return f"<provider {self.name}:{self.model}>"

    # ---- for subclasses

    def _make_client(self, *, is_async: bool) -> Any:
        """Make a client of the SDK that never retries."""
        raise NotImplementedError

    def _call(self, client: Any, arguments: dict[str, Any], *, is_stream: bool) -> Any:
        """Call the SDK: return a reply, or an iterator of chunks; with an async client an awaitable of either."""
        raise NotImplementedError

    def _arguments(self, request: Mapping[str, Any], max_tokens: int | None, timeout: float) -> dict[str, Any]:
        """Return the keyword arguments of the SDK's call for a request."""
        limit = {} if max_tokens is None else {self._limit_name: max_tokens}
        return {"timeout": timeout, **request, "model": self.model, **limit}

    def _close_stream(self, chunks: Any) -> None:
        """Close the connection of an iterator of chunks. None is ignored."""
        if chunks is not None:
            chunks.close()

    async def _aclose_stream(self, chunks: Any) -> None:
        """Do the same as `_close_stream`, on an event loop."""
        await close_async(chunks)

    # ---- the protocol

    def complete(
        self, request: Mapping[str, Any], *, max_tokens: int | None = None, timeout: float | None = None
    ) -> object:
        """Send the request and return the whole reply, as the SDK's object. `max_tokens` and `timeout`: as `Provider`
        explains them; a timeout of None or 0 is that of this provider. Raises ProviderError for whatever the SDK
        raises."""
        return self._answer(partial(self._call, is_stream=False), request, max_tokens, timeout)

    def stream(
        self, request: Mapping[str, Any], *, max_tokens: int | None = None, timeout: float | None = None
    ) -> Iterator[object]:
        """Send the request and yield the chunks of the reply, as the SDK's objects. `max_tokens` and `timeout`: as for
        `complete`. Raises ProviderError for whatever the SDK raises, also between two chunks.

        The request is sent when the first chunk is asked for. Closing the iterator closes the connection.
        """
        chunks: Any = None
        try:
            arguments = self._arguments(request, max_tokens, timeout or self._timeout)
            chunks = self._call(self._sync_client(), arguments, is_stream=True)
            yield from chunks
        except Exception as error:  # noqa: BLE001 - whatever an SDK raises
            failure = provider_error(error, self._key, is_stream=True)
        else:
            return
        finally:
            self._close_stream(chunks)
        raise failure

    async def acomplete(
        self, request: Mapping[str, Any], *, max_tokens: int | None = None, timeout: float | None = None
    ) -> object:
        """Do the same as `complete`, on an event loop."""
        return await self._async_answer(partial(self._call, is_stream=False), request, max_tokens, timeout)

    async def astream(
        self, request: Mapping[str, Any], *, max_tokens: int | None = None, timeout: float | None = None
    ) -> AsyncIterator[object]:
        """Do the same as `stream`, on an event loop."""
        chunks: Any = None
        try:
            arguments = self._arguments(request, max_tokens, timeout or self._timeout)
            chunks = await self._call(self._client_of_loop(), arguments, is_stream=True)
            async for chunk in chunks:
                yield chunk
        except Exception as error:  # noqa: BLE001 - whatever an SDK raises
            failure = provider_error(error, self._key, is_stream=True)
        else:
            return
        finally:
            await self._aclose_stream(chunks)
        raise failure

    def _compact(self, client: Any, arguments: dict[str, Any]) -> Any:  # noqa: ARG002 - for subclasses
        """Call the SDK for a compaction; with an async client an awaitable of it."""
        raise ProviderError("bad_request", f"provider {self.name} has no compaction of its own")

    def compact(self, request: Mapping[str, Any], *, timeout: float | None = None) -> object:
        """Have the messages of a request compacted, and return the answer as the SDK's object. `request`: what
        `Dialect.compaction_request` made. `timeout`: as for `complete`. Raises ProviderError for whatever the SDK
        raises, and if the provider has no compaction of its own."""
        return self._answer(self._compact, request, None, timeout)

    async def acompact(self, request: Mapping[str, Any], *, timeout: float | None = None) -> object:
        """Do the same as `compact`, on an event loop."""
        return await self._async_answer(self._compact, request, None, timeout)

    def close(self) -> None:
        """Close the connections of `complete` and `stream`. The next call opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Close the connections of `acomplete` and `astream`. Call it on the event loop that uses them.

        On another loop it closes nothing and only forgets them. The next call opens new ones.
        """
        held, self._async_client = self._async_client, None
        if held is not None and held[0] is _event_loop():
            await close_async(held[1])

    # ---- how

    def _answer(
        self, call: Callable[..., Any], request: Mapping[str, Any], max_tokens: int | None, timeout: float | None
    ) -> object:
        """Call the SDK with the client and the arguments. Raises ProviderError for whatever the SDK raises."""
        try:
            return call(self._sync_client(), self._arguments(request, max_tokens, timeout or self._timeout))
        except Exception as error:  # noqa: BLE001 - whatever an SDK raises
            failure = provider_error(error, self._key)
        raise failure

    async def _async_answer(
        self, call: Callable[..., Any], request: Mapping[str, Any], max_tokens: int | None, timeout: float | None
    ) -> object:
        """Do the same as `_answer`, on an event loop."""
        try:
            return await call(self._client_of_loop(), self._arguments(request, max_tokens, timeout or self._timeout))
        except Exception as error:  # noqa: BLE001 - whatever an SDK raises
            failure = provider_error(error, self._key)
        raise failure

    def _sync_client(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._make_client(is_async=False)
            return self._client

    def _client_of_loop(self) -> Any:
        """The client of the running event loop, a new one for a new loop: connections belong to their loop."""
        loop = _event_loop()
        if self._async_client is None or self._async_client[0] is not loop:
            self._async_client = (loop, self._make_client(is_async=True))
        return self._async_client[1]


def _event_loop() -> object:
    """Return an object that is the running event loop's alone, on asyncio and on trio."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        from trio.lowlevel import current_trio_token  # noqa: PLC0415 - only who runs on trio has it

        return current_trio_token()


async def close_async(resource: Any) -> None:
    """Close an async stream or client of an SDK, even while the task is being cancelled: by its `aclose`, else by its
    `close`, whose result is awaited if it is awaitable. None is ignored."""
    if resource is None:
        return
    from anyio import CancelScope  # noqa: PLC0415 - only for those who run on an event loop

    with CancelScope(shield=True):
        closing = (getattr(resource, "aclose", None) or resource.close)()
        if isawaitable(closing):
            await closing
