"""Tool results that are visible, with their calls, and the trims that replace them by notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from transom import texts
from transom.core.edit import Trim
from transom.core.message import Assistant, Call, ToolResult
from transom.core.policy import Target
from transom.core.tokens import ZERO, Size, text_bytes
from transom.core.trims import effective_trim
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.candidates import is_worth_a_batch, may_trim
from transom.strategies.text.parts import TextPart, text_parts

MIN_SAVING = 20
"""Tokens that a trim must save to be worth an entry of the log."""

Replacement = tuple[Unit, TextPart, str]
"""A text of a unit, and the note that could replace it."""


class Observation(Struct, frozen=True):
    """A visible tool result, with its call and the index of that call.

    `free`: a strategy may trim it (see `may_trim`), and it was not read back from the log.
    """

    unit: Unit
    entry: int
    result: ToolResult
    call: Call
    index: int
    parts: tuple[TextPart, ...]
    free: bool


def observations(view: View, target: Target) -> Iterator[Observation]:
    """The tool results of the units that are slots, oldest first, also those that may not be trimmed (see
    `Observation.free`). Results of pinned units behind folds are not among them."""
    for unit in view.slots:
        if isinstance(unit, Unit) and isinstance(unit.first_fact, Assistant) and len(unit.seqs) > 1:
            free = may_trim(view, target, unit)
            parts: dict[int, list[TextPart]] = {}
            for part in text_parts(view, unit, of_results=True):
                parts.setdefault(part.entry, []).append(part)
            for seq, index, result in zip(unit.seqs[1:], unit.answered_calls, unit.facts[1:], strict=True):
                call, own = unit.first_fact.calls[index], tuple(parts.get(seq, ()))
                assert isinstance(result, ToolResult)
                yield Observation(unit, seq, result, call, index, own, free and call.name not in texts.READ_BACK)


def batch(view: View, target: Target, replacements: Iterable[Replacement], least: float, why: str) -> Iterator[Trim]:
    """The trims among these replacements that save something, all at once; none of them if together they save less
    than the share `least` of the limit."""
    trims, saved = list[Trim](), ZERO
    for unit, part, note in replacements:
        trim = effective_trim(unit.trims, (part.entry, part.part))
        shown_bytes = text_bytes(part.text) if trim is None else trim.bytes
        saving = Size(part.shown_tokens - target.counter.count(note), shown_bytes - text_bytes(note))
        if saving.tokens >= MIN_SAVING and saving.bytes > 0:
            trims.append(Trim(entry=part.entry, part=part.part, note=note, why=why))
            saved = saved.plus(saving)
    if is_worth_a_batch(view, target, saved, least):
        yield from trims
