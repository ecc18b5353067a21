"""The role of the message that stands for folded turns: a setting where the API allows another than the user's."""

from __future__ import annotations

import json
from typing import Any

import pytest

import transom
from transom.core.edit import Fold
from transom.errors import InvalidSetting
from transom.wire.dialects import DIALECTS, dialect_named, with_digest_role

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Go."},
    {"role": "assistant", "content": "One."},
    {"role": "user", "content": "On."},
    {"role": "assistant", "content": "Two."},
    {"role": "user", "content": "And on."},
]
ALLOWED = [("openai", "developer"), ("openai", "system"), ("responses", "developer"), ("responses", "system")]


def folded(dialect: str, role: str, excerpted: tuple[int, ...] = ()) -> tuple[dict[str, Any], int]:
    """A request whose second and third turn are one fold, and the tokens of the window."""
    settings = {"budget": 4_000, "dialect": dialect, "digest_role": role}
    conv = transom.Conversation.open("memory:", "x", system="Be brief.", **settings)
    for _, fact in dialect_named("openai").parse(MESSAGES):
        conv.append(fact)
    conv.edit(Fold(first=1, last=3, text="[entry 1 to entry 3: left out]", excerpted=excerpted))
    request = conv.request()
    return dict(request), request.window.tokens


def roles(body: dict[str, Any]) -> list[str]:
    return [message["role"] for message in body.get("messages") or body["input"]]


@pytest.mark.parametrize(("dialect", "role"), ALLOWED)
def test_the_digest_has_the_role_that_was_set(dialect: str, role: str) -> None:
    body, tokens = folded(dialect, role)
    plain, plain_tokens = folded(dialect, "user")
    assert [one for one in roles(body) if one != "user"] == [one for one in roles(plain) if one != "user"] + [role]
    assert dialect_named(dialect).violations(body) == []
    assert tokens == plain_tokens
    assert json.dumps(body).replace(f'"role": "{role}", "content": "[', '"role": "user", "content": "[') == json.dumps(
        plain
    )


def test_a_fold_that_carries_required_messages_stays_the_users() -> None:
    assert folded("openai", "developer", excerpted=(1,))[0] == folded("openai", "user", excerpted=(1,))[0]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_role_that_the_api_does_not_allow_is_one_line(dialect: str) -> None:
    for role in ("assistant", "tool", "owner" * 100, "developer"):
        if (dialect, role) not in ALLOWED:
            with pytest.raises(InvalidSetting) as caught:
                with_digest_role(dialect_named(dialect), role)
            assert str(caught.value).startswith(f"digest_role: {dialect_named(dialect).name} allows 'user'")
            assert len(str(caught.value)) < 200


def test_fit_has_the_setting_too() -> None:
    messages = [message for _ in range(40) for message in MESSAGES[:2]]
    long = [
        {**message, "content": f"{message['content']} {at} " + "and so on " * 20} for at, message in enumerate(messages)
    ]
    short = transom.fit(long, budget=2_000, digest_role="developer")
    assert [message["role"] for message in short].count("developer") == 1
    assert [{**message, "role": "user"} if message["role"] == "developer" else message for message in short] == (
        transom.fit(long, budget=2_000)
    )
