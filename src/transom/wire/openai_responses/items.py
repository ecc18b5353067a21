"""The words of the API that reading and rendering share, and what a turn remembers of the items it came in."""

from __future__ import annotations

from typing import Any, Literal, cast

from msgspec import Struct, ValidationError, convert, to_builtins

from transom.core.message import Raw

NAME = "responses"
"""What facts call this dialect."""

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""The calls a caller answers, and where each keeps what the tool is given."""

OUTPUTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}

TEXTS = {"input_text": "text", "output_text": "text", "refusal": "refusal", "summary_text": "text", "text": "text"}
"""Content parts that are words, and where each keeps them. `text` is chat's: the API refuses it."""

SAID, HEARD = "output_text", "input_text"
"""What a text part is called in the model's messages, and in everybody else's."""

INSTRUCTIONS = "instructions"
"""Marks the instruction that stands beside the items in a request."""

BARE = "bare"
"""Marks a fact whose one part is the whole item."""

_ITEMS = "items"


class Group(Struct, frozen=True, omit_defaults=True):
    """The parts of a turn that came in one item: of a message, or (`item`) a built-in call that is a part by itself.

    `rest`: the message's other fields. A message without content holds one empty text, and its shape says what stood
    there.
    """

    parts: int = 1
    shape: Literal["text", "parts", "empty", "null", "absent", "item"] = "parts"
    rest: Raw | None = None


def kept(groups: list[Group]) -> Raw | None:
    """What a turn must remember of its items: nothing if it is one message of role and content, or none."""
    plain = len(groups) == 1 and groups[0].shape in {"text", "parts"} and not groups[0].rest
    return None if plain or not groups else {_ITEMS: cast("list[Any]", to_builtins(groups))}


def remembered(extra: Raw | None, parts: int) -> list[Group] | None:
    """The groups of a turn of so many parts; None if it has not said, or what it says is of another turn."""
    try:
        groups = convert((extra or {}).get(_ITEMS), list[Group])
    except ValidationError:
        return None
    whole = all(group.parts > 0 for group in groups) and sum(group.parts for group in groups) == parts
    return groups if whole else None
