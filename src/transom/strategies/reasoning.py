"""Old reasoning is dropped first: the model wrote it itself, and its conclusions are in what the model did."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom.core.edit import Edit, Trim
from transom.core.message import Assistant, Reasoning, addressed_parts
from transom.core.policy import Target
from transom.core.tokens import ZERO, Size, part_bytes
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.candidates import is_worth_a_batch, may_trim


class DropReasoning(Struct, frozen=True, kw_only=True):
    """Drops the whole reasoning of turns before the newest user message, all at once; with `current` of later turns
    too.

    Providers that want reasoning back want it byte for byte, and only that of the turn at work, so its calls keep it.
    Nothing happens if it saves less than the share `least` of the limit.
    """

    current: bool = False
    least: float = 0.05

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        stop = view.length if self.current or view.newest_user is None else view.newest_user
        trims, saved = list[Edit](), ZERO
        for unit in view.visible_units():
            # a protected unit keeps its text and calls, not its reasoning; a person's pin keeps everything
            if (
                unit.key < stop
                and not unit.signature_stale  # hidden already
                and isinstance(unit.first_fact, Assistant)
                and may_trim(view, target, unit, protected=(), implied_pins=False)
            ):
                for trim, size in _reasoning(view, unit):
                    trims.append(trim)
                    saved = saved.plus(size)
        if is_worth_a_batch(view, target, saved, self.least):
            yield from trims


def _reasoning(view: View, unit: Unit) -> Iterator[tuple[Trim, Size]]:
    """The trims that drop the reasoning of a turn that is still shown, and what each saves."""
    trimmed = unit.effective_trims() if unit.trims else {}
    entry = view.entries_of(unit)[0]
    assert isinstance(entry.body, Assistant)
    for position, (address, part) in enumerate(addressed_parts(entry.body), start=1):
        if isinstance(part, Reasoning) and (entry.seq, address) not in trimmed:
            size = Size(entry.tokens[position], part_bytes(part))
            yield Trim(entry=entry.seq, part=address, why="old reasoning"), size
