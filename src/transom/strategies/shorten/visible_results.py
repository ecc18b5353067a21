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


class VisibleResult(Struct, frozen=True):
    """A tool result in the window, with its call.

    `entry`: the seq of the result. `index`: of the call in its turn. `parts`: the texts of the result. `free`: whether
    a strategy may trim it (see `may_trim`); never a result that was read back from the log.
    """

    unit: Unit
    entry: int
    result: ToolResult
    call: Call
    index: int
    parts: tuple[ShownPart, ...]
    free: bool


def visible_results(view: View, target: Target) -> Iterator[VisibleResult]:
    """Yield the tool results of all units outside folds, the oldest first, also those that may not be trimmed (see
    `VisibleResult.free`). The results of a pinned unit that a fold covers are left out."""
    for unit in view.slots:
        if isinstance(unit, Unit) and isinstance(unit.first_fact, Assistant) and len(unit.seqs) > 1:
            free = may_trim(view, target, unit)
            parts: dict[int, list[ShownPart]] = {}
            for part in shown_parts(view, unit, "results"):
                parts.setdefault(part.entry, []).append(part)
            for seq, index, result in zip(unit.seqs[1:], unit.answered_calls, unit.facts[1:], strict=True):
                call, own = unit.first_fact.calls[index], tuple(parts.get(seq, ()))
                assert isinstance(result, ToolResult)
                yield VisibleResult(unit, seq, result, call, index, own, free and call.name not in texts.READ_BACK)
