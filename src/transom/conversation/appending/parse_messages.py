"""What callers say, as facts: messages, what the user says, what a tool returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from transom.conversation import argument_checks as check
from transom.conversation.argument_checks import kind_of
from transom.core.message import Fact, Head, Instruction, Raw, is_empty
from transom.errors import InvalidMessage
from transom.wire.dialect import Dialect, Placed
from transom.wire.frameworks import parse_any
from transom.wire.openai import OPENAI_CHAT


def split_head(
    messages: Sequence[object], where: str = "", dialect: Dialect = OPENAI_CHAT
) -> tuple[list[Instruction], list[Placed]]:
    """Read messages: the leading instructions, and every later fact with the position of its message.

    A message is a dict, or a client library's object that can dump itself as one. In a dialect whose system prompt is
    not among the messages there are no leading instructions: all messages are facts. `where`: names the list in errors.
    Raises InvalidMessage.
    """
    facts = parse_any(messages, dialect, where)
    head: list[Instruction] = []
    for _, fact in facts:
        if not isinstance(fact, Instruction):
            break
        head.append(fact)
    if not dialect.render_head(Head(messages=tuple(head))):  # this dialect has no system messages among the others
        return [], facts
    return head, facts[len(head) :]


def facts_of(messages: Sequence[object], dialect: Dialect) -> list[Fact]:
    """Read what `Conversation.extend` takes as facts, in order: messages, or facts, which stay as they are. Raises
    InvalidMessage if one cannot be read, and for a mixture of both."""
    if isinstance(cast("object", messages), (list, tuple)) and any(isinstance(each, Fact) for each in messages):
        return [check.fact(each, None) for each in messages]
    return [fact for _, fact in parse_any(messages, dialect)]


def user_message(dialect: Dialect, value: object) -> Fact:
    """Return what a user says, parsed. Raises InvalidMessage for what is no message, and for one with nothing in it."""
    fact = dialect.parse_user(_content("user", value))
    if is_empty(fact):
        raise InvalidMessage("user", "the message is empty, and no provider takes that")
    return fact


def _content(where: str, value: object) -> str | list[Any] | Raw:
    """Check content that a dialect will parse, and return it: a text, an object, or a copy of a list of parts. Raises
    InvalidMessage for another type, and for a whole message in place of a part."""
    if isinstance(value, str):
        return str.__str__(value)  # of an enum, or another kind of str, the text alone
    if isinstance(value, dict):
        return cast("Raw", value)
    if isinstance(value, (list, tuple)):
        parts = list(cast("Sequence[Any]", value))
        for at, part in enumerate(parts):
            if isinstance(part, dict) and "role" in part and ("content" in part or "parts" in part):
                raise InvalidMessage(
                    where, f"content[{at}] is a whole message, not a content part: pass it to extend([...])"
                )
        return parts
    raise InvalidMessage(where, f"content must be a string or a list of parts, not {kind_of(value)}")
