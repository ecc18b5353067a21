"""Anthropic's Messages API, through its SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anthropic

from transom.providers.sdk import SdkProvider
from transom.wire.fields import as_dict, as_list

__all__ = ["Anthropic"]

MAX_TOKENS = 8_192
"""The most tokens of an answer, if the caller gives no limit: this API requires one, and every current model can write
this much.
"""

COMPACTION = "compact-2026-09-04"
"""The beta that makes compactions on demand, and takes them back."""


class Anthropic(SdkProvider):
    """A provider for Anthropic's Messages API: "anthropic:claude-sonnet-4-5". The key is in ANTHROPIC_API_KEY. Settings
    and errors: see `SdkProvider`.

    An answer has at most `MAX_TOKENS` (8,192) tokens if neither the caller nor the request says otherwise: this API
    requires a limit. With the address of DeepSeek's or Kimi's endpoint, its dialect is "anthropic_unsigned": thinking
    goes back to them without a signature.
    """

    name = "anthropic"
    dialect = "anthropic"
    key_names, address_name = ("ANTHROPIC_API_KEY",), "ANTHROPIC_BASE_URL"

    def _make_client(self, *, is_async: bool) -> Any:
        make = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        return make(api_key=self._key or "none", base_url=self._base_url, max_retries=0)

    def _arguments(self, request: Mapping[str, Any], max_tokens: int | None, timeout: float) -> dict[str, Any]:
        return super()._arguments({"max_tokens": MAX_TOKENS, **request}, max_tokens, timeout)

    def _call(self, client: Any, arguments: dict[str, Any], *, is_stream: bool) -> Any:
        messages = client.messages
        if has_compaction(arguments):
            messages, arguments = client.beta.messages, {"betas": [COMPACTION], **arguments}
        return messages.create(**arguments, **({"stream": True} if is_stream else {}))

    def _compact(self, client: Any, arguments: dict[str, Any]) -> Any:
        return client.beta.messages.create(**{"betas": [COMPACTION], **arguments})


def has_compaction(arguments: Mapping[str, Any]) -> bool:
    """Whether a request has a compaction block that was made on demand. Such a block is signed, and stands in the first
    message."""
    first = as_dict(next(iter(as_list(arguments.get("messages"))), None))
    blocks = map(as_dict, as_list(first.get("content")))
    return any(block.get("type") == "compaction" and block.get("signature") for block in blocks)
