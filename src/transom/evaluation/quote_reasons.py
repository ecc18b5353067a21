"""Explains the quotes of records: which entry each is from, and which of its names and words are nowhere else in the
window."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial

from msgspec import Struct

from transom.core.message import Assistant, Fact, User
from transom.core.unit import FoldedSlot
from transom.core.view import View
from transom.evaluation.record_lines import Quote, Record, parsed_record
from transom.quoting import quote_marks
from transom.strategies.record.passages import arguments, readable
from transom.strategies.text.identifiers import is_between_strings, names_in
from transom.strategies.text.terms import stem, words_in

MOST_LISTED = 8
"""The most names, and the most words, that are listed for a quote."""

_GAP = re.compile("\n…\n| …\n| … ")
"""Between two passages of one quote."""

_RUN = re.compile(r"[^\W\d_]{3,}")


class Mentioned(Struct, frozen=True, kw_only=True):
    """A name or a word, and how many messages of the user and the model contain it (`messages`)."""

    name: str
    messages: int


class QuoteReason(Struct, frozen=True, kw_only=True):
    """A quote of a record, and the names and words that are in the window only because of it, at most eight.

    `text`: the quote. `names`: paths, identifiers, ids and numbers, the most mentioned first. `words`: the least
    mentioned first; empty if there are names. Both are empty if everything in the quote is elsewhere in the window too:
    then the quote is there because of who said it, or a later message has brought its names back.
    """

    text: str
    names: tuple[Mentioned, ...] = ()
    words: tuple[Mentioned, ...] = ()


class RecordShare(Struct, frozen=True, kw_only=True):
    """What the records of a window have of one entry. `lines`: those about the turn, if the entry begins it; `quotes`:
    those from this entry."""

    lines: tuple[str, ...] = ()
    quotes: tuple[QuoteReason, ...] = ()


def record_shares(view: View) -> dict[int, RecordShare]:
    """Return what the records of a window have of each entry, by its seq. Entries of which they have neither a line nor
    a quote are left out."""
    records = {
        slot: record for slot in view.slots if isinstance(slot, FoldedSlot) and (record := parsed_record(slot.text))
    }
    if not records:
        return {}
    reasons = _Reasons(view, list(records.values()))
    text_of = cache(partial(_text_of, view))  # each quote looks through the turns of its line, which may be hundreds
    lines: dict[int, list[str]] = {}
    quotes: dict[int, list[QuoteReason]] = {}
    for fold, record in records.items():
        turns = [seq for seq in range(fold.first, view.length) if fold.first <= view.unit_of[seq] <= fold.last]
        for line in record.lines:
            numbers = f"{line.first}" if line.first == line.last else f"{line.first}-{line.last}"
            for seq in turns:
                if line.first <= seq <= line.last and _begins_a_turn(view, seq):
                    lines.setdefault(seq, []).append(f"{numbers} {line.text}")
        for quote in record.quotes:
            entry = _entry_of(view, quote, text_of)
            if entry is not None:
                quotes.setdefault(entry, []).append(reasons.of(quote))
    return {
        seq: RecordShare(lines=tuple(lines.get(seq, ())), quotes=tuple(quotes.get(seq, ())))
        for seq in sorted({*lines, *quotes})
    }


def _begins_a_turn(view: View, seq: int) -> bool:
    key = view.unit_of[seq]
    return key >= 0 and view.unit(key).seqs[0] == seq


def _entry_of(view: View, quote: Quote, text_of: Callable[[int], str]) -> int | None:
    """Return the entry that a quote is from: the first of its turn, and then of the later turns of its line, that has
    all of its passages; if none has, the first entry of the turn. None if the log has no such turn.

    `text_of`: gives the text of an entry.
    """
    if not 0 <= quote.first < view.length or view.unit_of[quote.first] < 0:
        return None
    unit = view.unit(view.unit_of[quote.first])
    passages = [_plain(piece).strip("…\n") for piece in _GAP.split(quote.text)]
    rest = [seq for seq in range(quote.first, min(quote.line.last + 1, view.length)) if view.unit_of[seq] >= 0]
    for seq in dict.fromkeys((*unit.seqs, *rest)):
        text = text_of(seq)
        if all(passage in text for passage in passages):
            return seq
    return unit.seqs[0]


def _text_of(view: View, seq: int) -> str:
    """The texts of a fact, written as a quote would have them."""
    return "\n".join(_plain(text) for text in _texts_of(view, seq))


def _texts_of(view: View, seq: int) -> Iterator[str]:
    """Yield the texts of a fact, and the arguments of its calls."""
    fact = view.fetch(seq).body
    assert isinstance(fact, Fact)
    yield from (text for text, _ in readable(fact))
    for call in fact.calls if isinstance(fact, Assistant) else ():
        yield from (value for _, value in arguments(call))


def _plain(text: str) -> str:
    """A text with the quotation marks in it changed as `quote_marks` changes them, and without backslashes."""
    return quote_marks(text)[1:-1].replace("\\", "")


class _Reasons:
    """Counts the names and words of everything that a window shows, and how often the user and the model used each."""

    def __init__(self, view: View, records: Iterable[Record]) -> None:
        self._view = view
        pieces = [*_pieces(view), *(piece for record in records for piece in _record_pieces(record))]
        self._names = Counter(name for piece in pieces for name in _names(piece))
        self._words = Counter(word for piece in pieces for word in words_in(piece))
        self._name_mentions = Counter[str]()
        self._word_mentions = Counter[str]()
        for seq in range(view.length):
            fact = view.fetch(seq).body
            if isinstance(fact, (User, Assistant)):
                texts = [text for text, _ in readable(fact)]
                self._name_mentions.update(frozenset[str]().union(*map(_names, texts)))
                self._word_mentions.update({word for text in texts for word in words_in(text)})

    def of(self, quote: Quote) -> QuoteReason:
        """Return why a quote is in the window."""
        only = [name for name in _names(quote.text) if self._names[name] == 1]
        all_names = "\n".join(only)
        names = [name for name in only if all_names.count(name) == 1]  # no part of another one
        words = [] if names else [word for word in words_in(quote.text) if self._words[word] == 1]
        used, spoken = self._name_mentions, self._word_mentions
        written = {stem(run.lower()): run for run in reversed(_RUN.findall(quote.text))}
        return QuoteReason(
            text=quote.text,
            names=_few(sorted(names, key=lambda name: -used[name]), used),
            words=tuple(
                Mentioned(name=written.get(one.name, one.name), messages=one.messages)
                for one in _few(sorted(words, key=lambda word: spoken[word]), spoken)
            ),
        )


def _few(found: Iterable[str], times: Counter[str]) -> tuple[Mentioned, ...]:
    return tuple(Mentioned(name=one, messages=times[one]) for one in list(found)[:MOST_LISTED])


def _pieces(view: View) -> Iterator[str]:
    """Yield the texts of a window: the head, the visible units, and the folds that are no records."""
    for message in view.head.messages:
        yield from (text for text, _ in readable(message))
    for unit in view.visible_units():
        for fact in unit.shown_facts():
            assert isinstance(fact, Fact)
            yield from (text for text, _ in readable(fact))
    for slot in view.slots:
        if isinstance(slot, FoldedSlot) and parsed_record(slot.text) is None:
            yield slot.text


def _record_pieces(record: Record) -> Iterator[str]:
    yield from (part.text for part in record.parts)
    yield from record.endings


def _names(text: str) -> dict[str, None]:
    return dict.fromkeys(name for _, names in names_in(text) for name in names if not is_between_strings(name))
