"""What a record quotes of messages because of whose they are: the user's own words whole, then the agent's.

If the user's words do not all fit, the sentences with most words that no other has are quoted. What the agent says
beside its calls, and its answers, get shorter where there is no room for all, the older ones before the newer ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain, product

from msgspec.structs import replace

from transom.core.edit import Span
from transom.core.message import Fact
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.record.index import Index
from transom.strategies.record.own_words import OwnWords
from transom.strategies.record.passage_choice import PassageChoice, cover_words
from transom.strategies.record.passages import between_words, readable, sentences
from transom.strategies.text.spans import joined

Spans = Mapping[tuple[int, int], list[Span]]
"""What is quoted: of a text of an entry, by the entry and the number of the text, these spans."""

Chosen = tuple[Spans, float]
"""What is quoted of messages, and its tokens, about."""

SAID = (800, 300, 100)
"""How many tokens of a message of the user are quoted; a shorter message stands whole. The first of these numbers with
which all messages fit."""

ANSWER = (120, 90, 60, 40, 24)
"""Tokens at most of an answer of the agent or of another agent: the first of these with which all fit; the older ones
go down first."""

REMARK = (40, 24, 12)
"""The same of what the agent says beside its calls, and of what programs wrote in the user's place."""

LENGTHS = {"assistant": ANSWER, "report": ANSWER, "delegate": ANSWER, "calls": REMARK, "note": REMARK}
"""The lengths of each kind of message that is not the user's (see `MessageQuotes._words`)."""

TAG = 7
"""Tokens that a quoted message takes beside the quote, about: its line, and that it splits the lines around it."""

LONGER = 1.15
"""How many times its tokens a message may have before it is shortened."""


SENTENCE = 24
"""Characters of a sentence, at least; shorter ones are joined to the next one."""

QUESTIONS = ("?", "？")
"""How a question ends."""


class MessageQuotes:
    """Chooses what a record quotes of messages because of whose they are. `units`: the turns of the record."""

    def __init__(self, view: View, index: Index, units: Sequence[Unit]) -> None:
        self.view, self.index, self.units = view, index, units

    def chosen(self, of_user: float, of_others: float, more: float) -> Chosen:
        """Return what is quoted (see `Spans`), and its tokens, about: of the user at most `of_user` tokens, and of
        agents and programs at most `of_others` tokens and those that the user's quotes leave. If the quotes of agents
        and programs do not fit even at their shortest, they may have `more` tokens in addition; then the oldest are
        left out."""
        whole = (self._quoted([(one, most) for one in self._said]) for most in SAID)
        said, tokens = next((one for one in whole if one[1] <= of_user), None) or self._by_words(of_user)
        others, more_tokens = self._fitting(of_others + max(0.0, of_user - tokens), more)
        return merged(said, others), tokens + more_tokens

    def _by_words(self, room: float) -> Chosen:
        """The sentences of the user with most words that no other has, in this many tokens."""
        said = dict.fromkeys(map(_place, self._said))
        entries = dict.fromkeys(entry for entry, _ in said)
        found = (one for entry in entries for one in self.index.at(self.view, entry).passages)
        choice = PassageChoice([replace(one, margin=0.0) for one in found if (one.entry, one.text) in said])
        cover_words(self.view, self.index, choice, room, self.units)
        if not choice.taken:  # no word is rare
            each = int(room / max(1, len(self._said))) - TAG
            return self._quoted([(one, each) for one in self._said]) if each >= REMARK[-1] else ({}, 0)
        taken = map(choice.passages.__getitem__, sorted(choice.taken))
        spans = merged(*({(one.entry, one.text): [(one.start, one.end)]} for one in taken))
        return {place: joined(of) for place, of in spans.items()}, choice.spent

    def _fitting(self, room: float, more: float) -> Chosen:
        """Quotes of what others than the user said in this many tokens. Where there is no room for all, the older ones
        get shorter before the newer ones. Where all are as short as can be they may have `more`; then the oldest are
        left out."""
        messages = self._others
        limits = [most[0] for _, most in messages]

        def cost(at: int) -> float:
            one, _ = messages[at]
            return _cost(one, min(one.length, int(limits[at] / one.rate)))

        total = sum(map(cost, range(len(messages))))
        for step, (at, (_, most)) in product(range(1, len(ANSWER)), enumerate(messages)):
            if total <= room:
                break
            total -= cost(at)
            limits[at] = most[min(step, len(most) - 1)]
            total += cost(at)
        first = 0
        while total > room + more and first < len(messages):
            total -= cost(first)
            first += 1
        return self._quoted([(one, limit) for (one, _), limit in zip(messages, limits, strict=True)][first:])

    def _quoted(self, messages: Sequence[tuple[OwnWords, int]]) -> Chosen:
        """Quotes of these messages, of each at most this many tokens."""
        spans: dict[tuple[int, int], list[Span]] = {}
        tokens = 0.0
        for one, most in messages:
            limit = int(most / one.rate)
            own = list(one.spans)
            chosen = own if one.length <= LONGER * limit else _shortened(self._text(one), own, limit)
            tokens += _cost(one, sum(end - start for start, end in chosen))
            spans[_place(one)] = chosen
        return spans, tokens

    def _text(self, one: OwnWords) -> str:
        fact = self.view.fetch(one.entry).body
        assert isinstance(fact, Fact)
        return readable(fact)[one.number][0]

    @cached_property
    def _said(self) -> list[OwnWords]:
        """What the user said: messages, replies to tools that ask, and why a call was refused."""
        return sorted((one for whose in ("user", "ask") for one in self._words[whose]), key=_place)

    @cached_property
    def _others(self) -> list[tuple[OwnWords, Sequence[int]]]:
        """What the agent, other agents and programs said, each with its lengths; of what is the same, the newest."""
        found = [(one, most) for whose, most in LENGTHS.items() for one in self._words[whose]]
        newest = {pair[0].same: pair for pair in sorted(found, key=lambda pair: _place(pair[0]))}
        return sorted(newest.values(), key=lambda pair: _place(pair[0]))

    @cached_property
    def _words(self) -> Mapping[str, list[OwnWords]]:
        """The messages, by whose they are: the keys of `LENGTHS`, "user" and "ask"."""
        found: dict[str, list[OwnWords]] = defaultdict(list)
        for unit in self.units:
            indexed = self.index.at(self.view, unit.seqs[0])
            found["calls" if indexed.calls else "report" if indexed.is_report else indexed.role] += indexed.own_words
            for done in self.index.calls_of(self.view, unit):
                if (ended := done.outcome) and not ended.failed and not ended.receipt:
                    kind = "ask" if ended.status == "refused" else done.action.kind  # the user says why
                    found[kind] += self.index.at(self.view, done.result).own_words
        return found


def merged(*quoted: Spans) -> Spans:
    """A new mapping with the spans of all of these. The spans of one text are in the order of the arguments: neither
    sorted nor joined where they overlap (`joined` does both)."""
    whole: dict[tuple[int, int], list[Span]] = defaultdict(list)
    for place, spans in chain.from_iterable(one.items() for one in quoted):
        whole[place] += spans
    return whole


def _place(one: OwnWords) -> tuple[int, int]:
    return one.entry, one.number


def _cost(one: OwnWords, characters: int) -> float:
    """The tokens of this many characters of a message in a record, about."""
    return characters * one.rate + TAG


def _shortened(text: str, own: Sequence[Span], most: int) -> list[Span]:
    """Spans of a text in at most this many characters: its beginning, its end, and of the sentences between them, from
    the first, those that have room. A question at the end comes first: the next message may be a mere yes."""
    pieces = [
        (start + at, start + end)
        for start, stop in own
        for at, end in sentences(text[start:stop], least=SENTENCE)
        if text[start + at : start + end].strip()
    ]
    left, last = most, len(pieces) - 1
    ends = (last, 0) if text[slice(*pieces[last])].rstrip().endswith(QUESTIONS) else (0, last)
    taken: set[int] = set()
    for at in dict.fromkeys((*ends, *range(last))):
        length = pieces[at][1] - pieces[at][0]
        if length <= left:
            taken.add(at)
            left -= length
    if 0 not in taken and (not taken or left > most // 3):
        start, end = pieces[0]
        pieces[0] = start, max(between_words(text, min(end, start + max(SENTENCE, left))), start + 1)
        taken.add(0)
    return joined(pieces[at] for at in taken)
