"""Model providers by name: "openai:gpt-5", "anthropic:claude-sonnet-5-5", "openai:qwen3@http://localhost:8000/v1"."""

from __future__ import annotations

import re
from importlib import import_module
from typing import cast

from transom.errors import InvalidSetting, quote
from transom.extras import install_command
from transom.providers.base import Provider

__all__ = ["PROVIDERS", "Provider", "provider_named"]

PROVIDERS: dict[str, str] = {
    "openai": "transom.providers.openai:OpenAIChat",
    "responses": "transom.providers.openai:OpenAIResponses",
    "anthropic": "transom.providers.anthropic:Anthropic",
    "gemini": "transom.providers.gemini:Gemini",
    "litellm": "transom.providers.litellm:LiteLLM",
    "local": "transom.providers.local:Local",
    "scripted": "transom.providers.scripted:echo",
}
"""For each name of a provider, the module and the callable in it that makes the provider.

The callable takes the model's name and the keyword `base_url`. The module is imported when the provider is named, so
that `import transom` needs no SDK.
"""

_MODEL_OPTIONAL = ("local", "scripted")
_EXTRAS = {"responses": "openai"}
"""The extra of a provider, where it has another name than the provider."""


def provider_named(provider: str | Provider) -> Provider:
    """Make the provider of a name: "name:model" or "name:model@base_url". "local" and "scripted" need no model. A
    provider object is returned as it is.

    Raises InvalidSetting for an unknown name, a missing model, an address without http://, an object that is no
    provider, a missing API key, or if the provider's SDK is not installed.
    """
    if not isinstance(provider, str):
        if not callable(getattr(provider, "complete", None)) or not isinstance(getattr(provider, "dialect", None), str):
            raise InvalidSetting(f"provider: must be a name or a provider, not {quote(provider)}")
        return provider
    name, _, rest = provider.partition(":")
    model, base_url = _address(rest)
    if name not in PROVIDERS or (not model and name not in _MODEL_OPTIONAL):
        known = ", ".join(PROVIDERS)
        raise InvalidSetting(
            f"provider: must be name:model or name:model@url, with a name of {known}; not {quote(provider)}"
        )
    module, _, value = PROVIDERS[name].partition(":")
    try:
        make = getattr(import_module(module), value)
    except ImportError as missing:
        raise InvalidSetting(f"provider {name}: {missing}: {install_command(_EXTRAS.get(name, name))}") from None
    return cast("Provider", make(model, base_url=base_url))


def _address(rest: str) -> tuple[str, str | None]:
    """Split "model@url" into model and address, None if there is none. A model's name may contain "@". Raises
    InvalidSetting if what follows the "@" is no address, or looks like one without "http://"."""
    model, found, base_url = rest.partition("@http")
    if found and base_url.startswith(("://", "s://")):
        if not re.fullmatch(r"s?://[^\s/?#]+\S*", base_url):
            raise InvalidSetting(f"provider: {quote(f'http{base_url}')} is not the address of a server")
        return model, f"http{base_url}"
    model, found, host = rest.rpartition("@")
    if found and (not host or re.search(r"\s", host)):
        raise InvalidSetting(
            f"provider: the address of a server must follow the @, as in {model}@http://host, not {quote(host)}"
        )
    if found and re.match(r"localhost\b|\[[0-9A-Fa-f:]+\]|[\w.-]+:\d+(/|$)|\w[\w-]*(\.[\w-]+)+/", host):
        raise InvalidSetting(f"provider: an address begins with http:// or https://: {quote(f'{model}@http://{host}')}")
    return rest, None
