"""Applies the three settings of a policy that users change most: `keep_recent`, `trigger` and `target`."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from msgspec.structs import replace

from transom.core.policy import Policy
from transom.errors import InvalidSetting, quote
from transom.strategies.covering_digest import Digest

SETTINGS = ("keep_recent", "trigger", "target")

ALMOST = 0.9
"""A share of the trigger: the fullest that a compaction leaves a window of mere talk, if no target is given."""

LEAST_RECORD = 0.1
"""The least share of the room that records must have, between what stays whole and the target."""


def with_settings(policy: Policy, settings: Mapping[str, object]) -> Policy:
    """A copy of the policy with these settings, shares of the room as numbers or texts. One that is None stays as it
    is. The copy has no `choices`, whose sizes are fixed: prices decide only when it compacts.

    Raises InvalidSetting for an unknown setting, a share that is not from 0 to 1, a `keep_recent` for a policy without
    a `Digest`, a target above the trigger, or too little room for records between `keep_recent` and target.
    """
    given = {name: _share(name, value) for name, value in settings.items() if value is not None}
    if not given:
        return policy
    digest = next((step for step in policy.pressure if isinstance(step, Digest)), None)
    if digest is None and "keep_recent" in given:
        raise InvalidSetting(f"policy {policy.name} has no keep_recent: it is a setting of default, recall and summary")
    name = ":".join([policy.name, *(f"{setting}={given[setting]}" for setting in SETTINGS if setting in given)])
    trigger = given.get("trigger", policy.trigger)
    if digest is None:
        target = given.get("target", min(policy.target, trigger) if trigger > 0 else policy.target)
        return replace(policy, name=name, trigger=trigger, target=target, choices=())
    most = given.get("target", (1 - digest.quiet) * trigger)
    if "target" not in given and most < LEAST_RECORD:
        least = LEAST_RECORD / (1 - digest.quiet)
        raise InvalidSetting(f"policy: trigger {trigger:g} is too low: it must be at least {least:g}")
    keep_recent = given.get("keep_recent", min(digest.keep_recent, max(0.0, most - LEAST_RECORD)))
    sized = _sized(digest, keep_recent, most, trigger)
    if "target" not in given:
        sized = replace(sized, least_quiet=1 - ALMOST * trigger if "trigger" in given else digest.least_quiet)
    return replace(
        policy,
        name=name,
        pressure=tuple(sized if step is digest else step for step in policy.pressure),
        trigger=trigger,
        target=given.get("target", min(policy.target, most)),
        choices=(),
    )


def _sized(digest: Digest, keep_recent: float, most: float, trigger: float) -> Digest:
    """A copy of the digest that leaves the window at most `most` full, with `keep_recent` of it in whole turns.

    The sizes of its records change in proportion to the share between the two. Raises InvalidSetting if that is too
    small.
    """
    if most > trigger:
        raise InvalidSetting(f"policy: target {most:g} must not be above trigger {trigger:g}")
    if most < LEAST_RECORD:
        raise InvalidSetting(f"policy: target {most:g} is too low: records need at least {LEAST_RECORD} of the room")
    if most - keep_recent < LEAST_RECORD - 1e-9:
        raise InvalidSetting(
            f"policy: keep_recent {keep_recent:g} must be at least {LEAST_RECORD} below target {most:g}: records have "
            "what is between them"
        )
    scale = (most - keep_recent) / (1 - digest.quiet - digest.keep_recent)
    return replace(
        digest,
        keep_recent=keep_recent,
        cap=digest.cap * scale,
        merge=digest.merge * scale,
        least=digest.least * min(1.0, scale),
        summary=digest.summary * scale,
        quiet=1 - most,
        least_quiet=1 - most,
    )


def _share(name: str, value: object) -> float:
    """A setting as a number from 0 to 1. Raises InvalidSetting for an unknown name or any other value."""
    if name not in SETTINGS:
        raise InvalidSetting(f"policy: there is no setting {quote(name)}: there are {', '.join(SETTINGS)}")
    try:
        share = float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else -1.0
    except ValueError:
        share = -1.0
    if not isfinite(share) or not 0 <= share <= 1:
        raise InvalidSetting(f"policy: {name} must be a share of the room, from 0 to 1, not {quote(value)}")
    return share
