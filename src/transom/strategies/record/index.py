"""The index of a log from which a record is made: the passages, names and words of its entries, each read once.

It reaches back a bounded number of tokens, and it is a function of the log alone: an index that is built anew at the
same point is the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, takewhile
from math import log
from typing import NamedTuple, cast

from msgspec import Struct

from transom import texts
from transom.core.edit import Span
from transom.core.entry import Entry
from transom.core.log import IndexCache, stored
from transom.core.message import Assistant, Fact, Media, ToolResult, User, role_of
from transom.core.persistent import index_after
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.actions.action import NO_NAMES, UNKNOWN, Action, action_of
from transom.strategies.actions.outcome import Outcome, outcome_of
from transom.strategies.actions.tool_table import TOOLS, ToolRow
from transom.strategies.record.own_words import (
    OwnWords,
    is_by_program,
    own_words,
    refusal_reason,
    report_span,
    skill_arguments,
)
from transom.strategies.record.passages import (
    MARGIN,
    MOST,
    Passage,
    arguments_in_text,
    is_repeated,
    readable,
    sentences,
    split,
    unreadable,
)
from transom.strategies.text.identifiers import all_names, names_in
from transom.strategies.text.spans import is_in, without
from transom.strategies.text.terms import words_in

REACH = 256_000
"""Tokens of a log that are indexed: as many as a compaction can choose from in the time it has."""

FEWEST, MANY = 2, 16
"""How much of the log is indexed, in windows: fewer for large windows, more for small ones."""

NEAR = 4
"""The windows within which a record chooses again among turns that an earlier record left out: what was not worth a
place so long ago seldom is now, and a compaction takes the longer, the more turns it looks at."""

LEAST_COUNTED = 32
"""Tokens that an entry counts at least where the reach is measured. A compaction looks at each entry in reach, so there
must not be ever more of them where all are short; a record has no room for a line of each then."""

CACHED_TEXTS = 64
"""Texts of the window whose names are cached: of folds, of the head, and of trimmed turns."""

OLDER = 0.5
"""Older entries that records quote are cached from one plan to the next, up to this share of the reach."""

WHOLE = 1_000
"""The weight of a name that the user or the model mentioned twice, and of a word that occurs once in the log."""

OF_TURNS = (0, 700, 1_000, 1_100, 1_150, 1_200)
OF_TOOLS = (0, 150, 300, 480, 500, 520)
"""The weight of a name by how many passages it is in: one that the user or the model mentioned, and one that only tools
did. More passages than that do not raise it. In proportion to how often such names were used again behind a budget of
recorded conversations."""


class Indexed(Struct, frozen=True, gc=False):
    """What the index holds of an entry: its passages in order, the names of all of them, its tokens, and whether it is
    a message of the user or of the model (`from_turn`). An entry that is no fact has the defaults.

    `role`: whose it is ("user", "assistant", "tool", …); "note" for what a program wrote in the user's place, empty for
    announced state, which comes again. `media`: its images and files, in words. `calls`: what each call of a turn did,
    in order. `result`: how a call ended; None if the entry is no result. `own_words`: those of its author, calls aside.
    `is_report`: another agent wrote it, in the user's place.
    """

    passages: tuple[Passage, ...] = ()
    names: frozenset[str] = NO_NAMES
    tokens: int = 0
    from_turn: bool = False
    role: str = ""
    media: str = ""
    calls: tuple[Action, ...] = ()
    result: Outcome | None = None
    own_words: tuple[OwnWords, ...] = ()
    is_report: bool = False

    @property
    def changes(self) -> frozenset[str]:
        """The names of the files and objects that the calls of this entry change, if they succeed."""
        return NO_NAMES.union(*(one.changes for one in self.calls))


NOTHING = Indexed()


class DoneCall(NamedTuple):
    """A call of a turn, and how it ended. `turn`: the first entry of the turn. `at`: the index of the call in it.
    `action`: what the call did. `result`: the entry of its result, -1 if it has none. `outcome`: how it ended, None
    without a result."""

    turn: int
    at: int
    action: Action
    result: int
    outcome: Outcome | None


class Index:
    """The index of the entries before `n`, as far back as `reach` tokens go: `entries`, by seq, the oldest first;
    entries without passages are left out. `tools`: the table by which calls are read. It belongs to one log, and
    changes in place. Make one with `of`."""

    def __init__(self, reach: int, n: int = 0, tools: Sequence[ToolRow] = TOOLS) -> None:
        self.n, self.reach, self.tools = n, reach, tools
        self.entries: dict[int, Indexed] = {}
        self.words = WordIndex()
        self._tokens = 0
        self._in_turns: Counter[str] = Counter()
        self._mentions: Counter[str] = Counter()
        self._changed: dict[str, list[int]] = {}
        self._older: dict[int, Indexed] = {}
        self._older_tokens = 0
        self.names = lru_cache(CACHED_TEXTS)(all_names)
        """The names in a text of the window, cached."""

    @staticmethod
    def of(view: View, usable: int, indexes: IndexCache, tools: Sequence[ToolRow] | None = None) -> Index:
        """The index of a view's stored entries. Entries that are only planned are not in it. `usable`: the usable
        tokens of the budget, which say how far it reaches. `tools`: the table by which calls are read; None: that of
        the last index, else `TOOLS`.

        It is the last index of `indexes`, the same object, to which newer entries are added. A new one is made if that
        has entries which are not in the view, another reach or another table.
        """
        reach = max(FEWEST * usable, min(REACH, MANY * usable))
        last = indexes.of(_LastIndex)
        index = last.index
        n = min(view.length, stored(view.log))  # a plan's own entries may never be stored
        table = tools or (TOOLS if index is None else index.tools)
        if index is None or index.n > n or (index.reach, index.tools) != (reach, table):
            # an older view must not know what came later
            index = last.index = Index(reach, _first(view, n, reach), table)
        while index.n < n:
            index.add(view, view.fetch(index.n))
        index.forget_older()
        return index

    def prepare(self, view: View) -> None:
        """Read the words of new entries now, if a record has used words before: so the next record need not wait."""
        if self.words.is_used:
            self.words.update(view, self)

    def at(self, view: View, seq: int) -> Indexed:
        """What the index holds of an entry. An entry that is not in the index, because it is too old or only planned,
        is read now. An older one is then kept (see `forget_older`)."""
        found = self.entries.get(seq) or self._older.get(seq)
        if found is None:
            found = self._read(view, view.fetch(seq))
            if seq >= self.n:  # only planned: it may never be stored
                return found
            self._older[seq] = found
            self._older_tokens += found.tokens
        return found

    def calls_of(self, view: View, unit: Unit) -> list[DoneCall]:
        """The calls of a turn, in order, each with its result if it has one. Empty for any other unit."""
        head = unit.seqs[0]
        if not (calls := self.at(view, head).calls):
            return []
        results = dict(zip(unit.answered_calls, unit.seqs[1:], strict=True))
        return [
            DoneCall(head, at, action, seq := results.get(at, -1), self.at(view, seq).result if seq >= 0 else None)
            for at, action in enumerate(calls)
        ]

    def forget_older(self) -> None:
        """Keep no more of the cached older entries than `OLDER` allows. To be called between choices of passages:
        within one, two large entries in turn would push each other out and be read again each time."""
        while self._older_tokens > OLDER * self.reach:
            self._older_tokens -= self._older.pop(next(iter(self._older))).tokens

    def first(self, view: View) -> int:
        """The key of the oldest unit that is indexed; 0 if the oldest indexed entry is in no unit, and the view's
        length if no entry is indexed."""
        return max(0, view.unit_of[next(iter(self.entries))]) if self.entries else view.length

    def near(self, view: View, tokens: int) -> int:
        """As `first`, for the newest indexed entries alone: as many of them as make up `tokens` tokens, which must be
        above 0."""
        left, first = tokens, view.length
        for seq in reversed(self.entries):
            if left <= 0:
                break
            left -= _counted(self.entries[seq].tokens)
            first = seq
        return max(0, view.unit_of[first]) if self.entries else view.length

    def weight(self, name: str) -> int:
        """The weight of a name, in thousandths, from 150 to 1,200: by whether the user or the model mentioned it, and
        by how many passages have it. A name that is not indexed counts as one that a single result has."""
        weights = OF_TURNS if name in self._in_turns else OF_TOOLS
        return weights[min(len(weights) - 1, self._mentions.get(name, 1))]

    def last_changes(self) -> dict[str, int]:
        """The files and objects that the calls of indexed turns changed, each with the entry of the last such turn.
        Failed calls count."""
        return {name: entries[-1] for name, entries in self._changed.items()}

    def add(self, view: View, entry: Entry) -> None:
        """Add the next entry of the log: its passages, names and changes. The oldest entries leave the index where it
        has more than `reach` tokens. `entry` must be entry number `n`; that is not checked."""
        mine = self._read(view, entry)
        self.n += 1
        if not mine.passages:
            return
        self.entries[entry.seq] = mine
        self._count(mine, 1)
        for name in mine.changes:
            self._changed.setdefault(name, []).append(entry.seq)
        while self._tokens - _counted(self.entries[first := next(iter(self.entries))].tokens) >= self.reach:
            removed = self.entries.pop(first)
            self._count(removed, -1)
            for name in removed.changes:
                self._changed[name].remove(first)
                if not self._changed[name]:
                    del self._changed[name]
            self.words.forget(first)

    def _action(self, view: View, seq: int) -> Action:
        """What the call did to which a result belongs."""
        key = view.unit_of[seq] if seq < len(view.unit_of) else -1
        unit = view.unit(key) if key >= 0 else None
        place = 0 if unit is None else index_after(unit.seqs, seq, int) - 1
        if unit is None or place < 1 or unit.seqs[place] != seq or not unit.answered_calls:
            return UNKNOWN
        calls = self.at(view, unit.seqs[0]).calls
        at = unit.answered_calls[place - 1]
        return calls[at] if at < len(calls) else UNKNOWN

    def _count(self, one: Indexed, times: int) -> None:
        self._tokens += times * _counted(one.tokens)
        _tally(self._mentions, chain.from_iterable(passage.names for passage in one.passages), times)
        _tally(self._in_turns, one.names if one.from_turn else (), times)

    def _read(self, view: View, entry: Entry) -> Indexed:
        fact = entry.body
        if not isinstance(fact, Fact):
            return NOTHING
        passages: list[Passage] = []
        from_turn = isinstance(fact, (User, Assistant))
        calls = fact.calls if isinstance(fact, Assistant) else ()
        sources = readable(fact)
        by_user = entry.by_user and not (len(sources) == 1 and is_by_program(sources[0][0]))
        by_program = isinstance(fact, User) and not by_user
        report = report_span(sources[0][0]) if by_program and sources else None
        for number, (text, position) in enumerate(sources):
            rate, talk = entry.tokens[position] / max(1, len(text)), from_turn and position <= len(fact.parts)
            at = number - len(sources) + len(calls)
            whole = report or skill_arguments(text) or (0, len(text))
            given = list(arguments_in_text(calls[at])) if at >= 0 else []
            left_out = [*unreadable(text), *((one.begin, one.end) for one in given if one.is_unquoted)]
            keys = [(one.begin, one.start) for one in given]
            for start, end in without(whole, left_out) if left_out else (whole,):
                pieces = sentences if talk and not calls and len(text) <= MOST else split
                found = pieces(text[start:end], rate)
                part = text[start:end]
                passages.extend(_passages(entry.seq, number, part, rate, found, offset=start, talk=talk, keys=keys))
        action = self._action(view, entry.seq) if isinstance(fact, ToolResult) else UNKNOWN
        ended = outcome_of(fact, action) if isinstance(fact, ToolResult) else None
        is_refused = ended is not None and ended.status == "refused"
        is_quoted = from_turn or is_refused or action.kind in {"ask", "delegate"}

        def own(text: str) -> list[Span]:
            if by_program:
                return [report or (0, len(text))]
            return refusal_reason(text) if is_refused else own_words(text)

        names = frozenset(chain.from_iterable(one.names for one in passages))
        actions = tuple([action_of(call, self.tools) for call in calls])
        return Indexed(
            passages=tuple(passages),
            names=names or NO_NAMES,
            tokens=sum(entry.tokens),
            from_turn=from_turn,
            role="" if is_repeated(fact) else "note" if by_program else role_of(fact),
            media=texts.media_words(part.media for part in fact.parts if isinstance(part, Media)),
            calls=actions,
            result=ended,
            own_words=tuple(
                OwnWords(
                    entry.seq,
                    number,
                    tuple(spans),
                    rate=max(0.01, entry.tokens[position] / len(text)),
                    same=hash("".join(text[start:end] for start, end in spans)),
                )
                for number, (text, position) in enumerate(sources[: len(sources) - len(calls)] if is_quoted else ())
                if text.strip() and (spans := own(text))
            ),
            is_report=report is not None,
        )


class _LastIndex:
    """The index that was made last, to go on from."""

    index: Index | None = None


def _passages(
    entry: int,
    number: int,
    text: str,
    rate: float,
    pieces: Iterable[Span],
    *,
    offset: int,
    talk: bool,
    keys: Sequence[Span],
) -> Iterator[Passage]:
    """The passages of a part of an entry's text, from `offset` on. `keys`: spans in which no name counts, in order."""
    spans = list(pieces)
    found: list[list[str]] = [[] for _ in spans]
    starts = [start for start, _ in spans]
    for at, names in names_in(text, talk=talk):
        where = bisect_right(starts, at) - 1
        if at < spans[where][1] and not is_in(keys, offset + at):
            found[where].extend(names)
    last = len(spans) - 1
    for at, ((start, end), runs) in enumerate(zip(spans, found, strict=True)):
        tokens, names = (end - start) * rate + 1, tuple(dict.fromkeys(runs))
        place = offset + start, offset + end
        yield Passage(entry, number, *place, tokens, MARGIN * rate, names, at == 0, at == last)


def _tally(counts: Counter[str], of: Iterable[str], times: int) -> None:
    """Count up or down; forget what comes to zero."""
    if times > 0:
        counts.update(of)
        return
    for one in of:
        counts[one] -= 1
        if not counts[one]:
            del counts[one]


def _first(view: View, n: int, reach: int) -> int:
    """The first entry of an index that reaches this many tokens back from entry `n`."""
    seq, tokens = n, 0
    while seq > 0 and tokens < reach:
        seq -= 1
        entry = view.fetch(seq)
        fact = entry.body
        tokens += (
            _counted(sum(entry.tokens)) if isinstance(fact, Fact) and any(text for text, _ in readable(fact)) else 0
        )
    return seq


def _counted(tokens: int) -> int:
    """What an entry of this many tokens counts where the reach is measured."""
    return max(LEAST_COUNTED, tokens)


class WordIndex:
    """The words of an index's passages. Nothing is read before the first use: names are enough where there are any."""

    def __init__(self) -> None:
        self._of: dict[int, Mapping[Span, Sequence[str]]] = {}
        self._found_in: Counter[str] = Counter()

    @property
    def is_used(self) -> bool:
        """Whether the words of any entry have been read."""
        return bool(self._of)

    def update(self, view: View, index: Index) -> WordIndex:
        """Read the words of the indexed entries that were not read yet. Returns this object."""
        new = list(takewhile(lambda seq: seq not in self._of, reversed(index.entries)))
        for seq in reversed(new):
            self._of[seq] = _words_of(view, seq, index.entries[seq])
            self._count(self._of[seq], 1)
        return self

    def at(self, view: View, index: Index, seq: int) -> Mapping[Span, Sequence[str]]:
        """The words of each passage of an entry. The key is the number of the passage's text in the entry, and the
        character at which the passage starts."""
        found = self._of.get(seq)
        return _words_of(view, seq, index.at(view, seq)) if found is None else found

    def forget(self, seq: int) -> None:
        """Forget an entry that is no longer indexed."""
        self._count(self._of.pop(seq, {}), -1)

    def weight(self, word: str) -> float:
        """How rare a word is: from 0 to 1,000 for one that a single entry has, or none (ln(N/df) / ln N over entries).
        0 if more than a tenth of the entries have it, and more than three."""
        messages, found = max(20, len(self._of)), max(1, self._found_in.get(word, 1))
        return WHOLE * log(messages / found) / log(messages) if found <= max(3, 0.1 * messages) else 0.0

    def _count(self, words: Mapping[Span, Sequence[str]], times: int) -> None:
        _tally(self._found_in, {*chain.from_iterable(words.values())}, times)


def _words_of(view: View, seq: int, indexed: Indexed) -> Mapping[Span, Sequence[str]]:
    texts_of_it = readable(cast("Fact", view.fetch(seq).body))
    places = ((one.text, one.start, one.end) for one in indexed.passages)
    return {(text, start): words_in(texts_of_it[text][0][start:end]) for text, start, end in places}
