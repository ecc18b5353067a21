"""Numbers of tokens as people write them."""

from __future__ import annotations

import pytest

import transom
from transom.core.budget import parse_token_count


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("128000", 128_000),
        ("128k", 128_000),
        ("128K", 128_000),
        (" 128 k ", 128_000),
        ("1m", 1_000_000),
        ("1.5M", 1_500_000),
        ("0.5k", 500),
        ("128,000", 128_000),
        ("1_000_000", 1_000_000),
        ("1", 1),
    ],
)
def test_a_number_of_tokens(text: str, tokens: int) -> None:
    assert parse_token_count(text) == tokens
    with transom.Conversation.open("memory:", "x", budget=text) as conversation:
        assert conversation.budget == transom.Budget(context=tokens)


@pytest.mark.parametrize(
    "text", ["", "k", "0", "0k", "-5", "1.5", "1.0001k", "12kk", "12,00", "1e5", "128kb", "٣", "9" * 40, "128 000"]
)
def test_no_number_of_tokens(text: str) -> None:
    with pytest.raises(transom.InvalidSetting, match="budget: must be a whole number of tokens, such as"):
        transom.fit([{"role": "user", "content": "hi"}], budget=text)


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version  # noqa: PLC0415 - as the package does

    assert transom.__version__ == version("transom")
    with pytest.raises(AttributeError):
        transom.__versions__  # noqa: B018 - the access is what is tried
