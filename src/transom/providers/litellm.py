"""Any provider that LiteLLM knows, if the user has installed it.

LiteLLM is no extra, because it is large, and two of its releases were not safe.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from transom.errors import InvalidSetting
from transom.extras import package_command
from transom.providers.sdk import SdkProvider, close_async

__all__ = ["LiteLLM"]

UNSAFE = ("1.82.7", "1.82.8")
"""Releases that sent the keys in the environment to a stranger."""
_SAFE = "litellm" + ",".join(f"!={release}" for release in UNSAFE)


class LiteLLM(SdkProvider):
    """A provider for any API that LiteLLM knows: "litellm:bedrock/anthropic.claude-sonnet-4-5".

    LiteLLM finds the keys itself. `base_url`: the address of a server, which LiteLLM gets with each request; None: the
    one that it has for the model. Requests and replies are in OpenAI's chat format; at Mistral's address in Mistral's.
    Raises InvalidSetting if LiteLLM is not installed, or is one of the releases that stole keys (`UNSAFE`).
    """

    name = "litellm"
    dialect = "openai"
    takes_foreign_tools = True  # it translates them, or passes them on

    def __init__(self, model: str, *, base_url: str | None = None) -> None:
        try:
            installed = version("litellm")
        except PackageNotFoundError:
            raise InvalidSetting(f"provider litellm: is not installed: {package_command(_SAFE)}") from None
        if installed in UNSAFE:
            raise InvalidSetting(
                f"provider litellm: release {installed} stole keys; install another one: {package_command(_SAFE)}"
            )
        super().__init__(model, base_url=base_url or "")
        self._key = os.environ.get("LITELLM_API_KEY", "")

    def _make_client(self, *, is_async: bool) -> Any:
        litellm: Any = import_module("litellm")
        return litellm.acompletion if is_async else litellm.completion

    def _arguments(self, request: Mapping[str, Any], max_tokens: int | None, timeout: float) -> dict[str, Any]:
        address = {"base_url": self._base_url} if self._base_url else {}
        request = {**request, "num_retries": 0, "max_retries": 0, **address}
        return super()._arguments(request, max_tokens, timeout)

    def _call(self, client: Any, arguments: dict[str, Any], *, is_stream: bool) -> Any:
        if is_stream:
            arguments = {"stream_options": {"include_usage": True}, **arguments, "stream": True}
        return client(**arguments)

    def _close_stream(self, chunks: Any) -> None:
        """Close the SDK's iterator: LiteLLM's own, around it, cannot be closed."""
        close = getattr(getattr(chunks, "completion_stream", chunks), "close", None)
        if callable(close):
            close()

    async def _aclose_stream(self, chunks: Any) -> None:
        """Close the SDK's iterator, if LiteLLM's own cannot be closed."""
        for each in (chunks, getattr(chunks, "completion_stream", None)):
            if hasattr(each, "aclose") or hasattr(each, "close"):
                return await close_async(each)
        return None

    def close(self) -> None:
        """Do nothing: LiteLLM manages its connections itself."""

    async def aclose(self) -> None:
        """Do nothing: LiteLLM manages its connections itself."""
