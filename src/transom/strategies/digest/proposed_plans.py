"""The plans that an agent showed the user as one text: what is quoted of them.

A plan that the user did not refuse stands like an answer of the model, with an outline. Of one that was refused only
the beginning stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from transom.core.message import Assistant
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.digest.index import Index
from transom.strategies.digest.key_sentences import Rarity, Worth
from transom.strategies.digest.message_outline import outline
from transom.strategies.digest.message_quotes import QuotedMessages, Spans
from transom.strategies.digest.named_arguments import PLAN_ARGUMENT, is_plan
from transom.strategies.digest.passages import Argument, Passage, arguments_in_text, opening, readable

MOST, LEAST, REFUSED = 1_600, 200, 160
"""Characters that are quoted of a plan, at most and at least, and of one that was refused."""

OF_A_LINE = 8
"""Tokens of the number and the marks around a quoted plan, about."""


class _Plan(Struct, frozen=True):
    """A plan: the entry of its turn, the number of the call's text in it, the text, and its tokens a character."""

    seq: int
    number: int
    text: Argument
    rate: float
    refused: bool


class ProposedPlans:
    """The plans that were shown to the user in these units."""

    def __init__(self, view: View, index: Index, units: Sequence[Unit]) -> None:
        self.view, self.index, self.units = view, index, units

    def quoted(self, room: float) -> QuotedMessages:
        """Quotes of the plans in so many tokens, the newest first: an outline, or the beginning of a refused one."""
        spans: Spans = {}
        left = room
        for plan in reversed(self._plans):
            words = plan.text.value
            most = min(REFUSED if plan.refused else MOST, int((left - OF_A_LINE) / plan.rate))
            if most < min(LEAST, REFUSED, len(words)):
                continue
            found = [(0, len(words))] if len(words) <= most else None
            if found is None and not plan.refused:
                found = outline(words, most, Worth(Rarity([words])))
            chosen = found or [(0, opening(words, most))]
            left -= sum(end - start for start, end in chosen) * plan.rate + OF_A_LINE
            at = plan.text.start
            spans.setdefault(plan.seq, {})[plan.number] = [(at + start, at + end) for start, end in chosen]
        return QuotedMessages(spans, room - left)

    def is_refused(self, passage: Passage) -> bool:
        """Whether a passage is of a plan that the user refused."""
        return (passage.entry, passage.text) in self._refused

    @cached_property
    def _refused(self) -> set[tuple[int, int]]:
        return {(plan.seq, plan.number) for plan in self._plans if plan.refused}

    @cached_property
    def _plans(self) -> list[_Plan]:
        return [plan for unit in self.units for plan in self._plans_of(unit)]

    def _plans_of(self, unit: Unit) -> Iterator[_Plan]:
        head = unit.seqs[0]
        entry = self.view.fetch(head)
        if not isinstance(entry.body, Assistant) or not any(
            f'"{PLAN_ARGUMENT}"' in one.args for one in entry.body.calls
        ):
            return
        results = dict(zip(unit.answered_calls, unit.seqs[1:], strict=True))
        sources = readable(entry.body)
        for at, call in enumerate(entry.body.calls):
            ended = self.index.at(self.view, results[at]).result if at in results else None
            number = len(sources) - len(entry.body.calls) + at
            rate = max(0.01, entry.tokens[sources[number][1]] / max(1, len(sources[number][0])))
            for one in arguments_in_text(call):
                if is_plan(one.name, one.value):
                    yield _Plan(head, number, one, rate, ended is not None and ended.refused)
