"""`transom.wrap`: a copy of an SDK's client that logs its requests, and sends each with a window within the budget."""

from __future__ import annotations

import os
from copy import copy
from typing import Any, TypeVar, cast

from transom.core.budget import Budget
from transom.core.policy import Policy
from transom.errors import InvalidSetting, quote
from transom.http.gateway import WAIT, Gateway, OnError
from transom.http.transport import AsyncTransport, Transport
from transom.stores import Store
from transom.wire.dialect import Dialect

C = TypeVar("C")

_SIGNED = ("Bedrock", "Vertex")
"""Parts of the names of clients that sign a request before it reaches the transport."""


def wrap(
    client: C,
    *,
    store: str | os.PathLike[str] | Store = "memory:",
    budget: Budget | int | str | None = None,
    policy: str | Policy = "default",
    session: str | None = None,
    user_id: str | None = None,
    dialect: str | Dialect | None = None,
    on_error: OnError = "pass",
    wait: float = WAIT,
    **settings: Any,
) -> C:
    """Return a copy of an SDK's client whose calls are logged, and sent with a window that fits the budget.

        client = transom.wrap(OpenAI(), store="sqlite:///agent.db", budget=100_000)

    `client`: `OpenAI`, `AsyncOpenAI`, `Anthropic`, `AsyncAnthropic` or `genai.Client`, streamed calls too. The rest of
    a program stays as it is: it goes on sending whole conversations, and each call is matched to its log by its
    messages. A call that the model refuses as too long is sent again with less. The client given is not changed, and
    both share their connections. Closing the copy closes its conversations and the store, if that was given as a URL or
    a path, but no connection.

    - `store`, `policy`, `user_id`: as for `Conversation.open`.
    - `budget`: as for `Conversation.open`; None: the context size of each call's model.
    - `session`: the id of the conversation in the store; without it, each conversation gets one. The header
      `x-transom-session` names it for one call.
    - `dialect`: a form of an API, if the server has its own ("mistral", "anthropic_unsigned").
    - `on_error`: "pass" sends a call as it came if no window can be built for it, and logs a warning; "fail" answers it
      with an error.
    - `wait`: seconds that a call waits while another process has its conversation and says nothing new in it; after
      that the call gets a conversation of its own.
    - `settings`: summarizer, redact, digest_role, counter, as for `Conversation.open`.

    Calls whose conversation the provider keeps (`previous_response_id`, `conversation`) pass as they are. Raises
    InvalidSetting for a wrong setting, for a client of another kind, for one that signs its requests itself (Bedrock,
    Vertex), and for one that is wrapped already; TypeError for another name in `settings`.
    """
    name = type(client).__name__
    if any(part in name for part in _SIGNED):
        raise InvalidSetting(
            f"wrap: {name} signs its requests before they can be changed: use a conversation of your own"
        )
    of_sdk = hasattr(client, "_client") and hasattr(client, "copy")
    of_genai = hasattr(client, "_api_client") and type(client).__module__.startswith("google.genai")
    if not (of_sdk or of_genai):
        raise InvalidSetting(f"wrap: must be a client of openai, anthropic or google-genai, not {quote(client)}")
    if isinstance(_http_client_of(client)._transport, Transport):
        raise InvalidSetting("wrap: this client is wrapped already: wrap the client of the SDK, once")
    gateway = Gateway(
        store,
        budget=budget,
        policy=policy,
        session=session,
        user_id=user_id,
        dialect=dialect,
        on_error=on_error,
        wait=wait,
        **settings,
    )
    if of_genai:
        return cast("C", _wrapped_genai(client, gateway))
    return cast("Any", client).copy(http_client=_with_transport(_http_client_of(client), gateway))


def _http_client_of(client: Any) -> Any:
    """The HTTP client below a client of an SDK: the one for sync calls, if it has two."""
    return client._client if hasattr(client, "_client") else client._api_client._httpx_client


def _with_transport(http_client: Any, gateway: Gateway) -> Any:
    """A copy of an HTTP client whose requests go through the gateway, whichever of its transports they take (it may
    have others for proxies)."""
    kind = AsyncTransport if hasattr(http_client, "aclose") else Transport
    other, inner = copy(http_client), http_client._transport
    if getattr(http_client, "_per_loop", False):  # google-genai's, which has a client for each event loop
        other._per_loop, inner = False, _OfRunningLoop(http_client)
    other._transport = kind(gateway, inner, owns_gateway=True)
    mounts: dict[Any, Any] = http_client._mounts
    other._mounts = {key: each if each is None else kind(gateway, each) for key, each in mounts.items()}
    other.shares_connections_with = http_client  # which closes them when nobody has it any more
    return other


class _OfRunningLoop:
    """The transport of the client that google-genai has for the running event loop: connections belong to a loop."""

    def __init__(self, http_client: Any) -> None:
        self._http_client = http_client

    async def handle_async_request(self, request: Any) -> Any:
        client = self._http_client._client_for_running_loop()
        return await client._transport.handle_async_request(request)


def _wrapped_genai(client: Any, gateway: Gateway) -> Any:
    """A copy of a `genai.Client` whose requests go through the gateway: all its parts hold its API client, so each is
    copied. Raises InvalidSetting if it signs them."""
    old = client._api_client
    new = copy(old)
    new._httpx_client = _with_transport(old._httpx_client, gateway)
    if old._async_httpx_client is None:
        raise InvalidSetting("wrap: this genai.Client signs its requests before they can be changed")
    new._async_httpx_client = _with_transport(old._async_httpx_client, gateway)
    # with a transport of one's own it does not use aiohttp, where that is installed
    options, transport = old._http_options, new._async_httpx_client._transport
    arguments: dict[str, Any] = {**(options.async_client_args or {}), "transport": transport}
    new._http_options = options.model_copy(update={"async_client_args": arguments})
    return _rebound(client, old, new)


def _rebound(part: Any, old: Any, new: Any) -> Any:
    """A copy of a part of a `genai.Client`, and of the parts in it, that has the API client `new` instead of `old`."""
    out = copy(part)
    parts = cast("dict[str, Any]", vars(part))
    for name, value in parts.items():
        if value is old:
            setattr(out, name, new)
        elif type(value).__module__.startswith("google.genai") and hasattr(value, "_api_client"):
            setattr(out, name, _rebound(value, old, new))
    return out
