"""Policies by name, and what a policy of your own needs from them. Each module is loaded at first use.

`DEFAULT`, `SLIDING` and `PASSTHROUGH` are the plain policies; twelve others behave like the systems they are named
after: `policy_named("codex")`. `LADDER` is the last resort that makes every window fit: give it as `hard`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from transom.core.policy import Policy
from transom.errors import InvalidSetting, quote

if TYPE_CHECKING:
    from transom.policies.plain import DEFAULT, LADDER, PASSTHROUGH, SLIDING

__all__ = ["DEFAULT", "LADDER", "PASSTHROUGH", "POLICIES", "SLIDING", "policy_named"]

_NAMED = "dynamiq weakincentives agenticloop crewagent codex openhands claude_code manus opencode aider swe_agent letta"

POLICIES = {**dict.fromkeys(("default", "sliding", "passthrough"), "plain"), **dict.fromkeys(_NAMED.split(), "named")}
"""The names of the policies, each with the module that has it, under its name in capitals."""


def policy_named(name: object) -> Policy:
    """The policy of this name; a policy is returned. Raises InvalidSetting."""
    if isinstance(name, Policy):
        return name
    if not isinstance(name, str) or name not in POLICIES:
        raise InvalidSetting(f"unknown policy {quote(name)}: there are {', '.join(POLICIES)}")
    return _loaded(name)


@cache
def _loaded(name: str) -> Policy:
    return getattr(import_module(f"{__name__}.{POLICIES[name]}"), name.upper())


def __getattr__(name: str) -> Any:
    if name not in {"DEFAULT", "LADDER", "PASSTHROUGH", "SLIDING"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.plain"), name)
