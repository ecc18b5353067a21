"""Measures how well a window reads.

It asks: is the window in the order of the log, does each folded turn have a line, do quotes begin and end at lines or
sentences, are quotes marked whose source has changed since, and how much of the window is whole turns? It judges by the
window and the log alone, without the code that writes records, so it judges every policy alike.
"""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import astuple

from transom.core.budget import Budget
from transom.core.message import Assistant, Fact, Note
from transom.core.policy import Policy
from transom.core.unit import FoldedSlot, Unit, units_in
from transom.core.view import View
from transom.core.window import Window
from transom.evaluation.replay_stats import newest_fold
from transom.evaluation.sums import share
from transom.importers import Recorded
from transom.reports.recorded_calls import recorded_calls
from transom.strategies.record.passages import arguments, readable

from .quote_ends import QuotedPassage, passages_of
from .record_lines import Quote, Record, RecordLine, parsed_record
from .stale_quotes import ChangeHistory, StaleQuote, stale_quotes

LEAST_ROOM = 0.25
"""The least share of a budget that counts as room, however long the system prompt and the first message are."""

_COUNT = re.compile(r"(\d[\d,]*) × (\S+)")
_MESSAGES = re.compile(r"(\d[\d,]*) messages")


class Readability(Struct, frozen=True, kw_only=True):
    """Sums over the windows right after a compaction; `whole_shares` and `folded_windows` are sums over all windows
    with a fold.

    `windows`: how many windows these are. `pairs`: pairs of things in a window (messages, lines and quotes of records);
    `pairs_in_order`: those in the order of the log. `turns`: folded turns; `turns_with_line`: those that have a line in
    a record; `counted`: those whose line is about several turns. `passages`: quoted passages; `misquoted`: those that
    are not in the entry that they are attributed to. `ends`: beginnings and ends of quoted passages; `at_line`,
    `at_sentence` and `inside_words`: what these are at. `stale`: quotes of a result whose file or record a later call
    changed; `unmarked_stale`: those where the window does not say so. `whole_shares_after` and `whole_shares`: summed
    shares of the room that whole turns take. `folded_windows`: windows with a fold.
    """

    windows: int = 0
    pairs: int = 0
    pairs_in_order: int = 0
    turns: int = 0
    turns_with_line: int = 0
    counted: int = 0
    passages: int = 0
    misquoted: int = 0
    ends: int = 0
    at_line: int = 0
    at_sentence: int = 0
    inside_words: int = 0
    stale: int = 0
    unmarked_stale: int = 0
    whole_shares_after: float = 0.0
    whole_shares: float = 0.0
    folded_windows: int = 0

    def plus(self, other: Readability) -> Readability:
        """Return the sum of this and `other`."""
        sums = (a + b for a, b in zip(astuple(self), astuple(other), strict=True))
        return Readability(**dict(zip(Readability.__struct_fields__, sums, strict=True)))

    @property
    def order(self) -> float | None:
        """The share of pairs that are in the order of the log."""
        return share(self.pairs_in_order, self.pairs)

    @property
    def line_share(self) -> float | None:
        """The share of folded turns that have a line, alone or with others."""
        return share(self.turns_with_line, self.turns)

    @property
    def boundaries(self) -> float | None:
        """The share of the beginnings and ends of quoted passages that are at a line or a sentence."""
        return share(self.at_line + self.at_sentence, self.ends)

    @property
    def whole_after(self) -> float | None:
        """The share of the room that whole turns take right after a compaction, on average."""
        return share(self.whole_shares_after, self.windows)

    @property
    def whole(self) -> float | None:
        """The share of the room that whole turns take, on average over all windows with a fold."""
        return share(self.whole_shares, self.folded_windows)


def readability(record: Recorded, *, budget: Budget, policy: Policy) -> Readability:
    """How well the windows of a recorded conversation read under a policy."""
    judge, total, newest = ReadabilityJudge(), Readability(), -1
    for call in recorded_calls(record, budget=budget, policy=policy):
        if call.window is not None:
            total = total.plus(judge.judged(call.window, compacted=newest_fold(call.window) > newest))
            newest = max(newest, newest_fold(call.window))
    return total


class Findings(Struct, frozen=True, kw_only=True):
    """What was found in one window.

    `order`: the keys of the units that it shows, in the order in which it shows them. `turns`: how many turns are
    folded; `counted`: how many of them share a line; `without_line`: the first entries of those that have none.
    `passages`: of its quotes, each with the record's line above it. `stale`: its stale quotes.
    """

    order: tuple[int, ...]
    turns: int
    counted: int
    without_line: tuple[int, ...]
    passages: tuple[tuple[RecordLine, QuotedPassage], ...]
    stale: tuple[StaleQuote, ...]


class ReadabilityJudge:
    """Judges the windows of one conversation. Pass them in order."""

    def __init__(self) -> None:
        self._history = ChangeHistory()
        self._tools: dict[int, tuple[str, ...] | None] = {}
        self._quotes: dict[tuple[int, str], tuple[list[QuotedPassage], int | None]] = {}

    def judged(self, window: Window, *, compacted: bool) -> Readability:
        """Return the figures of one window; all 0 if it has no fold.

        `compacted`: the window is the first one after a compaction. For any other window only the share of whole turns
        is measured: its beginning was judged with that first one.
        """
        if not any(isinstance(slot, FoldedSlot) for slot in window.slots):
            return Readability()
        whole = whole_share(window)
        figures = Readability(whole_shares=whole, folded_windows=1)
        if not compacted:
            return figures
        found = self.findings(window.view)
        ends = [end for _, one in found.passages for end in (one.starts, one.ends) if end is not None]
        kinds = Counter(ends)
        return figures.plus(
            Readability(
                windows=1,
                pairs=len(found.order) * (len(found.order) - 1) // 2,
                pairs_in_order=pairs_in_order(found.order),
                turns=found.turns,
                turns_with_line=found.turns - len(found.without_line),
                counted=found.counted,
                passages=len(found.passages),
                misquoted=sum(one.starts is None for _, one in found.passages),
                ends=len(ends),
                at_line=kinds["line"],
                at_sentence=kinds["sentence"],
                inside_words=kinds["inside a word"],
                stale=len(found.stale),
                unmarked_stale=sum(not one.marked for one in found.stale),
                whole_shares_after=whole,
            )
        )

    def findings(self, view: View) -> Findings:
        """Find, in one view, the order, the lines, the quoted passages and the stale quotes."""
        self._history.update(view)
        folds = [slot for slot in view.slots if isinstance(slot, FoldedSlot)]
        records = {fold.seq: parsed_record(fold.text) or Record() for fold in folds}
        turns = 0
        counted, without_line = set[int](), list[int]()
        for fold in folds:
            hidden = [unit.seqs[0] for unit in _hidden_units(fold) if self._tools_of(view, unit) is not None]
            with_line, together = self._with_line(hidden, records[fold.seq].lines)
            turns += len(hidden)
            counted |= together
            without_line += [key for key in hidden if key not in with_line]
        passages: list[tuple[RecordLine, QuotedPassage]] = []
        of_results: list[tuple[Quote, Unit, int]] = []
        for quote in (quote for record in records.values() for quote in record.quotes):
            unit = _unit(view, quote.first)
            if unit is None:
                passages.append((quote.line, QuotedPassage(quote.text, None, None)))
                continue
            found, call = self._found(view, unit, quote)
            passages += [(quote.line, passage) for passage in found]
            if call is not None:
                of_results.append((quote, unit, call))
        return Findings(
            order=tuple(_order(view, records)),
            turns=turns,
            counted=len(counted),
            without_line=tuple(without_line),
            passages=tuple(passages),
            stale=tuple(stale_quotes(view, self._history, list(records.values()), of_results)),
        )

    def _found(self, view: View, unit: Unit, quote: Quote) -> tuple[list[QuotedPassage], int | None]:
        """Do the same as `_passages`, once for each quote: the same record is in many windows."""
        key = unit.seqs[0], quote.text
        if key not in self._quotes:
            self._quotes[key] = _passages(view, unit, quote)
        return self._quotes[key]

    def _tools_of(self, view: View, unit: Unit) -> tuple[str, ...] | None:
        """Return the tools that a turn calls; None for announced state, which needs no line: it is announced again when
        a fold hides it.
        """
        turn = unit.seqs[0]
        if turn not in self._tools:
            fact = view.fetch(turn).body
            is_state = isinstance(fact, Note) and bool(fact.key)
            names = [call.name for call in fact.calls] if isinstance(fact, Assistant) else []
            self._tools[turn] = None if is_state else tuple(names)
        return self._tools[turn]

    def _with_line(self, hidden: Sequence[int], lines: Sequence[RecordLine]) -> tuple[set[int], set[int]]:
        """Return the turns that have a line, and those of them that share their line with others.

        The lines of a turn must name each of its tools. A line that gives numbers must give the right ones.
        """
        with_line, together = set[int](), set[int]()
        texts: dict[int, str] = {}
        for line in lines:
            if line.first == line.last:
                texts[line.first] = f"{texts.get(line.first, '')} {line.text}"
        for key in hidden:
            if key in texts and all(_short(name) in texts[key] for name in self._tools[key] or ()):
                with_line.add(key)
        for line in lines:
            inside = [key for key in hidden if line.first <= key <= line.last and key not in texts]
            if inside and self._counts_right(line.text, inside):
                with_line.update(inside)
                together.update(inside)
        return with_line, together

    def _counts_right(self, text: str, keys: Sequence[int]) -> bool:
        """True if a line names the tools of these turns and, where it gives numbers, how often each was called."""
        calls = Counter(_short(name) for key in keys for name in self._tools[key] or ())
        counts = Counter({name: _number(number) for number, name in _COUNT.findall(text.replace(",", ""))})
        if counts:
            return all(counts.get(name.split()[0], 1) == times and name in text for name, times in calls.items())
        if found := _MESSAGES.search(text):
            talk = sum(not self._tools[key] for key in keys)
            return _number(found[1]) in {talk, len(keys)} and all(name in text for name in calls)
        return all(name in text for name in calls)


def _short(name: str) -> str:
    """Return the beginning of a tool's name: a line may shorten a long name."""
    return " ".join(name.split())[:40]


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))


def _hidden_units(fold: FoldedSlot) -> Iterator[Unit]:
    pinned = {unit.key for unit in fold.pinned_units}
    return (unit for unit in units_in(fold) if unit.key not in pinned)


def _unit(view: View, entry: int) -> Unit | None:
    known = 0 <= entry < view.length and view.unit_of[entry] >= 0
    return view.unit(view.unit_of[entry]) if known else None


def _order(view: View, records: dict[int, Record]) -> Iterator[int]:
    """Yield the keys of the units that a window shows, in the order in which it shows them: messages, and parts of
    records.
    """
    for slot in view.slots:
        if isinstance(slot, Unit):
            yield slot.key
            continue
        parts = records[slot.seq].parts
        if not parts:
            yield slot.first
        for part in parts:
            entries = {part.first, part.last} if isinstance(part, RecordLine) else {part.first}
            yield from (view.unit_of[entry] for entry in sorted(entries) if 0 <= entry < view.length)
        yield from (unit.key for unit in slot.pinned_units)


def pairs_in_order(entries: Iterable[int]) -> int:
    """Count the pairs of these entries that are in rising order or equal."""
    before: list[int] = []
    count = 0
    for entry in entries:
        count += bisect_right(before, entry)
        insort(before, entry)
    return count


def _passages(view: View, unit: Unit, quote: Quote) -> tuple[list[QuotedPassage], int | None]:
    """Find the passages of a quote in its turn.

    Return them, and the index of the call whose result contains them, if one does.
    """
    head = view.fetch(unit.seqs[0]).body
    assert isinstance(head, Fact)
    originals = [text for text, _ in readable(head)]
    for call in head.calls if isinstance(head, Assistant) else ():
        originals += [value for _, value in arguments(call)]
    sources: list[tuple[list[str], int | None]] = [(originals, None)]
    for call, seq in zip(unit.answered_calls, unit.seqs[1:], strict=True):
        result = view.fetch(seq).body
        assert isinstance(result, Fact)
        sources.append(([text for text, _ in readable(result)], call))
    for texts, call in sources:
        passages = passages_of(quote.text, texts)
        if all(one.starts is not None for one in passages):
            return passages, call
    return passages_of(quote.text, [text for texts, _ in sources for text in texts], joined=True), None


def whole_share(window: Window) -> float:
    """Return the share of a window's room that whole (not trimmed) turns take.

    The room is what the limit leaves beside the system prompt and the first task, which must stay.
    """
    view, limit = window.view, window.limit
    first = view.first_task
    fixed = view.head_size.tokens
    whole = 0
    for unit in view.visible_units():
        if unit.key in first:
            fixed += unit.size.tokens
        elif not unit.trims:
            whole += unit.size.tokens
    return whole / max(LEAST_ROOM * limit, limit - fixed)
