"""Finds the entries of a log that a framework's messages are: two facts are the same if they have the same key.

A key has what a message says, and nothing that a framework may add to it later: names, ids of messages, metadata. A
result is the one of its call, whatever it says, because a framework may have shortened it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from transom.core.message import Assistant, Fact, Instruction, Text, ToolResult, User
from transom.core.unit import FoldedSlot, Unit
from transom.core.view import View
from transom.wire.fields import compact_json
from transom.wire.frameworks.base import Piece

Key = tuple[Any, ...]


def is_said(fact: object) -> bool:
    """Whether a fact may come from a framework: a message of the user or the model, an instruction, or a real
    result."""
    return isinstance(fact, (User, Assistant, Instruction)) or (isinstance(fact, ToolResult) and not fact.synthetic)


def key_of(fact: Fact) -> Key:
    """What a fact says, as a key: equal for two facts that are the same message."""
    if isinstance(fact, ToolResult) and fact.call:
        return ("result", fact.call)
    parts = (part for part in fact.parts if not isinstance(part, Text) or part.text)
    said = tuple(part.text if isinstance(part, Text) else compact_json(part.raw) for part in parts)
    if isinstance(fact, Assistant):
        return (
            "assistant",
            said,
            tuple((call.id, call.name) if call.id else (call.name, call.args) for call in fact.calls),
        )
    return (type(fact).__name__, said)


def sources_of(view: View, pieces: Sequence[Piece]) -> dict[int, Piece]:
    """The piece of each entry that the view shows, as far as there is one; those of the head under -1, -2, …

    Of equal messages the newest belong to the newest entries.
    """
    waiting: defaultdict[Key, list[Piece]] = defaultdict(list)
    for piece in pieces:
        waiting[key_of(piece.fact)].append(piece)
    found: dict[int, Piece] = {}
    for unit in _shown_units(view):
        for seq, fact in zip(reversed(unit.seqs), reversed(unit.facts), strict=True):
            if is_said(fact) and (left := waiting.get(key_of(fact))):
                found[seq] = left.pop()
    for at, instruction in enumerate(view.head.messages, 1):
        if left := waiting.get(key_of(instruction)):
            found[-at] = left[0]
    return found


def _shown_units(view: View) -> Iterator[Unit]:
    """The units that a view shows, the newest first."""
    for slot in reversed(view.slots):
        if isinstance(slot, FoldedSlot):
            yield from reversed(slot.pinned_units)
        else:
            yield slot
