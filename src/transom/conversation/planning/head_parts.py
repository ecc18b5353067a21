"""Parts of the head that change with time: a repo map, memory blocks, anything that the model should know.

A new head costs the whole cached prefix. So a part is asked for when nothing was sent yet, and again only when the head
changes anyway (another system prompt, mode or tools) or most of the prefix is read again anyway (a compaction). In
between, the model reads what was sent. Text that must be true at every call is `state`, which is announced in notes.

Each part is one system message of the head, behind the system prompt, with its name in a marker. By the marker the
parts that were sent are known again in a log that is opened later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from transom import texts
from transom.conversation.argument_checks import HeadPart, naming_function
from transom.core.message import Head, Instruction, Text
from transom.core.view import View
from transom.errors import InvalidSetting, quote
from transom.wire.dialect import Dialect


def part_messages(parts: Mapping[str, HeadPart], view: View, dialect: Dialect) -> tuple[Instruction, ...]:
    """The parts as they are now. Raises InvalidSetting for a function that returns no text."""
    messages = list[Instruction]()
    for name, part in parts.items():
        with naming_function("head_parts", name):
            text = cast("object", part if isinstance(part, str) else part(view))
        if text is not None and not isinstance(text, str):
            raise InvalidSetting(f"head_parts: the function for {quote(name)} must return a text or None")
        if text:
            messages += dialect.parse_system(texts.head_part(name, str.__str__(text)))
    return tuple(messages)


def divided(head: Head) -> tuple[tuple[Instruction, ...], tuple[Instruction, ...]]:
    """The instructions of a head: the system prompt, and the parts behind it."""
    at = len(head.messages)
    while at and texts.is_head_part(_text(head.messages[at - 1])):
        at -= 1
    return head.messages[:at], head.messages[at:]


def _text(message: Instruction) -> str:
    first: Sequence[object] = message.parts[:1]
    return first[0].text if first and isinstance(first[0], Text) else ""
