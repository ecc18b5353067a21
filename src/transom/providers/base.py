"""What the agent loop needs of a model provider: send one request, return the reply whole or in chunks.

Three rules keep providers small:

- A provider sends what it is given and returns what it got. It does not build windows, fold chunks, log or retry.
  Retries of an SDK must be switched off: the loop retries, and logs every attempt.
- Every failure is raised as one `ProviderError`. The loop decides whether to try again, and whether a refused
  request was too long (`transom.overflow`).
- An API key is in no attribute that a repr shows, in no error text and in no event
  (`transom.redaction.without_keys`).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Protocol

from transom.redaction import MIN_KNOWN_KEY

__all__ = ["Provider", "without_key_variables"]


class Provider(Protocol):
    """One model behind one API.

    `request`: the keyword arguments of the SDK's call, without the model: those of `conv.request(…)`, and the caller's
    settings (temperature, …). A provider must not change it. `max_tokens`: the most tokens of the answer, under
    whatever name the API has for it; None means the provider's own setting, or the API's. `timeout`: seconds without a
    byte from the server; None means the provider's own.

    `complete` returns the reply as the SDK's object or as a dict. `stream` yields its chunks or events as they come,
    objects or dicts: what `Dialect.accumulator()` takes. Closing the iterator closes the connection. `acomplete` and
    `astream` are the same for an event loop; they run on asyncio and on trio where the SDK does.

    A provider that knows the tokens of its model's context window may have an attribute `context_size`. One whose API
    can compact a conversation may have the methods of `Compacts`.

    All four methods raise ProviderError and nothing else. An error that the API sends inside a stream may stay a chunk:
    the accumulator finds it.
    """

    @property
    def name(self) -> str:
        """The provider's name in logs, for example "openai", "responses", "anthropic", "gemini", "local". Costs are
        looked up by it; where a price list or telemetry has another name, Transom translates it."""
        ...

    @property
    def model(self) -> str:
        """The name of the model in its API."""
        ...

    @property
    def dialect(self) -> str:
        """The dialect of its requests and replies: one of `transom.wire.dialects.DIALECTS`."""
        ...

    def complete(
        self, request: Mapping[str, Any], *, max_tokens: int | None = None, timeout: float | None = None
    ) -> object:
        """Send the request and return the whole reply, as an object of an SDK or a dict. Raises ProviderError and
        nothing else. `request`, `max_tokens`, `timeout`: see the class."""
        ...

    def stream(
        self, request: Mapping[str, Any], *, max_tokens: int | None = None, timeout: float | None = None
    ) -> Iterator[object]:
        """Send the request and yield the chunks or events of the reply as they come, objects or dicts. Closing the
        iterator closes the connection. Raises ProviderError and nothing else. `request`, `max_tokens`, `timeout`: see
        the class."""
        ...

    async def acomplete(
        self, request: Mapping[str, Any], *, max_tokens: int | None = None, timeout: float | None = None
    ) -> object:
        """Do the same as `complete`, on an event loop."""
        ...

    def astream(
        self, request: Mapping[str, Any], *, max_tokens: int | None = None, timeout: float | None = None
    ) -> AsyncIterator[object]:
        """Do the same as `stream`, on an event loop."""
        ...


class Compacts(Protocol):
    """What else a provider has if its API can compact a conversation on demand.

    `request`: what `Dialect.compaction_request` made. `timeout`: as for `Provider`. Both return the answer, as an SDK's
    object or as a dict, and raise ProviderError and nothing else.
    """

    def compact(self, request: Mapping[str, Any], *, timeout: float | None = None) -> object:
        """Have the messages of a request compacted, and return the answer, as an object of an SDK or a dict. Raises
        ProviderError and nothing else. `request`, `timeout`: see the class."""
        ...

    async def acompact(self, request: Mapping[str, Any], *, timeout: float | None = None) -> object:
        """Do the same as `compact`, on an event loop."""
        ...


_KEY_VARIABLE = re.compile(r"(?:^|_)(?:API_?KEY|API_?TOKEN|AUTH_?TOKEN)S?(?:_|$)", re.IGNORECASE)


def without_key_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a program that a model wants to run, without the API keys in it.

    It lacks the variables whose names say that they hold a key (OPENAI_API_KEY, MISTRAL_API_KEY_2,
    ANTHROPIC_AUTH_TOKEN), and those whose value contains one of these keys. (Keys of fewer than four characters are not
    looked for in other values.) The given environment stays as it is.
    """
    keys = {value for name, value in environment.items() if _KEY_VARIABLE.search(name) and len(value) >= MIN_KNOWN_KEY}
    return {
        name: value
        for name, value in environment.items()
        if not _KEY_VARIABLE.search(name) and not any(key in value for key in keys)
    }


def model_name(provider: Provider) -> str:
    """The name of a provider's model as logs and events give it, with the provider in front: "openai:gpt-5"."""
    return f"{provider.name}:{provider.model}"
