"""Policies by name."""

from __future__ import annotations

from transom.core.policy import Policy
from transom.errors import InvalidSetting
from transom.policies.plain import DEFAULT, PASSTHROUGH, SLIDING

POLICIES: dict[str, Policy] = {policy.name: policy for policy in (DEFAULT, SLIDING, PASSTHROUGH)}


def policy_named(name: object) -> Policy:
    """The policy by that name, or the policy itself. Raises InvalidSetting, with the names there are."""
    if isinstance(name, Policy):
        return name
    policy = POLICIES.get(name) if isinstance(name, str) else None
    if policy is None:
        raise InvalidSetting(f"unknown policy {name!r}: there are {', '.join(POLICIES)}")
    return policy
