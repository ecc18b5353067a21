"""Old reasoning goes first: it is the model's own, its conclusions stand in what it said and did."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom.core.edit import Edit, Trim
from transom.core.message import Assistant, Reasoning, addressed_parts
from transom.core.policy import Target
from transom.core.view import View
from transom.strategies.omission import pinned


class DropReasoning(Struct, frozen=True, kw_only=True):
    """Drops the reasoning of turns before the newest user message, whole, in one batch; `current`: of later ones too.

    A provider that wants reasoning back wants it byte for byte, and only for the turn at work: its tool calls must not
    lose it. Not worth a break of its own below `least` of the limit.
    """

    current: bool = False
    least: float = 0.05

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        stop = view.length if self.current or view.newest_user is None else view.newest_user
        found: list[tuple[Trim, int]] = []
        for unit in view.visible_units():
            if (
                unit.key >= stop
                or unit.key == target.newest_unit
                or unit.signature_stale
                or view.user_restored(unit)
                or pinned(view, unit)
            ):
                continue
            if isinstance(unit.head, Assistant):
                gone = unit.effective_trims() if unit.trims else {}
                entry = view.entries_of(unit)[0]
                for position, (address, part) in enumerate(addressed_parts(unit.head), start=1):
                    if isinstance(part, Reasoning) and (entry.seq, address) not in gone:
                        trim = Trim(entry=entry.seq, part=address, why="old reasoning")
                        found.append((trim, entry.tokens[position]))
        if sum(tokens for _, tokens in found) >= self.least * target.limit.tokens:
            yield from (trim for trim, _ in found)
