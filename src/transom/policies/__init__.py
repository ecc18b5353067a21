"""Policies by name, and what a policy of your own needs from them. Each module is loaded at first use.

`DEFAULT`, `SLIDING` and `PASSTHROUGH` are the plain policies. `RECALL` is `DEFAULT` with automatic recall, `SUMMARY` is
`DEFAULT` with a rolling summary, `NATIVE` is `DEFAULT` with the provider's own compaction. Twelve others behave like
the systems that they are named after: `policy_named("codex")`. `policy_named("default", keep_recent=0.3)` has another
setting. `LAST_RESORT` is the last resort, the strategies that make every window fit: give it as `last_resort` to a
policy of your own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from transom.core.policy import Policy
from transom.errors import InvalidSetting, quote
from transom.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from transom.policies.default import DEFAULT, NATIVE, PASSTHROUGH, RECALL, SLIDING, SUMMARY
    from transom.policies.last_resort import LAST_RESORT

__all__ = [
    "DEFAULT",
    "LAST_RESORT",
    "NATIVE",
    "PASSTHROUGH",
    "POLICIES",
    "RECALL",
    "SLIDING",
    "SUMMARY",
    "policy_named",
]

_OWN = "default sliding passthrough recall summary native"
_NAMED = "dynamiq weakincentives agenticloop crewagent codex openhands claude_code manus opencode aider swe_agent letta"

POLICIES = {**dict.fromkeys(_OWN.split(), "default"), **dict.fromkeys(_NAMED.split(), "named")}
"""The names of the policies, each with the module that defines it as a constant in capitals."""


def policy_named(
    name: object,
    *,
    keep_recent: float | None = None,
    clip: float | None = None,
    trigger: float | None = None,
    target: float | None = None,
) -> Policy:
    """The policy with this name: one of `POLICIES`, or a Policy, which is returned as it is if no setting is given.
    Settings that are given replace its own; None keeps them.

    All settings are shares of the room, which is the budget beside the system prompt, the first task and the newest
    user message.

    - `keep_recent`: how much of the newest turns is not folded. Only `default` and its variants have it: 0.25 (less
      below a `target` of 0.35). The newest turn with its results is never folded, nor is a turn with open calls and
      what comes after it.
    - `clip`: how much the new results of one turn may take in a full window before they are clipped: 0.25. With 1 they
      are clipped only if they are larger than the whole room. Only `default` and its variants have it. As long as the
      window is below the trigger, no result is clipped.
    - `trigger`: how full the window is when it is compacted.
    - `target`: how full a compaction leaves it at most. It follows the trigger: for `default` it is 0.8 of it.

    They may also follow the name, as on the command line: "default:keep_recent=0.3:target=0.6". A policy with settings
    has another name, and no `choices`, whose sizes would not follow the settings.

    Raises InvalidSetting for an unknown name or setting, a share that is not from 0 to 1, a `keep_recent` or `clip` for
    a policy that has none, or settings that contradict each other (a target above the trigger, or a target so low or so
    near to `keep_recent` that records have no room).
    """
    settings = {"keep_recent": keep_recent, "clip": clip, "trigger": trigger, "target": target}
    if not isinstance(name, Policy):
        plain, *more = name.split(":") if isinstance(name, str) else (name,)
        if not isinstance(plain, str) or plain not in POLICIES:
            raise InvalidSetting(f"unknown policy {quote(name)}: there are {', '.join(POLICIES)}")
        name = _with_settings(_loaded(plain), _parsed(more))
    return _with_settings(name, settings)


def _parsed(settings: Sequence[str]) -> dict[str, object]:
    """The settings that follow a name, as texts. Raises InvalidSetting if one is given twice."""
    pairs = [setting.partition("=") for setting in settings]
    if len({key for key, _, _ in pairs}) < len(pairs):
        raise InvalidSetting("policy: a setting is given twice")
    return {key.strip(): value for key, _, value in pairs}


def _with_settings(policy: Policy, settings: Mapping[str, object]) -> Policy:
    """The policy with these settings; the same object if all are None."""
    if all(value is None for value in settings.values()):
        return policy
    return import_module(f"{__name__}.settings").with_settings(policy, settings)


@cache
def _loaded(name: str) -> Policy:
    """The policy with this name, from its module."""
    return getattr(import_module(f"{__name__}.{POLICIES[name]}"), name.upper())


__getattr__, __dir__ = lazy_exports(
    __name__,
    {"policies.default": "DEFAULT NATIVE PASSTHROUGH RECALL SLIDING SUMMARY", "policies.last_resort": "LAST_RESORT"},
)
