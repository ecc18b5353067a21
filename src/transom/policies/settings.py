"""Applies the settings of a policy that users change most: `keep_recent`, `clip`, `trigger` and `target`."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from msgspec.structs import replace

from transom.core.policy import Policy, Strategy
from transom.errors import InvalidSetting, quote
from transom.strategies.arrival import ClipNew
from transom.strategies.fold.layered_records import LEAST_RECORD, Digest
from transom.strategies.fold.rolling_record import RollingRecord

OF_DEFAULT = {"keep_recent": Digest, "clip": ClipNew}
"""The settings that are those of one strategy, by name. Only `default` and its variants have these strategies."""

SETTINGS = (*OF_DEFAULT, "trigger", "target")


def with_settings(policy: Policy, settings: Mapping[str, object]) -> Policy:
    """A copy of the policy with these settings, shares of the room as numbers or texts. A setting that is None stays as
    it is. If the trigger is lowered, and no target is given, the policy's own target is lowered in proportion.

    The name of the copy has the settings. It has no `choices`, since their sizes are fixed: so prices decide only when
    the policy compacts, and not how.

    Raises InvalidSetting for an unknown setting, a share that is not from 0 to 1, a `keep_recent` or `clip` for a
    policy without that strategy, a target above the trigger, or too little room for records between `keep_recent` and
    target.
    """
    given = {name: _share(name, value) for name, value in settings.items() if value is not None}
    for name, kind in OF_DEFAULT.items():
        if name in given and not any(isinstance(step, kind) for step in (*policy.arrival, *policy.pressure)):
            raise InvalidSetting(f"policy {policy.name} has no {name}: default, recall, summary and native have it")
    trigger = given.get("trigger", policy.trigger)
    target = given.get("target", policy.target)
    if "target" not in given and target is not None and 0 < trigger < policy.trigger:
        target = target * trigger / min(1.0, policy.trigger)
    changed = replace(
        policy,
        name=":".join([policy.name, *(f"{setting}={given[setting]}" for setting in SETTINGS if setting in given)]),
        arrival=tuple(_changed(step, given) for step in policy.arrival),
        pressure=tuple(_changed(_below(step, trigger, policy), given) for step in policy.pressure),
        trigger=trigger,
        target=target,
        choices=(),
    )
    for step in changed.pressure:
        if isinstance(step, Digest):
            _must_leave_room(step, changed, keep_recent=given.get("keep_recent"))
    return changed


def _below(step: Strategy, trigger: float, policy: Policy) -> Strategy:
    """The strategy that a policy with another trigger has: with a lower one, a `RollingRecord` may have to keep
    less."""
    if isinstance(step, RollingRecord) and trigger < policy.trigger and step.tail_share + step.share >= trigger:
        return replace(step, tail_share=step.tail_share * trigger / min(1.0, policy.trigger))
    return step


def _changed(step: Strategy, given: Mapping[str, float]) -> Strategy:
    """The strategy with the settings that are its own."""
    if isinstance(step, Digest) and "keep_recent" in given:
        return step.with_keep_recent(given["keep_recent"])
    if isinstance(step, ClipNew) and "clip" in given:
        return replace(step, share=given["clip"])
    return step


def _must_leave_room(digest: Digest, policy: Policy, *, keep_recent: float | None) -> None:
    """Raises InvalidSetting if records would have less than `LEAST_RECORD` of the room: of the target, or between it
    and `keep_recent` (None: not given)."""
    full = 1 - digest.quiet
    most = full * policy.trigger if policy.target is None else policy.target
    if most < LEAST_RECORD:
        if policy.target is None:
            least = LEAST_RECORD / full
            raise InvalidSetting(f"policy: trigger {policy.trigger:g} is too low: it must be at least {least:g}")
        raise InvalidSetting(f"policy: target {most:g} is too low: records need at least {LEAST_RECORD} of the room")
    if keep_recent is not None and most - keep_recent < LEAST_RECORD - 1e-9:
        raise InvalidSetting(
            f"policy: keep_recent {keep_recent:g} must be at least {LEAST_RECORD} below target {most:g}: records have "
            "what is between them"
        )


def _share(name: str, value: object) -> float:
    """The value of the setting `name` as a number. Raises InvalidSetting for an unknown name, or if it is no share from
    0 to 1."""
    if name not in SETTINGS:
        raise InvalidSetting(f"policy: there is no setting {quote(name)}: there are {', '.join(SETTINGS)}")
    try:
        share = float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else -1.0
    except ValueError:
        share = -1.0
    if not isfinite(share) or not 0 <= share <= 1:
        raise InvalidSetting(f"policy: {name} must be a share of the room, from 0 to 1, not {quote(value)}")
    return share
