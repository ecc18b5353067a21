"""Policies by name. Each is imported when it is first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from transom.core.policy import Policy
from transom.errors import InvalidSetting

_NAMED = "dynamiq weakincentives agenticloop crewagent codex openhands claude_code manus opencode aider swe_agent letta"

POLICIES = {**dict.fromkeys(("default", "sliding", "passthrough"), "plain"), **dict.fromkeys(_NAMED.split(), "named")}
"""The module where each stands, under its name in capitals."""


def policy_named(name: object) -> Policy:
    """The policy by that name, or the policy itself. Raises InvalidSetting, with the names there are."""
    if isinstance(name, Policy):
        return name
    if not isinstance(name, str) or name not in POLICIES:
        raise InvalidSetting(f"unknown policy {name!r}: there are {', '.join(POLICIES)}")
    return _loaded(name)


@cache
def _loaded(name: str) -> Policy:
    return getattr(import_module(f"{__name__}.{POLICIES[name]}"), name.upper())
