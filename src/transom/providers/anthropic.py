"""Anthropic's Messages API, through its SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anthropic

from transom.providers.sdk import SdkProvider

__all__ = ["Anthropic"]

MAX_TOKENS = 8_192
"""The most tokens of an answer, if the caller gives no limit: this API requires one, and every current model can write
this much.
"""


class Anthropic(SdkProvider):
    """A provider for Anthropic's Messages API: "anthropic:claude-sonnet-4-5". The key is in ANTHROPIC_API_KEY."""

    name = "anthropic"
    dialect = "anthropic"
    key_names = ("ANTHROPIC_API_KEY",)

    def _make_client(self, *, is_async: bool) -> Any:
        make = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        return make(api_key=self._key or "none", base_url=self._base_url, max_retries=0)

    def _arguments(self, request: Mapping[str, Any], max_tokens: int | None, timeout: float) -> dict[str, Any]:
        limit = {} if max_tokens is None else {"max_tokens": max_tokens}
        return {"timeout": timeout, "max_tokens": MAX_TOKENS, **request, "model": self.model, **limit}

    def _call(self, client: Any, arguments: dict[str, Any], *, is_stream: bool) -> Any:
        return client.messages.create(**arguments, **({"stream": True} if is_stream else {}))
