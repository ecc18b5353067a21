"""What a record quotes of messages because of whose they are: the user's words, then the answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from msgspec import Struct

from transom.core.edit import Span
from transom.core.message import Fact
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.digest.index import Index
from transom.strategies.digest.passages import closing, inner_words, opening, readable

EXCERPTS, ANSWERS = (1_200, 600, 400, 240, 120, 60), (1_200, 600, 400, 240, 160, 100)
"""Characters of a message of the user, and of an answer, that stand in a record without being chosen as a quote: the
most for which there is room."""

BEFORE_ANSWERS, FOR_ANSWERS = 240, 0.35
"""The user's messages have so many characters each before the answers have any; then at most this share of the room is
for the beginnings of the answers, before longer excerpts of the user's messages."""

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
            found = {most: [self._excerpt(unit, most) for unit in units] for most in levels}
            fitting = (most for most in levels if sum(one.tokens for one in found[most]) <= left - kept)
            excerpts = found[next(fitting, levels[-2 if is_talk else -1])]
            for one in sorted(excerpts, key=lambda one: (one.seq != first, *self._rank(one))):
                if one.tokens <= left - kept:
                    left -= one.tokens
                    spans[one.seq] = {0: one.spans}
                elif is_talk:
                    break
        return QuotedMessages(spans, room - left)

    def _rank(self, one: _Excerpt) -> tuple[bool, int]:
        """Which comes first: the answers that the user answers shortly, then the newest."""
        return one.seq not in self._answered_shortly, -one.seq

    @cached_property
    def _said(self) -> list[Unit]:
        """The messages that the user wrote."""
        return [unit for unit in self.units if self._is_message(unit, "user") and not self._is_by_program(unit)]

    @cached_property
    def _answers(self) -> list[Unit]:
        """What the model answered, and the messages that programs wrote in the user's place."""
        said = {unit.key for unit in self._said}
        return [
            unit
            for unit in self.units
            if self._is_message(unit, "assistant") or (self._is_message(unit, "user") and unit.key not in said)
        ]

    def _is_message(self, unit: Unit, role: str) -> bool:
        indexed = self.index.at(self.view, unit.seqs[0])
        return indexed.role == role and not indexed.calls and bool(indexed.passages)

    def _is_by_program(self, unit: Unit) -> bool:
        """Whether a message of the user is marked as injected, is between tags, or is JSON: a notification, or the
        output of a command."""
        return not self.view.fetch(unit.seqs[0]).by_user or bool(_BY_PROGRAM.fullmatch(self._text(unit)[0]))

    def _excerpt(self, unit: Unit, most: int) -> _Excerpt:
        """A message in so many characters: its beginning, and its end if there is room for both. If the user answers it
        shortly, always its end too."""
        seq = unit.seqs[0]
        text, position = self._text(unit)
        rate = self.view.fetch(seq).tokens[position] / max(1, len(text))
        most = most if rate < 0.5 else int(most * 0.35)
        spans = [(0, len(text))]
        if len(text) > most:
            is_answered = seq in self._answered_shortly
            share = 0.2 if is_answered else 0.65
            if min(share, 1 - share) * most < LEAST_END:
                share = 0.5 if is_answered else 1.0
            start, stop = inner_words(text)
            words = text[start:stop]
            first = start + opening(words, int(share * most))
            last = start + closing(words, int((1 - share) * most)) if share < 1 else stop
            spans = [(start, first), (last, stop)] if first < last else [(start, stop)]
            spans = [span for span in spans if span[0] < span[1]]
        return _Excerpt(seq, spans, sum(end - start for start, end in spans) * rate + 5)

    @cached_property
    def _answered_shortly(self) -> set[int]:
        """The messages to which the user answers with a few words."""
        return {
            before.seqs[0]
            for before, after in pairwise(self.units)
            if self._is_message(after, "user") and self.index.at(self.view, after.seqs[0]).tokens <= FEW_WORDS
        }

    def _text(self, unit: Unit) -> tuple[str, int]:
        """The text of a message, and its position in the token counts of its entry."""
        fact = self.view.fetch(unit.seqs[0]).body
        assert isinstance(fact, Fact)
        return readable(fact)[0]
