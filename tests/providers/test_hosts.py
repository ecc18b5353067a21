"""Every provider takes the dialect of a known host by its address."""

from __future__ import annotations

import pytest

from transom.errors import InvalidSetting
from transom.providers.anthropic import Anthropic
from transom.providers.openai import OpenAIChat, OpenAIResponses
from transom.providers.sdk import SdkProvider


@pytest.mark.parametrize(
    ("kind", "url", "dialect"),
    [
        (Anthropic, "https://api.deepseek.com/anthropic", "anthropic_unsigned"),
        (Anthropic, "https://api.moonshot.cn/anthropic", "anthropic_unsigned"),
        (Anthropic, "https://api.kimi.com/coding/", "anthropic_unsigned"),
        (Anthropic, "https://notdeepseek.com/", "anthropic"),
        (Anthropic, "http://localhost:8080", "anthropic"),
        (Anthropic, None, "anthropic"),
        (OpenAIChat, "https://api.mistral.ai/v1", "mistral"),
        (OpenAIChat, "https://api.deepseek.com/v1", "openai"),
        (OpenAIChat, None, "openai"),
        (OpenAIResponses, "https://api.deepseek.com/v1", "deepseek_responses"),
        (OpenAIResponses, "https://api.mistral.ai/v1", "responses"),
        (OpenAIResponses, None, "responses"),
    ],
)
def test_the_dialect_of_a_provider_with_this_address(kind: type[SdkProvider], url: str | None, dialect: str) -> None:
    assert kind("m", base_url=url, api_key="x").dialect == dialect


def test_an_address_of_the_environment_counts_likewise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.mistral.ai/v1")
    mistral = OpenAIChat("m", api_key="x")
    assert (mistral.dialect, mistral._arguments({}, 9, 1.0)["max_tokens"]) == ("mistral", 9)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8787/v1")  # a proxy before OpenAI, as of `transom run`
    openai = OpenAIChat("m", api_key="x")
    assert (openai.dialect, openai._arguments({}, 9, 1.0)["max_completion_tokens"]) == ("openai", 9)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://api.moonshot.ai/anthropic")
    assert Anthropic("m", api_key="x").dialect == "anthropic_unsigned"


def test_a_server_of_the_environment_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InvalidSetting, match="set OPENAI_API_KEY"):
        OpenAIChat("m")
    given = OpenAIChat("m", base_url="http://127.0.0.1:8000/v1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")
    named = OpenAIChat("m")
    assert [each._arguments({}, 9, 1.0)["max_tokens"] for each in (given, named)] == [9, 9]


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidSetting) as caught:
        OpenAIChat("m", base_url="http://[::1", api_key="x")
    assert str(caught.value) == "provider openai: 'http://[::1' is not the address of a server"
