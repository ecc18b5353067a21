"""What a record quotes of messages because of whose they are: the user's words, then the answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct

from transom.core.edit import Span
from transom.core.message import Fact
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.digest.index import Index
from transom.strategies.digest.outline import outline
from transom.strategies.digest.passages import closing, inner_words, opening, readable

EXCERPTS, ANSWERS = (1_200, 600, 400, 240, 120, 60), (1_200, 600, 400, 240, 160, 100)
"""Characters of a message of the user, and of an answer, that stand in a record without being chosen as a quote: the
most for which there is room."""

BEFORE_ANSWERS, FOR_ANSWERS = 400, 0.5
"""The user's messages have so many characters each before the answers have any; then at most this share of the room is
for the beginnings of the answers, before longer excerpts of the user's messages."""

OPTIONS = 3
"""A message that the user answers with a few words has so many times the characters of others: it has the options."""

BY_PROGRAM = 160
"""Characters of what a program wrote in the user's place, at most."""

LEAST_END = 60
"""Characters of the end of a message, at least; a shorter excerpt has the beginning only."""

MOSTLY_TALK, FEW_WORDS = 0.5, 20
"""How far talk outweighs work where the conversation counts as talk; tokens of a message of a few words."""

_BY_PROGRAM = re.compile(r"\s*(?:<[a-zA-Z][\w-]{0,60}[ >].*</[\w-]{1,60}>|\{\s*\".*\})\s*", re.DOTALL)
"""A message between tags, or JSON."""

Spans = dict[int, dict[int, list[Span]]]
"""What is quoted: of each entry, of each of its texts, these spans."""


class QuotedMessages(Struct, frozen=True):
    """What is quoted of messages, and its tokens, about."""

    spans: Spans = {}
    tokens: float = 0


class _Excerpt(Struct, frozen=True):
    """What is quoted of one message, and its tokens."""

    seq: int
    spans: list[Span]
    tokens: float


class MessageQuotes:
    """Chooses what is quoted of the messages among these units."""

    def __init__(self, view: View, index: Index, units: Sequence[Unit]) -> None:
        self.view, self.index, self.units = view, index, units

    def chosen(self, room: float, *, talk: float) -> QuotedMessages:
        """What the user said, and then the answers: of each message as many characters as all of them have room for.
        The first request comes before all others. What a program wrote in the user's place counts as an answer.

        Where the conversation is nothing but talk, the newest messages as far as the room goes: the others are quoted
        for what they say. Of an answer to which the user says little ("yes, do 2") it is the end that counts.
        """
        is_talk = talk >= MOSTLY_TALK
        spans: Spans = {}
        left = room
        said, answers = self._said, self._answers
        shortest = 0.0 if is_talk else sum(self._excerpt(unit, ANSWERS[-1]).tokens for unit in answers)
        beside = room - sum(self._excerpt(unit, BEFORE_ANSWERS).tokens for unit in said)
        reserved = max(0.0, min(FOR_ANSWERS * room, shortest, beside))
        first = said[0].seqs[0] if said else -1
        for units, levels, kept in ((said, EXCERPTS, reserved), (answers, ANSWERS, 0.0)):
            excerpts = self._longest(units, levels[:-1] if is_talk else levels, left - kept)
            for one in sorted(excerpts, key=lambda one: (one.seq != first, *self._rank(one))):
                if one.tokens <= left - kept:
                    left -= one.tokens
                    spans[one.seq] = {0: one.spans}
                elif is_talk:
                    break
        return QuotedMessages(spans, room - left)

    def _longest(self, units: Sequence[Unit], levels: Sequence[int], room: float) -> list[_Excerpt]:
        """These messages in the most characters each with which all of them fit, else in the fewest."""
        excerpts: list[_Excerpt] = []
        for most in levels:
            excerpts = [self._excerpt(unit, most) for unit in units]
            if sum(one.tokens for one in excerpts) <= room:
                break
        return excerpts

    def _rank(self, one: _Excerpt) -> tuple[bool, int]:
        """Which comes first: the answers that the user answers shortly, then the newest."""
        return one.seq not in self._answered_shortly, -one.seq

    @cached_property
    def _said(self) -> list[Unit]:
        """The messages that the user wrote."""
        return [unit for unit in self.units if self._is_message(unit, "user") and unit.seqs[0] not in self._by_program]

    @cached_property
    def _answers(self) -> list[Unit]:
        """What the model answered, and the messages that programs wrote in the user's place."""
        return [unit for unit in self.units if self._is_message(unit, "assistant") or unit.seqs[0] in self._by_program]

    @cached_property
    def _by_program(self) -> set[int]:
        """The messages in the user's place that programs wrote."""
        messages = (unit for unit in self.units if self._is_message(unit, "user"))
        return {unit.seqs[0] for unit in messages if self._is_by_program(unit)}

    def _is_message(self, unit: Unit, role: str) -> bool:
        indexed = self.index.at(self.view, unit.seqs[0])
        return indexed.role == role and not indexed.calls and bool(indexed.passages)

    def _is_by_program(self, unit: Unit) -> bool:
        """Whether a message of the user is marked as injected, is between tags, or is JSON: a notification, or the
        output of a command."""
        return not self.view.fetch(unit.seqs[0]).by_user or bool(_BY_PROGRAM.fullmatch(self._text(unit)[0]))

    def _excerpt(self, unit: Unit, most: int) -> _Excerpt:
        """A message in so many characters: its outline if it has several lines, else its beginning, and its end if
        there is room for both. If the user answers it shortly, always its end too. Of what a program wrote a short
        end: of the output of a test run it says how many failed."""
        seq = unit.seqs[0]
        text, position = self._text(unit)
        rate = self.view.fetch(seq).tokens[position] / max(1, len(text))
        most = most if rate < 0.5 else int(most * 0.35)
        if is_answered := seq in self._answered_shortly:
            most *= OPTIONS
        spans = [(0, len(text))]
        if seq in self._by_program:
            start, stop = inner_words(text)
            end = min(most, BY_PROGRAM)
            spans = [(start + closing(text[start:stop], end), stop)]
        elif len(text) > most:
            share = 0.2 if is_answered else 0.65
            if min(share, 1 - share) * most < LEAST_END:
                share = 0.5 if is_answered else 1.0
            start, stop = inner_words(text)
            words = text[start:stop]
            found = outline(words, most, from_end=is_answered)
            if found is None:
                first = opening(words, int(share * most))
                last = closing(words, int((1 - share) * most)) if share < 1 else len(words)
                found = [(0, first), (last, len(words))] if first < last else [(0, len(words))]
            spans = [(start + at, start + end) for at, end in found if at < end]
        return _Excerpt(seq, spans, sum(end - start for start, end in spans) * rate + 5)

    @cached_property
    def _answered_shortly(self) -> set[int]:
        """The messages to which the user answers with a few words."""
        return {unit.seqs[0] for unit in self.units if self._next_is_short(unit)}

    def _next_is_short(self, unit: Unit) -> bool:
        """Whether the next message is the user's and has a few words; it may be in the window, behind the record."""
        view, at = self.view, unit.seqs[-1] + 1
        while at < view.length and view.unit_of[at] < 0:
            at += 1
        return at < view.length and view.fetch(at).by_user and self.index.at(view, at).tokens <= FEW_WORDS

    def _text(self, unit: Unit) -> tuple[str, int]:
        """The text of a message, and its position in the token counts of its entry."""
        fact = self.view.fetch(unit.seqs[0]).body
        assert isinstance(fact, Fact)
        return readable(fact)[0]
