"""What all dialects do in the same way: make a turn from its pieces, take it apart again, and join and clean
messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from transom.core.message import Addressed, Assistant, Call, Raw, Reasoning
from transom.core.tokens import replace_surrogates

_encoder = msgspec.json.Encoder()

# ---- a turn


def turn_of(items: Sequence[Addressed], **rest: Any) -> Assistant:
    """Make a turn of content parts, calls and reasoning in this order. It remembers the order unless it is reasoning,
    content, calls.

    `rest`: other fields of the turn.
    """
    order = "".join("r" if isinstance(i, Reasoning) else "c" if isinstance(i, Call) else "p" for i in items)
    return Assistant(
        parts=tuple(i for i in items if not isinstance(i, (Reasoning, Call))),
        calls=tuple(i for i in items if isinstance(i, Call)),
        reasoning=tuple(i for i in items if isinstance(i, Reasoning)),
        order="" if order == "".join(sorted(order, key="rpc".index)) else order,
        **rest,
    )


def continued(turn: Assistant, more: Assistant) -> Assistant:
    """One turn of two: `turn`, and `more`, which goes on with it in another message. A bar in `order` says where that
    begins."""
    return replace(
        turn,
        parts=turn.parts + more.parts,
        calls=turn.calls + more.calls,
        reasoning=turn.reasoning + more.reasoning,
        order=f"{_letters(turn)}|{_letters(more)}",
        shape="parts",
    )


def _letters(turn: Assistant) -> str:
    """The order of a turn's pieces as letters: r reasoning, p part, c call."""
    return turn.order or "r" * len(turn.reasoning) + "p" * len(turn.parts) + "c" * len(turn.calls)


def runs(turn: Assistant) -> list[list[Addressed]]:
    """The pieces of a turn in their order, in one list for each message that it came in."""
    groups: dict[str, Iterator[Addressed]] = {"r": iter(turn.reasoning), "p": iter(turn.parts), "c": iter(turn.calls)}
    return [[next(groups[letter]) for letter in run] for run in _letters(turn).split("|")]


# ---- messages


class Rendered(Struct, frozen=True, gc=False, array_like=True):
    """A message as a dialect sends it.

    Neighbours of one role are joined to one message where the API wants that; a message with `joins` false is not.
    """

    message: Raw
    """The message in the words of the dialect."""
    joins: bool = True

    def __iter__(self) -> Iterator[Any]:
        """Yield the message, then whether it joins: for unpacking."""
        return iter((self.message, self.joins))


def join_roles(messages: Sequence[Rendered], content: str) -> list[Raw]:
    """Join neighbouring messages of the same role: the lists of their parts are put together.

    `content`: the key of the parts in a message. A message with other fields than the role and this one stays alone,
    and so does one with `joins` false. No given message is changed.
    """
    out: list[Raw] = []
    ours = False  # whether the last one is new
    role: object = None  # of the last one
    for rendered in messages:
        message = rendered.message
        before, role = role, message.get("role")
        if role != before or not out or not rendered.joins or not _can_join(out[-1], message, content):
            out.append(message)
            ours = False
            continue
        if not ours:
            out[-1] = {**out[-1], content: list(_pieces(out[-1][content]))}
            ours = True
        out[-1][content].extend(_pieces(message[content]))
    return out


def _can_join(last: Raw, message: Raw, content: str) -> bool:
    """Whether two messages of one role have only role and content."""
    return {*last, *message} == {"role", content}


def _pieces(content: str | list[Raw]) -> list[Raw]:
    """The content of a message as a list of parts."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


# ---- JSON


def deep_copy(value: Any) -> Any:
    """A deep copy of a JSON value. It recurses: the caller must have limited the depth (`json_copy` does)."""
    if isinstance(value, dict):
        return {key: deep_copy(item) for key, item in cast("Raw", value).items()}
    return [deep_copy(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def without_lone_surrogates(value: Any) -> Any:
    """A deep copy of a JSON value with replacement characters for lone surrogates: UTF-8 has none. It recurses: the
    caller must have limited the depth."""
    if isinstance(value, dict):
        return {replace_surrogates(key): without_lone_surrogates(item) for key, item in cast("Raw", value).items()}
    if isinstance(value, list):
        return [without_lone_surrogates(item) for item in cast("list[Any]", value)]
    return replace_surrogates(value) if isinstance(value, str) else value


def messages_without_surrogates(messages: list[Rendered]) -> list[Rendered]:
    """The messages with lone surrogates replaced. Without any, the same list."""
    try:
        _encoder.encode(messages)
    except UnicodeEncodeError:
        return [replace(rendered, message=without_lone_surrogates(rendered.message)) for rendered in messages]
    return messages
