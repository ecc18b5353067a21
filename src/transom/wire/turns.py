"""Makes a turn of the model from its pieces, and takes it apart again, in the same way for all dialects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from transom.core.message import Addressed, Assistant, Call, Reasoning


def turn_of(items: Sequence[Addressed], **rest: Any) -> Assistant:
    """Make a turn of content parts, calls and reasoning, given in the order in which they came.

    `Assistant.order` keeps that order, a letter for each; it is empty for the usual one: reasoning, content, calls.
    `rest`: the other fields of the turn.
    """
    order = "".join("r" if isinstance(i, Reasoning) else "c" if isinstance(i, Call) else "p" for i in items)
    return Assistant(
        parts=tuple(i for i in items if not isinstance(i, (Reasoning, Call))),
        calls=tuple(i for i in items if isinstance(i, Call)),
        reasoning=tuple(i for i in items if isinstance(i, Reasoning)),
        order="" if order == "".join(sorted(order, key="rpc".index)) else order,
        **rest,
    )


def with_pending_calls(turn: Assistant, made: Iterable[str], closed: Iterable[str], used: Iterable[str]) -> Assistant:
    """A copy of the turn that says which calls of the provider's own tools reach into other turns: `pending_calls` wait
    for a later turn, `continued_calls` were made in an earlier one.

    All three are ids of such calls; empty ids do not count. `made`: the turn makes the call. `closed`: the turn has its
    result. `used`: the code that the call runs has made a call of a client's tool in this turn.
    """
    made, closed, used = dict.fromkeys(made), dict.fromkeys(closed), dict.fromkeys(used)
    pending = tuple(label for label in {**made, **used} if label and label not in closed)
    continued = tuple(label for label in {**closed, **used} if label and label not in made)
    return replace(turn, pending_calls=pending, continued_calls=continued) if pending or continued else turn


def continued(turn: Assistant, more: Assistant) -> Assistant:
    """One turn of two: `turn`, and `more`, with which it goes on in another message. A bar in `order` says where `more`
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


def pieces_by_message(turn: Assistant) -> list[list[Addressed]]:
    """The pieces of a turn in their order, in one list for each message that it came in."""
    groups: dict[str, Iterator[Addressed]] = {"r": iter(turn.reasoning), "p": iter(turn.parts), "c": iter(turn.calls)}
    return [[next(groups[letter]) for letter in letters] for letters in _letters(turn).split("|")]
