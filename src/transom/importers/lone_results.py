"""Counts the tool results of a recorded conversation that no window shows: they answer no open call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from transom.core.message import Assistant, Fact, ToolResult


class LoneResults:
    """Takes the facts of one conversation in order, and counts the results whose id no call before them has, and those
    that come a second time. Results without an id are not counted: their call is found by its name."""

    def __init__(self) -> None:
        self._open = Counter[str]()
        self._without_call = self._repeated = 0

    def add(self, facts: Iterable[object]) -> None:
        """Take the next facts; other bodies of entries are passed over."""
        for fact in facts:
            if isinstance(fact, Assistant):
                self._open.update(call.id or call.name for call in fact.calls)
            elif isinstance(fact, ToolResult) and fact.call:
                if fact.call not in self._open:
                    self._without_call += 1
                elif not self._open[fact.call]:
                    self._repeated += 1
                else:
                    self._open[fact.call] -= 1

    def remark(self) -> str:
        """One line for people; empty if every result has its call."""
        counts = (
            (self._without_call, "tool result has no call", "tool results have no call"),
            (self._repeated, "tool result comes a second time", "tool results come a second time"),
        )
        said = [f"{many:,} {one if many == 1 else several}" for many, one, several in counts if many]
        them = "it" if self._without_call + self._repeated == 1 else "them"
        return f"{' and '.join(said)}: no window shows {them}" if said else ""


def remark_on_results(facts: Iterable[Fact]) -> str:
    """The remark of `LoneResults` on all facts of a conversation."""
    results = LoneResults()
    results.add(facts)
    return results.remark()
