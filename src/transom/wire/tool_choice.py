"""Whether the arguments of a request force the model to call a tool, in the format of any API.

A forced call is meant for one request: forced again after its result, the model would call tools for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from transom.core.message import Raw
from transom.wire.sdk_objects import dumped

_FREE = frozenset(("auto", "none"))
"""Choices that force nothing."""
_GEMINI_KEYS = ("tool_config", "toolConfig")
_CALLING_KEYS = ("function_calling_config", "functionCallingConfig")


def without_forced_call(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a request with the choice of tools left to the model, if they force a call; else as they are.

    Anthropic's other settings within `tool_choice`, such as `disable_parallel_tool_use`, stay.
    """
    rest = dict(arguments)
    if _forces(rest.get("tool_choice")):
        choice = rest.pop("tool_choice")
        if isinstance(choice, dict) and (kept := _other_settings(cast("Raw", choice))):
            rest["tool_choice"] = {"type": "auto", **kept}
    for key in _GEMINI_KEYS:
        if _forces_gemini(rest.get(key)):
            del rest[key]
    if isinstance(config := rest.get("config"), dict):
        rest["config"] = without_forced_call(cast("Raw", config))
    return rest


def _forces(choice: object) -> bool:
    if isinstance(choice, dict):
        fields = cast("Raw", choice)
        if fields.get("type") == "allowed_tools":  # OpenAI's: its own mode says whether a call is forced
            inner = fields.get("allowed_tools")
            return _forces(fields.get("mode") or (cast("Raw", inner).get("mode") if isinstance(inner, dict) else None))
        return fields.get("type") not in _FREE
    return isinstance(choice, str) and choice not in _FREE


def _other_settings(choice: Raw) -> Raw:
    return {key: value for key, value in choice.items() if key == "disable_parallel_tool_use"}


def _forces_gemini(given: object) -> bool:
    config = dumped(given)
    if not isinstance(config, dict):
        return False
    calling = next((value for key in _CALLING_KEYS if (value := cast("Raw", config).get(key)) is not None), None)
    return isinstance(calling, dict) and str(cast("Raw", calling).get("mode", "")).upper() == "ANY"
