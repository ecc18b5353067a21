"""Renders facts as items: a turn as the items it came in, repaired where the API would refuse them.

The items of a slot depend on that slot alone, so that they never change. What was valid comes out unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby, repeat
from typing import Any

from msgspec.structs import replace

from transom.core import message as m
from transom.core.message import Assistant, Call, Fact, Part, Raw, Text
from transom.core.unit import Unit
from transom.wire.arguments import sent_text
from transom.wire.responses.built_in import BUILT_IN_OUTPUTS, call_item, is_built_in, is_clients, output_items
from transom.wire.responses.parse import (
    CALLS,
    DIALECT_NAME,
    INSTRUCTIONS,
    ITEMS,
    MODEL_TEXT,
    OUTPUTS,
    SETTINGS,
    TEXTS,
    USER_TEXT,
)
from transom.wire.responses.repair import (
    beside_compaction,
    is_sendable,
    left_out,
    repair,
    with_distinct_ids,
    without_orphans,
)
from transom.wire.translate import safe_name, translate_fact, unique_calls, with_failed_mark
from transom.wire.turns import deep_copy, runs


def item(fact: Fact) -> Raw:
    """The item that a fact was read from; for a fact that we added, a message with its text; for a result, only its
    output."""
    if words := m.own_text(fact):
        return {"role": "assistant" if isinstance(fact, m.Failure) else "user", "content": words}
    fact = with_failed_mark(fact)
    extra: Raw = deep_copy(fact.extra or {})
    extra.pop(INSTRUCTIONS, None)
    content = _content(fact.parts, fact.shape, USER_TEXT)
    if isinstance(fact, m.ToolResult):
        return {"output": content, **({} if extra.get("type") in BUILT_IN_OUTPUTS else extra)}
    first = fact.parts[0] if fact.parts else None
    if isinstance(first, m.Other) and first.raw.get("type") in SETTINGS:
        return deep_copy(first.raw)
    return {"role": fact.role if isinstance(fact, m.Instruction) else "user", "content": content, **extra}


def takes(label: str) -> bool:
    """Whether the API takes a label as a call's id (R7)."""
    return len(label) <= 64


def unit_items(unit: Unit, *, strict: bool) -> list[Raw]:
    """The items of a unit. `strict`: the calls of a turn stand together behind all its other items."""
    head, *answers = (translate_fact(fact, DIALECT_NAME) for fact in unit.shown_facts())
    if not isinstance(head, Assistant):
        return [repair(item(head))]
    calls = unique_calls(unit, head, takes)
    out = _turn(unit.first_fact, replace(head, calls=calls))
    if strict:  # R4
        out.sort(key=lambda each: each.get("type") in CALLS or is_clients(each))
    behind = list[Raw]()
    for fact, index in zip(answers, unit.answered_calls, strict=True):
        call = calls[index]
        if is_built_in(call):
            assert isinstance(fact, m.ToolResult)
            output, *message = output_items(fact, call)
            out.append(output)
            behind += message  # no message stands between outputs
        else:
            out.append(repair({**item(fact), "type": OUTPUTS[_kind(call)], "call_id": call.id}))
    return out + behind


def _turn(whole: Fact, head: Assistant) -> list[Raw]:
    """The items of a turn. `whole`: without trims. A turn of another dialect without content gets a placeholder."""
    assert isinstance(whole, Assistant)
    items = list(_items(head))
    if whole.dialect == DIALECT_NAME:
        thoughts = [thought.extra for thought in head.reasoning]
        lost = len(thoughts) < len(whole.reasoning) or any(not is_sendable(thought or {}) for thought in thoughts)
        items = items if head.parts == whole.parts else without_orphans(items)
        items = beside_compaction(with_distinct_ids(items, lost=True) if lost else items)
        while items and items[-1].get("type") == "reasoning":  # R5: nothing that it produced follows
            items.pop()
    return [repair(each) for each in items] or [left_out()]


def _items(turn: Assistant) -> Iterator[Raw]:
    """The items that a turn came in. Neighbouring parts of another dialect become one message, if they have content."""
    known: list[Raw | None] = (turn.extra or {}).get(ITEMS, [])
    messages = chain(known, repeat({"role": "assistant", **({"content": ""} if turn.shape == "text" else {})}))
    for run in runs(turn):
        for spoken, group in groupby(run, lambda piece: not isinstance(piece, (Call, m.Reasoning))):
            pieces = list(group)
            if not spoken:
                yield from map(_item, pieces)
            elif known or any(part != Text("") for part in pieces):
                yield _said(next(messages), pieces)


def _item(piece: Any) -> Raw:
    """The item of a call or of reasoning."""
    if isinstance(piece, m.Reasoning):
        return deep_copy(piece.extra or {"type": "reasoning"})
    if is_built_in(piece):
        return call_item(piece)
    fields: Raw = {"type": _kind(piece), "call_id": piece.id, "name": safe_name(piece.name)}
    given = sent_text(piece.args) if _kind(piece) == "function_call" else piece.args  # a custom tool takes free text
    return {**deep_copy(piece.extra or {}), **fields, CALLS[_kind(piece)]: given}


def _said(message: Raw | None, parts: list[Any]) -> Raw:
    """The item of a message of the model. `message`: its fields; None for an item that is a part by itself."""
    if message is None:  # where such an item was trimmed stand our words
        first: Part = parts[0]
        return {"role": "assistant", "content": first.text} if isinstance(first, Text) else deep_copy(first.raw)
    empty = message.get("content")
    content: Any = _content(() if empty == [] else parts, "text" if empty == "" else "parts", MODEL_TEXT)
    return {**deep_copy(message), "content": content}


def _content(parts: Sequence[Part], shape: str, plain: str) -> Any:
    """A content. A string stays a string if one string can hold it. `plain`: the type of text parts here."""
    first = parts[0] if parts else Text("")
    if shape != "parts" and len(parts) < 2 and isinstance(first, Text) and not first.extra:
        return first.text
    return [_part(part, plain) for part in parts]


def _part(part: Part, plain: str) -> Raw:
    """A content part as it was read."""
    if not isinstance(part, Text):
        return deep_copy(part.raw)
    extra: Raw = {"type": plain, **deep_copy(part.extra or {})}
    return {**extra, TEXTS.get(extra["type"], "text"): part.text}


def _kind(call: Call) -> str:
    """The type of a call's item."""
    return (call.extra or {}).get("type", "function_call")
