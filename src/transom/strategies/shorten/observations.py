"""Tool results that are visible, with their calls."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom import texts
from transom.core.message import Assistant, Call, ToolResult
from transom.core.policy import Target
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.candidates import may_trim
from transom.strategies.text.parts import ShownPart, shown_parts


class Observation(Struct, frozen=True):
    """A visible tool result, with its call and the index of that call.

    `free`: a strategy may trim it (see `may_trim`), and it was not read back from the log.
    """

    unit: Unit
    entry: int
    result: ToolResult
    call: Call
    index: int
    parts: tuple[ShownPart, ...]
    free: bool


def observations(view: View, target: Target) -> Iterator[Observation]:
    """The tool results of the units that are slots, oldest first, also those that may not be trimmed (see
    `Observation.free`). Results of pinned units behind folds are not among them."""
    for unit in view.slots:
        if isinstance(unit, Unit) and isinstance(unit.first_fact, Assistant) and len(unit.seqs) > 1:
            free = may_trim(view, target, unit)
            parts: dict[int, list[ShownPart]] = {}
            for part in shown_parts(view, unit, "results"):
                parts.setdefault(part.entry, []).append(part)
            for seq, index, result in zip(unit.seqs[1:], unit.answered_calls, unit.facts[1:], strict=True):
                call, own = unit.first_fact.calls[index], tuple(parts.get(seq, ()))
                assert isinstance(result, ToolResult)
                yield Observation(unit, seq, result, call, index, own, free and call.name not in texts.READ_BACK)
