"""What a record quotes of messages because of whose they are: the user's words, then the answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from msgspec import Struct

from transom.core.edit import Span
from transom.core.message import Assistant, Fact, Text
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.digest.index import Index
from transom.strategies.digest.key_sentences import Rarity, Worth, key_sentences
from transom.strategies.digest.message_outline import outline
from transom.strategies.digest.passages import closing, inner_words, opening, readable
from transom.strategies.digest.program_messages import important_span, report_span
from transom.strategies.digest.tool_lines import Says
from transom.strategies.digest.tool_outcomes import ResultFacts, is_failure

LEVELS = (1_200, 800, 600, 400, 300, 240, 200, 160, 120, 80, 60)
"""Characters of an answer that stand in a record without being chosen as a quote. The largest of these is taken with
which all messages fit."""

FIRST = 4
"""So many times the characters of an answer are for the first request."""

SAID = 2
"""The same for what the user said."""

SHORTLY_ANSWERED = 2
"""The same for an answer to which the user says little ("yes, do 2"): it has the options."""

LEAST_SAID, LEAST_ANSWERED, LEAST_SHORTLY = 120, 100, 160
"""Characters of a message of the user, of an answer, and of one that the user answers shortly, at least. Where there is
no room for these, the message is not quoted."""

BY_PROGRAM = 160
"""Characters of what a program wrote in the user's place, at most."""

ENDS_OF_SAID = 3.0
"""The worth of the first and the last sentence of what the user said, compared with another one: there stand his wish
and his question."""

OF_BEGINNING = 0.2
"""The share of an excerpt that is for the beginning of a message to which the user says little; the rest is for its
end."""

LEAST_END = 60
"""Characters of such a beginning, at least; a shorter excerpt has the end only."""

LONG_REMARK = 200
"""Characters from which the words beside a call are quoted although no call failed."""

TOKENS_OF_LINE = 5
"""Tokens of the line of a quoted message beside the quote, about."""

DENSE, PER_DENSE = 0.5, 0.35
"""In scripts with more tokens a character than this, a message has so much of the usual number of characters."""

MOSTLY_TALK, FEW_WORDS = 0.5, 20
"""How far talk outweighs work where the conversation counts as talk; tokens of a message of a few words."""

_BY_PROGRAM = re.compile(r"\s*(?:<[a-zA-Z][\w-]{0,60}[ >].*</[\w-]{1,60}>|\{\s*\".*\})\s*", re.DOTALL)
"""A message between tags, or JSON."""

_NAMED_FIRST = re.compile(r"\s*\(?(?:\d{1,2}|[A-Za-z])[.),:]\s")
"""A reply that begins with the number or letter of what it chooses."""

Spans = dict[int, dict[int, list[Span]]]
"""What is quoted: of each entry, of each of its texts, these spans."""


class QuotedMessages(Struct, frozen=True):
    """What is quoted of messages, and its tokens, about."""

    spans: Spans = {}
    tokens: float = 0


class _Message(Struct, frozen=True):
    """A message that may be quoted: its tokens a character, how many times the characters of an answer it has, and its
    fewest characters."""

    seq: int
    text: str
    rate: float
    share: float
    least: int


class _Excerpt(Struct, frozen=True):
    """What is quoted of one message, and its tokens."""

    seq: int
    spans: list[Span]
    tokens: float


class MessageQuotes:
    """Chooses what is quoted of the messages among these units."""

    def __init__(self, view: View, index: Index, units: Sequence[Unit]) -> None:
        self.view, self.index, self.units = view, index, units
        self._texts: dict[int, tuple[str, int]] = {}

    def chosen(self, room: float, *, talk: float, of_remarks: float = 0) -> QuotedMessages:
        """Quotes of messages in so many tokens: of each as many characters as all of them have room for, and of some a
        multiple of that. If that is too little, the first request comes before the user's other messages, these before
        the answers to which the user says little, then come the other answers and then what programs wrote. Of each the
        newest comes first. If programs wrote the same several
        times, it is quoted once.

        Where talk outweighs work by far (`MOSTLY_TALK`), the choice ends at the first message that does not fit: the
        others are quoted for the names and words that they have.
        """
        is_talk = talk >= MOSTLY_TALK
        messages = self._with_remarks if not is_talk else self._without_remarks
        level = next((level for level in LEVELS if self._fit(messages, level, room)), LEVELS[-1])
        spans: Spans = {}
        notices = set[str]()
        worth = Worth(self._rarity)
        left = room
        for one in messages:
            if left < TOKENS_OF_LINE:
                break
            excerpt = self._excerpt(one, level, worth)
            if one.seq in self._by_program:
                notice = "".join(one.text[start:end] for start, end in excerpt.spans)
                if notice in notices:
                    continue
                notices.add(notice)
            if excerpt.tokens <= left:
                left -= excerpt.tokens
                worth.quote("\n".join(one.text[start:end] for start, end in excerpt.spans))
                spans[excerpt.seq] = {0: excerpt.spans}
            elif is_talk:
                break
        left += of_remarks
        for seq in () if is_talk else reversed(self._long_remarks):
            if left < TOKENS_OF_LINE:
                break
            excerpt = self._excerpt(self._message(seq, 1, LEAST_ANSWERED), LEVELS[-1], worth)
            if excerpt.seq not in spans and excerpt.tokens <= left:
                left -= excerpt.tokens
                spans[excerpt.seq] = {0: excerpt.spans}
        return QuotedMessages(spans, room + of_remarks - left)

    def _fit(self, messages: Sequence[_Message], level: int, room: float) -> bool:
        """Whether excerpts of all these messages fit in so many tokens."""
        tokens = accumulate(self._tokens(one, level) for one in messages)
        return room >= 0 and all(so_far <= room for so_far in tokens)

    @cached_property
    def _with_remarks(self) -> list[_Message]:
        return self._messages(with_remarks=True)

    @cached_property
    def _without_remarks(self) -> list[_Message]:
        return self._messages(with_remarks=False)

    def _messages(self, *, with_remarks: bool) -> list[_Message]:
        """The messages that may be quoted, the most important first."""
        first = min(self._said, default=-1)
        shortly = self._answered_shortly
        said = [self._message(seq, FIRST if seq == first else SAID, LEAST_SAID) for seq in self._said]
        answers = [
            self._message(seq, SHORTLY_ANSWERED, LEAST_SHORTLY)
            if seq in shortly
            else self._message(seq, 1, LEAST_ANSWERED)
            for seq in (*self._answers, *(self._after_failure if with_remarks else ()))
        ]
        by_program = [self._message(seq, 1, LEAST_ANSWERED) for seq in self._by_program - self.reports.keys()]
        return [
            *sorted(said, key=lambda one: (one.seq != first, -one.seq)),
            *sorted(answers, key=lambda one: (one.seq not in shortly, -one.seq)),
            *sorted(by_program, key=lambda one: -one.seq),
        ]

    def _message(self, seq: int, share: int, least: int) -> _Message:
        text, position = self._text(seq)
        rate = self.view.fetch(seq).tokens[position] / max(1, len(text))
        return _Message(seq, text, rate, share if rate < DENSE else share * PER_DENSE, least)

    @cached_property
    def _rarity(self) -> Rarity:
        """How rare the words of these messages are among them."""
        seqs = (*self._said, *self._answers, *self._by_program)
        return Rarity(self._text(seq)[0] for seq in seqs)

    @cached_property
    def _said(self) -> list[int]:
        """What the user said: messages, and replies to tools that ask."""
        messages = (unit.seqs[0] for unit in self.units if self._is_message(unit, "user"))
        return [*(seq for seq in messages if seq not in self._by_program), *self._results("reply")]

    @cached_property
    def _answers(self) -> list[int]:
        """What the model answered, and what other agents did."""
        answers = (unit.seqs[0] for unit in self.units if self._is_message(unit, "assistant"))
        return [*answers, *self._results("answer"), *self.reports]

    @cached_property
    def reports(self) -> dict[int, Span]:
        """The messages of programs in which another agent reports, and where."""
        found = {seq: report_span(self._text(seq)[0]) for seq in self._by_program}
        return {seq: span for seq, span in found.items() if span is not None}

    @cached_property
    def _by_program(self) -> set[int]:
        """The messages in the user's place that programs wrote."""
        return {unit.seqs[0] for unit in self.units if self._is_message(unit, "user") and self._is_by_program(unit)}

    @cached_property
    def _after_failure(self) -> list[int]:
        """What the model says beside its next calls when a call has failed."""
        found: list[int] = []
        failed = False
        for unit in self.units:
            calls = self.index.at(self.view, unit.seqs[0]).calls
            if failed and calls and self._has_words(unit):
                found.append(unit.seqs[0])
            failed = any(is_failure(calls[at], result) for at, _, result in self._ended(unit))
        return found

    @cached_property
    def _long_remarks(self) -> list[int]:
        """What the model says at length beside its calls: there it says what it has found."""
        return [unit.seqs[0] for unit in self.units if len(unit.seqs) > 1 and len(self._remark(unit)) >= LONG_REMARK]

    def _results(self, says: Says) -> Iterator[int]:
        """The results of the calls that did not fail, of tools whose results are quoted like messages."""
        for unit in self.units:
            calls = self.index.at(self.view, unit.seqs[0]).calls
            for at, seq, result in self._ended(unit):
                has_text = bool(self.index.at(self.view, seq).passages)
                has_text = has_text and not (says == "answer" and result.receipt)
                if calls[at].says == says and has_text and not result.refused and not is_failure(calls[at], result):
                    yield seq

    def _ended(self, unit: Unit) -> Iterator[tuple[int, int, ResultFacts]]:
        """The calls of a turn that have their results: the index of each, the entry of its result, and how it ended."""
        for at, seq in zip(unit.answered_calls, unit.seqs[1:], strict=True):
            if (result := self.index.at(self.view, seq).result) is not None:
                yield at, seq, result

    def _has_words(self, unit: Unit) -> bool:
        """Whether a turn with calls has a text beside them."""
        return bool(self._remark(unit))

    def _remark(self, unit: Unit) -> str:
        """The text that a turn has beside its calls."""
        fact = self.view.fetch(unit.seqs[0]).body
        parts = fact.parts if isinstance(fact, Assistant) else ()
        return next((part.text for part in parts if isinstance(part, Text)), "")

    def _is_message(self, unit: Unit, role: str) -> bool:
        indexed = self.index.at(self.view, unit.seqs[0])
        return indexed.role == role and not indexed.calls and bool(indexed.passages)

    def _is_by_program(self, unit: Unit) -> bool:
        """Whether a message of the user is marked as injected, is between tags, or is JSON: a notification, or the
        output of a command."""
        return not self.view.fetch(unit.seqs[0]).by_user or bool(_BY_PROGRAM.fullmatch(self._text(unit.seqs[0])[0]))

    def _tokens(self, one: _Message, level: int) -> float:
        """Tokens of an excerpt of a message, about."""
        return min(len(one.text), self._most(one, level)) * one.rate + TOKENS_OF_LINE

    def _most(self, one: _Message, level: int) -> int:
        """Characters of the excerpt of a message."""
        most = max(one.least, int(one.share * level))
        return min(most, BY_PROGRAM) if one.seq in self._by_program and one.seq not in self.reports else most

    def _excerpt(self, one: _Message, level: int, worth: Worth) -> _Excerpt:
        """A message in so many characters: its outline if it has several lines, else its most telling sentences. If the
        user answers it shortly, its beginning and rather its end. Of what a program wrote a short end: of the output of
        a test run it says how many failed. A report in it counts as an answer."""
        text, most = one.text, self._most(one, level)
        start, stop = important_span(text) if one.seq in self._by_program else (0, len(text))
        spans = [(start, stop)]
        if one.seq in self._by_program and one.seq not in self.reports:
            spans = [(start + closing(text[start:stop], most), stop)]
        elif stop - start > most:
            start, stop = self.reports.get(one.seq) or inner_words(text)
            words = text[start:stop]
            reply = self._answered_shortly.get(one.seq)
            ends = ENDS_OF_SAID if one.seq in self._said else 1.0
            found = outline(words, most, worth, ends=ends, reply=reply)
            if found is None:
                found = key_sentences(words, most, worth, ends=ends) if reply is None else _ends(words, most)
            spans = [(start + at, start + end) for at, end in found if at < end]
        return _Excerpt(one.seq, spans, sum(end - start for start, end in spans) * one.rate + TOKENS_OF_LINE)

    @cached_property
    def _answered_shortly(self) -> dict[int, str]:
        """The messages to which the user answers with a few words, and these words."""
        replies = ((unit.seqs[0], self._short_reply(unit)) for unit in self.units)
        return {seq: reply for seq, reply in replies if reply}

    def _short_reply(self, unit: Unit) -> str:
        """What of the next message is a short reply of the user: all of its few words, or the letter that it begins
        with. It may be in the window, behind the record."""
        view, at = self.view, unit.seqs[-1] + 1
        while at < view.length and view.unit_of[at] < 0:
            at += 1
        if at >= view.length or not (entry := view.fetch(at)).by_user:
            return ""
        assert isinstance(entry.body, Fact)
        reply = next((text for text, _ in readable(entry.body)), "")
        if self.index.at(view, at).tokens <= FEW_WORDS:
            return reply
        named = _NAMED_FIRST.match(reply)
        return named[0] if named else ""

    def _text(self, seq: int) -> tuple[str, int]:
        """The text of a message, and its position in the token counts of its entry, cached."""
        if (found := self._texts.get(seq)) is None:
            fact = self.view.fetch(seq).body
            assert isinstance(fact, Fact)
            found = self._texts[seq] = readable(fact)[0]
        return found


def _ends(text: str, most: int) -> list[Span]:
    """A little of the beginning of a text, and its end, in so many characters."""
    of_beginning = int(OF_BEGINNING * most)
    first = opening(text, of_beginning) if of_beginning >= LEAST_END else 0
    last = closing(text, most - of_beginning)
    return [(0, first), (last, len(text))] if first < last else [(0, len(text))]
