"""OpenAI's two APIs, through its SDK, and every server that speaks one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import openai

from transom.providers.sdk import SdkProvider

__all__ = ["OpenAIChat", "OpenAIResponses"]


class _OpenAI(SdkProvider):
    key_names, address_name = ("OPENAI_API_KEY",), "OPENAI_BASE_URL"

    def _make_client(self, *, is_async: bool) -> Any:
        make = openai.AsyncOpenAI if is_async else openai.OpenAI
        return make(api_key=self._key or "none", base_url=self._base_url, max_retries=0)


class OpenAIChat(_OpenAI):
    """A provider for Chat Completions: "openai:gpt-5", or with a server's address
    "openai:qwen3@http://localhost:8000/v1".

    The key is in OPENAI_API_KEY; with an address none is needed. Settings and errors: see `SdkProvider`. OpenAI's own
    API calls the limit of the answer `max_completion_tokens`, other servers `max_tokens`. A server is taken for
    OpenAI's own if there is a key and no `base_url`: OPENAI_BASE_URL may name a proxy before it, as `transom run` does.
    """

    name = "openai"
    dialect = "openai"

    @property
    def _limit_name(self) -> str:
        is_openais = self._key and self._base_url is None and self.dialect == OpenAIChat.dialect
        return "max_completion_tokens" if is_openais else "max_tokens"

    def _arguments(self, request: Mapping[str, Any], max_tokens: int | None, timeout: float) -> dict[str, Any]:
        if max_tokens is not None:
            limits = ("max_tokens", "max_completion_tokens")
            request = {key: value for key, value in request.items() if key not in limits}
        return super()._arguments(request, max_tokens, timeout)

    def _call(self, client: Any, arguments: dict[str, Any], *, is_stream: bool) -> Any:
        if is_stream:
            arguments = {"stream_options": {"include_usage": True}, **arguments, "stream": True}
        return client.chat.completions.create(**arguments)


class OpenAIResponses(_OpenAI):
    """A provider for the Responses API: "responses:gpt-5". The key is in OPENAI_API_KEY. With DeepSeek's address its
    dialect is "deepseek_responses". Settings and errors: see `SdkProvider`."""

    name = "responses"
    dialect = "responses"
    _limit_name = "max_output_tokens"

    def _call(self, client: Any, arguments: dict[str, Any], *, is_stream: bool) -> Any:
        return client.responses.create(**arguments, **({"stream": True} if is_stream else {}))

    def _compact(self, client: Any, arguments: dict[str, Any]) -> Any:
        return client.responses.compact(**arguments)
