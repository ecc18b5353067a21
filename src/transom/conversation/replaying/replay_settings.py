"""What a replay is a replay of, and with which settings: stored with its first fact, and compared when it continues."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from math import isfinite
from typing import Any, cast

from msgspec import Struct, to_builtins
from msgspec.structs import asdict

from transom.conversation import argument_checks as check
from transom.conversation.conversation import Conversation
from transom.core.budget import UNLIMITED
from transom.core.codec import plain
from transom.core.message import Raw
from transom.core.policy import Policy
from transom.core.tool import Tool
from transom.errors import quote
from transom.wire.dialect import Placed

_LATER = frozenset({"policy_settings", "tools"})
"""What the first versions did not store: it is not compared if it is missing."""

_DEEPEST = 8


def replay_settings(
    conversation: Conversation,
    facts: Sequence[Placed],
    tools: Sequence[Raw | Tool] | None,
    injected: Collection[int] = (),
) -> dict[str, Any]:
    """The settings that windows depend on, and hashes of the messages, of the tools and of the policy's strategies."""
    marks = [plain(sorted(injected))] if injected else []
    limits = {name: value for name, value in to_builtins(conversation.budget).items() if value}
    return {
        **limits,
        "dialect": conversation.dialect.name,
        "policy": conversation.policy.name,
        "policy_settings": _policy_settings(conversation.policy),
        "tools": _hash(map(plain, check.schemas(tools or (), ()))),
        "messages": _hash([plain(conversation.head.messages), *(plain(fact) for _, fact in facts), *marks]),
    }


def difference(stored: Mapping[str, Any] | None, now: Mapping[str, Any]) -> str:
    """What differs between the settings of a stored replay and those of this one, in one line; empty if nothing."""
    if not stored:
        return "it is not a replay of these messages"
    was = {"dialect": "openai"} | {name: now[name] for name in _LATER} | dict(stored)
    names = [name for name in dict.fromkeys([*now, *was]) if was.get(name) != now.get(name)]
    if "policy" in names:
        names = [name for name in names if name != "policy_settings"]
    return ", ".join(_line(name, was.get(name), now.get(name)) for name in names)


def _line(name: str, was: Any, now: Any) -> str:
    if name in {"messages", "tools"}:
        return f"other {name}"
    if name == "policy_settings":
        changed = [key for key in now if key not in was or was[key] != now[key]]
        return "policy settings: " + ", ".join(_setting_line(key, was.get(key), now[key]) for key in changed)
    return f"{name} was {_shown(was)}, is {_shown(now)}"


def _setting_line(key: str, was: Any, now: Any) -> str:
    hashed = isinstance(was, str) and isinstance(now, str)
    return f"other strategies in {key}" if hashed else f"{key} was {_shown(was)}, is {_shown(now)}"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key} {_shown(each)}" for key, each in cast("Raw", value).items())
    return "none" if value is None else value if isinstance(value, str) else quote(value)


def _policy_settings(policy: Policy) -> dict[str, Any]:
    """The settings of a policy by name, to be compared.

    Numbers as they are, infinity as "never", own limits without those that are not set, and strategies as a hash of
    their names and settings.
    """
    settings: dict[str, Any] = {}
    for name, value in asdict(policy).items():
        if name == "choices" and not value:  # so that replays continue that are older than this setting
            continue
        if isinstance(value, tuple):
            settings[name] = _hash([repr(_described(cast("object", value), _DEEPEST)).encode()])
        elif name == "own_limits":
            limits = to_builtins(value).items()
            settings[name] = {key: limit for key, limit in limits if limit not in (0, None, UNLIMITED)}
        elif isinstance(value, (int, float)):
            settings[name] = value if isfinite(value) else "never"
    return settings


def _described(value: object, depth: int) -> object:
    """A value as plain lists that are the same in every process: without an object's address or a set's order."""
    if isinstance(value, (str, int, float, bytes, type(None))):
        return value
    if depth == 0:
        return type(value).__qualname__
    if isinstance(value, (set, frozenset)):
        return sorted(repr(_described(each, depth - 1)) for each in cast("set[object]", value))
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        return [(_described(key, depth - 1), _described(each, depth - 1)) for key, each in pairs]
    if isinstance(value, (list, tuple)):
        return [_described(each, depth - 1) for each in cast("list[object]", value)]
    if isinstance(value, partial):
        return ["partial", *(_described(each, depth - 1) for each in (value.func, value.args, value.keywords))]
    owner = value if hasattr(value, "__qualname__") else type(value)
    name = f"{getattr(owner, '__module__', '')}.{getattr(owner, '__qualname__', '')}"
    return [name, *(_described(getattr(value, field, None), depth - 1) for field in _field_names(value))]


def _field_names(value: object) -> Sequence[str]:
    """The settings of a strategy. An object of another kind may hold anything, such as a client with a connection."""
    if isinstance(value, Struct):
        return value.__struct_fields__
    return [field.name for field in fields(value)] if is_dataclass(value) and not isinstance(value, type) else ()


def _hash(pieces: Iterable[bytes]) -> str:
    content = hashlib.blake2b(digest_size=8)
    for piece in pieces:
        content.update(piece)
    return content.hexdigest()
