"""What dialects do alike: a turn from its pieces and back, and the last touch to what goes out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from transom.core.message import Addressed, Assistant, Call, Raw, Reasoning
from transom.core.tokens import replace_surrogates

_encoder = msgspec.json.Encoder()

# ---- a turn


def turn_of(items: Sequence[Addressed], **rest: Any) -> Assistant:
    """A turn of these pieces, which remembers their order if it is not reasoning, then content, then calls."""
    order = "".join("r" if isinstance(i, Reasoning) else "c" if isinstance(i, Call) else "p" for i in items)
    return Assistant(
        parts=tuple(i for i in items if not isinstance(i, (Reasoning, Call))),
        calls=tuple(i for i in items if isinstance(i, Call)),
        reasoning=tuple(i for i in items if isinstance(i, Reasoning)),
        order="" if order == "".join(sorted(order, key="rpc".index)) else order,
        **rest,
    )


def continued(turn: Assistant, more: Assistant) -> Assistant:
    """A turn that goes on in another message: one fact, in whose order a bar says where the message begins."""
    return replace(
        turn,
        parts=turn.parts + more.parts,
        calls=turn.calls + more.calls,
        reasoning=turn.reasoning + more.reasoning,
        order=f"{_letters(turn)}|{_letters(more)}",
        shape="parts",
    )


def _letters(turn: Assistant) -> str:
    return turn.order or "r" * len(turn.reasoning) + "p" * len(turn.parts) + "c" * len(turn.calls)


def runs(turn: Assistant) -> list[list[Addressed]]:
    """What a turn holds, in its order on the wire, by the messages it came in."""
    groups: dict[str, Iterator[Addressed]] = {"r": iter(turn.reasoning), "p": iter(turn.parts), "c": iter(turn.calls)}
    return [[next(groups[letter]) for letter in run] for run in _letters(turn).split("|")]


# ---- messages


class Rendered(NamedTuple):
    """A rendered message. `joins` false: it stays a message of its own, even after a neighbour of the same role."""

    message: Raw
    joins: bool = True


def join_roles(messages: Sequence[Rendered], content: str) -> list[Raw]:
    """Neighbours of one role as one message: what they hold under the key `content` is put together.

    Messages that hold anything but role and content stay as they are. No given message is changed: a joined one is new.
    """
    out: list[Raw] = []
    ours = False  # whether the last one is new
    for message, joins in messages:
        if not joins or not out or not _can_join(out[-1], message, content):
            out.append(message)
            ours = False
            continue
        if not ours:
            out[-1] = {**out[-1], content: list(_pieces(out[-1][content]))}
            ours = True
        out[-1][content].extend(_pieces(message[content]))
    return out


def _can_join(last: Raw, message: Raw, content: str) -> bool:
    return last.get("role") == message.get("role") and {*last, *message} == {"role", content}


def _pieces(content: str | list[Raw]) -> list[Raw]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


# ---- JSON


def copied(value: Any) -> Any:
    """A JSON value that shares nothing with the one it is a copy of. Parsing has bounded its depth."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in cast("Raw", value).items()}
    return [copied(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def cleaned(value: Any) -> Any:
    """A copy without lone surrogates, which have no UTF-8. Parsing has bounded its depth."""
    if isinstance(value, dict):
        return {replace_surrogates(key): cleaned(item) for key, item in cast("Raw", value).items()}
    if isinstance(value, list):
        return [cleaned(item) for item in cast("list[Any]", value)]
    return replace_surrogates(value) if isinstance(value, str) else value


def without_surrogates(messages: list[Rendered]) -> list[Rendered]:
    """The messages, in which lone surrogates are replaced: a request is UTF-8, which has none."""
    try:
        _encoder.encode(messages)
    except UnicodeEncodeError:
        return [rendered._replace(message=cleaned(rendered.message)) for rendered in messages]
    return messages
