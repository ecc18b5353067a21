"""A request's messages to facts: what the API reads as one turn is one fact, what came apart stays apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from transom.core.message import Assistant, Fact, Other, Raw
from transom.wire.anthropic.parse import named_order, parse
from transom.wire.anthropic.words import MESSAGES
from transom.wire.dialect import Placed
from transom.wire.reading import listed


def read_messages(messages: Sequence[object], where: str, *, bound: bool) -> list[Placed]:
    """Facts from messages, in order.

    A turn that goes on in the next message (calls not answered yet, a provider's own tool still at work) is one fact:
    its parts cannot stand alone. Raises InvalidMessage.
    """
    prefix = f"{where}, " if where else ""
    out: list[Placed] = []
    before: Raw | None = None
    for at, item in enumerate(listed(messages, where or "messages")):
        message = as_message(item)
        facts = parse(message, f"{prefix}message {at}", bound=bound)
        fields = cast("Raw", message)
        if before is not None and before["role"] == fields["role"]:
            last = out[-1][1]
            if isinstance(last, Assistant) and isinstance(facts[0], Assistant) and _goes_on(last, facts[0]):
                out[-1] = (out[-1][0], _together(last, facts[0]))
                before = fields
                continue
            if isinstance(before.get("content"), list) and isinstance(fields.get("content"), list):
                facts[0] = _apart(facts[0])
        out.extend((at, fact) for fact in facts)
        before = fields
    return out


def _apart(fact: Fact) -> Fact:
    return replace(fact, apart=True)


def _goes_on(turn: Assistant, more: Assistant) -> bool:
    if more.extra or not more.parts + more.calls + more.reasoning or not turn.parts + turn.calls + turn.reasoning:
        return False
    raws = [part.raw for part in turn.parts if isinstance(part, Other)]
    begun = {_label(raw, "id") for raw in raws if str(raw.get("type")).endswith("_tool_use")}
    return bool(turn.calls) or bool(begun - {_label(raw, "tool_use_id") for raw in raws})


def _label(raw: Raw, key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _together(turn: Assistant, more: Assistant) -> Assistant:
    sizes: list[int | None] = [*((turn.extra or {}).get(MESSAGES) or [_size(turn)]), _size(more)]
    return replace(
        turn,
        parts=turn.parts + more.parts,
        shape="parts",
        calls=turn.calls + more.calls,
        reasoning=turn.reasoning + more.reasoning,
        order=named_order(_letters(turn) + _letters(more)),
        extra={**(turn.extra or {}), MESSAGES: sizes},
    )


def _size(turn: Assistant) -> int | None:
    """How many blocks a message had; None if it was a string."""
    return None if turn.shape == "text" else len(_letters(turn))


def _letters(turn: Assistant) -> str:
    return turn.order or "r" * len(turn.reasoning) + "p" * len(turn.parts) + "c" * len(turn.calls)


def as_message(value: object) -> object:
    """A message as dicts, where a client library's objects stand in it or for it: what they filled in with null is
    left out of these."""
    message = dumped(value)
    if not isinstance(message, dict):
        return message
    fields = cast("Raw", message)
    if isinstance(fields.get("content"), list):
        return {**fields, "content": [dumped(block) for block in cast("list[object]", fields["content"])]}
    return fields


def dumped(value: object) -> object:
    """An object that can dump itself, as a dict without nulls; anything else as it is."""
    dump: object = None if isinstance(value, dict) else getattr(value, "model_dump", None)
    return _without_nulls(dump()) if callable(dump) else cast("object", value)


def _without_nulls(value: Any) -> Any:
    """Client libraries fill in null for whatever was not sent. A tool's input is the model's: its nulls stay."""
    if isinstance(value, dict):
        fields = cast("Raw", value)
        return {
            key: item if key == "input" else _without_nulls(item) for key, item in fields.items() if item is not None
        }
    return [_without_nulls(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value
