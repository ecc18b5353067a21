"""What callers hand in, checked before anything is made of it: one clear line instead of a trace from deep inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from transom.core.budget import Budget
from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.message import Fact, Raw
from transom.core.tool import Tool
from transom.errors import InvalidEdit, InvalidMessage, InvalidSetting
from transom.wire.checks import owned


def names(url: object, id: object, system: object) -> None:  # noqa: A002 - as in `Conversation.open`
    """What a conversation is opened by. Raises InvalidSetting."""
    for name, value in (("url", url), ("id", id)):
        if not isinstance(value, str) or not value:
            raise InvalidSetting(f"{name}: must be a text of at least one character, not {_shown(value)}")
    if system is not None and not isinstance(system, str):
        raise InvalidSetting(f"system: must be a text, not {_shown(system)}")


def limits(budget: object) -> Budget:
    """A budget, or the one of so many tokens. Raises InvalidSetting."""
    return budget if isinstance(budget, Budget) else Budget(context=cast("int", budget))


def number(name: str, entry: object) -> int:
    """The number of an entry. Raises InvalidEdit."""
    if not isinstance(entry, int) or isinstance(entry, bool):
        raise InvalidEdit(f"{name}: the number of an entry is needed, not {_shown(entry)}")
    return entry


def edit(value: object) -> Edit:
    """An edit. Raises InvalidEdit."""
    if not isinstance(value, (Fold, Trim, Pin, Undo)):
        raise InvalidEdit(f"a Fold, Trim, Pin or Undo is needed, not {_shown(value)}")
    return value


def fact(value: object) -> Fact:
    """A fact. Raises InvalidMessage."""
    if not isinstance(value, Fact):
        raise InvalidMessage("append", f"a fact is needed, not {_shown(value)}")
    return value


def label(call: object) -> str:
    """The id of a tool call, which may be empty, as a plain text. Raises InvalidMessage."""
    if not isinstance(call, str):
        raise InvalidMessage("tool_result", f"call_id must be a string, not {_shown(call)}")
    return str.__str__(call)


def content(where: str, value: object) -> str | list[Any] | Raw:
    """A text, an object, or a list of parts that is ours; no dialect has looked at them yet. Raises InvalidMessage."""
    if isinstance(value, str):
        return str.__str__(value)  # of an enum, or another kind of str, the text alone
    if isinstance(value, dict):
        return cast("Raw", value)
    if isinstance(value, (list, tuple)):
        return list(cast("Sequence[Any]", value))
    raise InvalidMessage(where, f"content must be a string or a list of parts, not {_shown(value)}")


def schemas(tools: object, known: Sequence[Raw]) -> Sequence[Raw]:
    """`known` if the tool schemas are the same, else a copy of them, sure to be JSON. Raises InvalidMessage."""
    if not isinstance(tools, (list, tuple)):
        raise InvalidMessage("window", f"tools must be a list of Tools or objects, not {_shown(tools)}")
    given = cast("Sequence[object]", tools)
    wanted = [tool.schema() if isinstance(tool, Tool) else tool for tool in given]
    if wanted == list(known):
        return known
    for at, tool in enumerate(wanted):
        if not isinstance(tool, dict):
            raise InvalidMessage("window", f"tools[{at}] must be a Tool or an object, not {_shown(tool)}")
    return tuple(owned({"tools": wanted}, "window")["tools"])


def states(given: object) -> dict[str, Any]:
    """What tells the states of a conversation, by key, as a copy. Raises InvalidSetting."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(map(callable, cast("Mapping[object, object]", given).values())):
        raise InvalidSetting("states: must map keys to functions that return a text or None")
    return dict(cast("Mapping[str, Any]", given))


def words(says: object) -> dict[str, str]:
    """The frame's words by key, as a copy. Raises InvalidMessage."""
    if not isinstance(says, Mapping):
        raise InvalidMessage("window", f"says must map keys to texts, not {_shown(says)}")
    for key, word in cast("Mapping[object, object]", says).items():
        if not isinstance(key, str) or not key:
            raise InvalidMessage("window", f"says: a key must be a text of at least one character, not {_shown(key)}")
        if not isinstance(word, str):
            raise InvalidMessage("window", f"says: the word for {key!r} must be a text, not {_shown(word)}")
    return {str.__str__(key): str.__str__(word) for key, word in cast("Mapping[str, str]", says).items()}


def _shown(value: object) -> str:
    return "an empty one" if value == "" else "None" if value is None else type(value).__name__
