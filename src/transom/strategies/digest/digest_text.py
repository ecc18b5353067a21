"""The text of a digest: what of the folded turns it quotes, and the record that it makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core.edit import Span
from transom.core.message import Assistant, Fact
from transom.core.policy import Target
from transom.core.tool import is_offered
from transom.core.unit import FoldedSlot, Slot, Unit, units_in
from transom.core.view import View
from transom.strategies.candidates import stays_visible
from transom.strategies.digest.changes import Changes, quoted_by
from transom.strategies.digest.failures import Failures
from transom.strategies.digest.index import Index
from transom.strategies.digest.message_quotes import MOSTLY_TALK, MessageQuotes, Spans
from transom.strategies.digest.noise import QUIET, Noise
from transom.strategies.digest.passage_choice import PassageChoice
from transom.strategies.digest.passages import Passage, behind_announcement, readable, with_margins
from transom.strategies.digest.plans import newest_plan
from transom.strategies.digest.proposed_plans import ProposedPlans
from transom.strategies.digest.quotes import text_quote, titled_quotes
from transom.strategies.digest.record import EARLIER, CallLine, RecordTurn, record_text
from transom.strategies.digest.tool_lines import CallFacts
from transom.strategies.digest.tool_outcomes import is_failure, outcome_text
from transom.strategies.digest.visible import covered_names, visible
from transom.strategies.digest.word_choice import cover_words
from transom.strategies.text.references import range_reference

HEADER = 55
"""Tokens of a record's first line, about."""

LINES = 0.125
"""The share of a record for the lines of turns of which nothing is quoted."""

WORDS = 0.4
"""The share of a record for what the user said, then for what the model answered; the rest is for quotes."""

FAILURES = 0.08
"""The share of a record for what failed and did not succeed later."""

PROPOSED = 0.08
"""The share of a record for the plans that the model showed the user."""

OF_TALK = 0.08
"""The same as `WORDS` where the conversation is mostly talk: there the passages quote what was said in any case."""

REMARKS = 0.05
"""The share of a record for what the model says at length beside its calls, and what messages leave of theirs."""

PLAN = 0.1
"""The share of a record for the newest plan."""

OF_LISTS, STALE = 0.4, 0.8
"""How much a name counts, compared with 1 elsewhere: in the result of a search (which can be run again) or among lines
that all say the same, and in a result whose file or object a later call changed."""

MIN_FOR_WORDS = 0.05
"""If names leave less than this share of a digest, words are not looked at."""

SMALLER, LARGER, TRIES = 0.93, 1.05, 3
"""If a digest has less or more than these shares of its planned size, its passages are chosen again for another room;
`TRIES` times in all."""

GROWTH = 1.4
"""Tokens by which a record grows with each token of room for quotes, about: a quoted turn has a line of its own, and
splits the turns around it."""

MOST, TOKENS_PER_PASSAGE = 3_000, 24
"""A digest chooses among at most `MOST` passages; in a large window, among one for each `TOKENS_PER_PASSAGE` tokens of
it. Only the first entry that is taken may have more by itself."""


class Digested(Struct, frozen=True):
    """The text of a digest, and the entries that it quotes."""

    text: str
    quotes: tuple[int, ...] = ()


def digest_text(
    view: View, target: Target, run: Sequence[Slot], folded: Sequence[Slot], size: float, names: float, talk: float = 0
) -> Digested:
    """The record of a run of slots in about `size` tokens.

    `folded`: all slots that this compaction folds. Passages are first chosen for the names in them, with at most the
    share `names` of the tokens for quotes, then with the rest for their words. `talk`: how far talk outweighs work with
    tools (0 to 1). What a passage will take is only estimated: if the record turns out too large or too small, the
    passages are chosen again for another room.
    """
    found = _FoldedTurns(view, target, run, folded, talk)
    failed = found.failures.quoted(FAILURES * size)
    proposed = found.proposed.quoted(PROPOSED * size)
    endings = found.endings(size)
    fixed = HEADER + sum(target.counter.count(line) for line in endings)
    lines = min(LINES * size, found.tokens_of_lines())
    words = (WORDS if talk < MOSTLY_TALK else OF_TALK) * size
    if talk < MOSTLY_TALK and not found.has_calls:
        words = max(words, size - fixed - lines)
    chosen_words = found.messages.chosen(words, talk=talk, of_remarks=REMARKS * size)
    room = size - fixed - lines - chosen_words.tokens - failed.tokens - proposed.tokens
    tried: list[tuple[int, Digested]] = []
    rooms: list[tuple[float, int]] = []
    for _ in range(TRIES):
        already = _merged(_merged(chosen_words.spans, failed.spans), proposed.spans)
        quotes = found.quotes(room, names, already)
        quoted = _merged(already, quotes)
        text = found.text(quoted, endings, lines)
        counted = target.counter.count(text)
        tried.append((counted, Digested(text, tuple(sorted(quoted)))))
        if SMALLER * size <= counted <= LARGER * size or (counted < size and not quotes):
            break
        rooms.append((room, counted))
        room = _next_room(rooms, size)
        if room <= 0:
            # Even without passages it is too large: quote fewer messages. Each of them splits the turns around it into
            # lines of their own.
            lines, words = 0, words / 4
            chosen_words = found.messages.chosen(words, talk=talk)
    if fitting := [one for one in tried if one[0] <= LARGER * size]:
        return max(fitting, key=lambda one: one[0])[1]
    text = found.text({}, endings, 0)  # no quotes: what was done is better than nothing
    tried.append((target.counter.count(text), Digested(text)))
    counted, smallest = min(tried, key=lambda one: one[0])
    return smallest if counted <= size + HEADER else Digested(texts.omission(*found.totals))


def _next_room(tried: Sequence[tuple[float, int]], size: float) -> float:
    """The room for quotes with which a record has `size` tokens, about, on the line through the last two tries: their
    rooms, and the tokens that the records had."""
    room, counted = tried[-1]
    growth = GROWTH
    if len(tried) > 1:
        before, counted_before = tried[-2]
        growth = (counted - counted_before) / (room - before) if room != before else GROWTH
    return room + (size - counted) / min(2 * GROWTH, max(GROWTH / 2, growth))


class _FoldedTurns:
    """The units that one digest stands for, with the index of their entries."""

    def __init__(self, view: View, target: Target, run: Sequence[Slot], folded: Sequence[Slot], talk: float) -> None:
        self.view, self.target, self.run, self.talk = view, target, run, talk
        self.index = Index.of(view, target.budget.usable, target.indexes)
        self.quoted_before = {seq for slot in run if isinstance(slot, FoldedSlot) for seq in quoted_by(view, slot)}
        first = self.index.first(view)
        indexed = [unit for slot in run for unit in units_in(slot, first)]
        quoted = sorted({view.unit_of[seq] for seq in self.quoted_before})
        self.units = [
            unit
            for unit in (*(view.unit(key) for key in quoted if key < first), *indexed)
            if not stays_visible(view, target, unit) and self.index.at(view, unit.seqs[0]).role
        ]
        """The units that get a line: all that the index reaches, and those older ones that earlier records quote. Notes
        of state get none."""
        shown = [unit for slot in run for unit in _shown_units(slot) if unit.key < first]
        staying = [unit for unit in (*shown, *indexed) if stays_visible(view, target, unit)]
        count = sum(slot.unit_count if isinstance(slot, FoldedSlot) else 1 for slot in run) - len(staying)
        notes = sum(1 for unit in indexed if not self.index.at(view, unit.seqs[0]).role)
        self.older = count - notes - len(self.units)
        """How many other units the fold hides: too old for the index and not quoted, so they are only counted."""
        self.tokens = sum(slot.untrimmed_size.tokens for slot in run)
        self.tokens -= sum(unit.untrimmed_size.tokens for unit in staying)
        self.first_indexed = first
        self.beside = visible(view, target, folded)  # what the window shows beside the new records
        self.changes = Changes(view, target, self.index)
        self._turns: dict[tuple[int, str], RecordTurn] = {}
        self._readable: dict[int, list[tuple[str, int]]] = {}
        self._shown: dict[int, Sequence[Span]] = {}

    @cached_property
    def totals(self) -> tuple[str, int, int]:
        """The entries of the run; the turns that the fold hides, and their tokens."""
        return range_reference(self.view, self.target, self.run), self.older + len(self.units), self.tokens

    def text(self, quoted: Spans, endings: Sequence[str], lines: float) -> str:
        """The record that quotes these spans."""
        readable_back = is_offered(texts.READ, self.view.head.tools)
        title = texts.record_title(*self.totals, readable=readable_back)
        return record_text(title, self.turns(quoted), endings, lines)

    @property
    def has_calls(self) -> bool:
        """Whether any of these units has calls."""
        return any(len(unit.seqs) > 1 for unit in self.units)

    # ---- what is quoted

    @cached_property
    def messages(self) -> MessageQuotes:
        """What is quoted of the user's messages and of the answers to them, whatever names they have."""
        return MessageQuotes(self.view, self.index, self.units)

    @cached_property
    def failures(self) -> Failures:
        """What failed, and what a later success answered."""
        whole = [one for one in self.beside if isinstance(one, Unit)]
        return Failures(self.view, self.index, self.units, whole)

    @cached_property
    def proposed(self) -> ProposedPlans:
        """The plans that the model showed the user."""
        return ProposedPlans(self.view, self.index, self.units)

    @cached_property
    def passages(self) -> list[Passage]:
        """The passages that may be quoted."""
        seqs = [
            seq
            for unit in self.units
            for seq in self._quotable(unit)
            if seq in self.index.entries or seq in self.quoted_before
        ]
        first_choice = self.quoted_before.union(*(slot.seqs for slot in self.run if isinstance(slot, Unit)))
        most = max(MOST, self.target.budget.usable // TOKENS_PER_PASSAGE)
        passages = _passages(self.view, self.index, seqs, first_choice, most)
        if self.talk < MOSTLY_TALK:
            return passages
        return [replace(one, margin=0.0) if self._is_of_message(one) else one for one in passages]

    def _is_of_message(self, passage: Passage) -> bool:
        """Whether a passage is a sentence of a message. In a dialogue it needs no margin: it says something alone."""
        indexed = self.index.at(self.view, passage.entry)
        return indexed.from_turn and not indexed.calls

    @cached_property
    def _items(self) -> list[tuple[str, ...]]:
        """The names for which each passage may be quoted."""
        return [() if out else one.names for one, out in zip(self.passages, self._left_out, strict=True)]

    @cached_property
    def _left_out(self) -> list[bool]:
        """Of each passage, whether it is not worth a quote."""
        return [self._is_left_out(passage) for passage in self.passages]

    def _is_left_out(self, passage: Passage) -> bool:
        """Whether a passage is not worth a quote: it is noise, of a plan that was refused, or beside a report."""
        start, stop = self._inside(passage.entry, passage.start, passage.end)
        return start >= stop or self._is_noise(passage) or self.proposed.is_refused(passage)

    def _inside(self, entry: int, start: int, end: int) -> Span:
        """A span of an entry, of another agent's report only what is inside of it."""
        first, last = self.messages.reports.get(entry, (start, end))
        return max(start, first), min(end, last)

    @cached_property
    def _factors(self) -> list[float]:
        """The worth of each passage's names: less in the result of a search, among lines that all say the same, and
        where a later call changed the file or object that it shows."""
        last = self.index.last_changes()
        factors: dict[int, float] = {}
        for unit in self.units:
            indexed = self.index.at(self.view, unit.seqs[0])
            if any(last.get(name, -1) > unit.seqs[0] for name in indexed.about):
                factors.update(dict.fromkeys(unit.seqs[1:], STALE))
            for at, seq in zip(unit.answered_calls, unit.seqs[1:], strict=True):
                if indexed.calls[at].says == "matches":
                    factors[seq] = OF_LISTS
        return [
            OF_LISTS
            if self._noise(passage).is_repeated(passage.start, passage.end)
            else factors.get(passage.entry, 1.0)
            for passage in self.passages
        ]

    def _noise(self, passage: Passage) -> Noise:
        """The noise in the text of a passage."""
        of_entry = self.index.at(self.view, passage.entry).noise
        return of_entry[passage.text] if of_entry else QUIET

    def _is_noise(self, passage: Passage) -> bool:
        """Whether a passage is not quoted for its names or words: of a check it says nothing that failed, or it is none
        for reading."""
        unreadable = self._noise(passage).is_unreadable(passage.start, passage.end)
        return unreadable or self.failures.is_noise(passage)

    def _quotable(self, unit: Unit) -> Iterator[int]:
        """The entries of a turn that may be quoted: not the result of an edit that did not fail, which only repeats the
        edit, and not the receipt for an agent that was launched."""
        head, *results = unit.seqs
        calls = self.index.at(self.view, head).calls
        yield head
        for at, seq in zip(unit.answered_calls, results, strict=True):
            ended = self.index.at(self.view, seq).result
            says_nothing = calls[at].says == "nothing" or (calls[at].says == "answer" and ended and ended.receipt)
            if ended is None or not says_nothing or is_failure(calls[at], ended):
                yield seq

    @cached_property
    def covered(self) -> set[str]:
        """The names that need no quote, since they are in the window beside this digest."""
        return set[str]().union(*(covered_names(self.index, self.view, one) for one in self.beside))

    def quotes(self, room: float, names: float, already: Spans) -> Spans:
        """The spans to quote in so many tokens: the chosen passages with their margins. `names`: the share of the
        tokens for passages that are chosen for their names. `already`: what is quoted in any case."""
        if room <= 0:
            return {}
        view, index, passages = self.view, self.index, self.passages
        choice, items = PassageChoice(passages), self._items
        within = (passage for passage in passages if passage.entry in already and _is_within(passage, already))
        quoted = {name for passage in within for name in passage.names}
        choice.cover(names * room, items, index.weight, covered=self.covered | quoted, factors=self._factors)
        left = room - choice.spent
        if left > MIN_FOR_WORDS * room:
            cover_words(view, index, choice, left, self.units, self.beside, without=self._left_out)
        chosen: Spans = {}
        for at in sorted(choice.taken):
            passage = passages[at]
            if (shown := self._shown.get(at)) is None:
                shown = self._shown[at] = self._spans_of(passage)
            chosen.setdefault(passage.entry, {}).setdefault(passage.text, []).extend(shown)
        return chosen

    def _spans_of(self, passage: Passage) -> Sequence[Span]:
        """What is quoted of a passage that was chosen: its lines that say what failed, else all of it with margins."""
        if lines := self.failures.lines_in(passage):
            return lines
        text = self._texts(passage.entry)[passage.text][0]
        start, end = passage.start, passage.end
        if passage.margin:
            start, end = with_margins(text, start, end, self.index.json_elements(text))
        if passage.text == 0 and self.index.at(self.view, passage.entry).from_turn:
            end = behind_announcement(text, end)
        return [self._inside(passage.entry, start, end)]

    # ---- what the record says

    def tokens_of_lines(self) -> float:
        """Tokens that the lines of all turns would take in detail, about."""
        calls = [call for unit in self.units for call in self.index.at(self.view, unit.seqs[0]).calls]
        of_calls = sum(len(call.tool) + len(call.subject) + len(call.did) + 24 for call in calls)
        return 4 * len(self.units) + of_calls / 3

    def turns(self, spans: Spans) -> list[RecordTurn]:
        """The units as turns of a record, with what is quoted of them; those that are older than the index as one."""
        turns = [self._turn_of(unit, spans) for unit in self.units]
        if self.older > 0:
            entries = self.totals[0].split()
            first, end = entries[1], entries[-1]
            newer = (unit.seqs[0] for unit in self.units if unit.key >= self.first_indexed)
            last = next((self.changes.number(seq - 1) for seq in newer), end)
            turns.insert(0, RecordTurn(first=first, last=last, role=EARLIER, count=self.older))
        return turns

    def endings(self, size: float) -> list[str]:
        """The last lines: what the turns changed, what an earlier record quotes of it, and the newest plan."""
        lines: list[str] = []
        if changed := self.changes.named(self.units, size):
            lines.append(texts.changed_line(changed))
        if stale := self.changes.stale(self.units, self.beside):
            lines.append(texts.stale_line(stale))
        whole = [one for one in self.beside if isinstance(one, Unit)]
        seq, plan = newest_plan(self.view, self.index, self.units, whole, int(PLAN * size * 4))
        if plan:
            lines.append(texts.plan_line(self.target.reference(seq), texts.disarmed(plan, self.view.notes)))
        return lines

    def _turn_of(self, unit: Unit, spans: Spans) -> RecordTurn:
        """A unit as a turn, cached: from one try of a record to the next, most turns quote the same."""
        quoted = {seq: spans[seq] for seq in unit.seqs if seq in spans}
        key = unit.key, str(quoted)
        if (found := self._turns.get(key)) is None:
            found = self._turns[key] = self._turn(unit, quoted)
        return found

    def _texts(self, seq: int) -> list[tuple[str, int]]:
        """The readable texts of an entry, cached."""
        if (found := self._readable.get(seq)) is None:
            found = self._readable[seq] = readable(self._fact(seq))
        return found

    def _turn(self, unit: Unit, spans: Spans) -> RecordTurn:
        """A unit as a turn, with what is quoted of it."""
        head, *results = unit.seqs
        indexed = self.index.at(self.view, head)
        words = self._quotes(head, spans)
        quotes_of_calls = self._quotes_of_calls(head, spans)
        results_by_call = dict(zip(unit.answered_calls, results, strict=True))
        calls: list[CallLine] = []
        for at, facts in enumerate(indexed.calls):
            result = results_by_call.get(at)
            ended = self.index.at(self.view, result).result if result is not None else None
            chosen = quotes_of_calls.get(at)
            title, of_arguments = chosen or (facts.subject, [])
            of_arguments = [] if facts.complete else of_arguments
            of_result = self._quotes(result, spans) if result is not None else []
            quotes = [*of_arguments, *of_result]
            # what the outcome need not repeat: of an edit its arguments are quoted, of other calls the result
            said = of_arguments if facts.says == "nothing" else of_result
            calls.append(
                CallLine(
                    tool=texts.plain_name(facts.tool),
                    subject=texts.name_in_a_line(title),
                    outcome=self._outcome(facts, result, "\n".join(said)) + self._answered(head, at),
                    quotes=tuple(quotes),
                    chosen=chosen is not None,
                    deed=texts.in_a_line(facts.deed),
                    failed=ended is not None and is_failure(facts, ended),
                    tested=ended is not None and ended.summary and facts.says == "summary" and not facts.shows,
                    changed=self.changes.since(unit, at, spans) if quotes else (),
                    files=tuple(map(texts.name_in_a_line, sorted(facts.changes))) if facts.says == "nothing" else (),
                )
            )
        return RecordTurn(
            first=self.changes.number(unit.seqs[0]),
            last=self.changes.number(unit.seqs[-1]),
            role=f"{indexed.role}, {indexed.media}" if indexed.media else indexed.role,
            tokens=indexed.tokens,
            words="\n".join(words),
            calls=tuple(calls),
        )

    def _outcome(self, call: CallFacts, result: int | None, said: str) -> str:
        """How a call ended, in a few words, with the images and files that its result has. `said`: what is quoted below
        its line."""
        if result is None:
            return outcome_text(call, None, quoted=said)
        indexed = self.index.at(self.view, result)
        ended = indexed.result
        words = outcome_text(call, ended, quoted=said)
        if indexed.media and ended is not None and not ended.lines and not is_failure(call, ended):
            words = ""  # it would say that there is no output
        return ", ".join(filter(None, (words, indexed.media)))

    def _answered(self, head: int, at: int) -> str:
        """The mark behind the outcome of a call that failed and later succeeded, with the entry of that success; empty
        for any other call."""
        later = self.failures.answered.get((head, at))
        return texts.succeeded_at(self.changes.number(later)) if later is not None else ""

    def _quotes(self, seq: int, spans: Spans) -> list[str]:
        """What is quoted of the words of an entry, its calls aside."""
        if seq not in spans:
            return []
        fact = self._fact(seq)
        sources = self._texts(seq)
        first_call = len(sources) - (len(fact.calls) if isinstance(fact, Assistant) else 0)
        is_result = self.index.at(self.view, seq).result is not None
        return [
            texts.disarmed(quote, self.view.notes)
            for number, chosen in sorted(spans[seq].items())
            if number < first_call
            if (quote := text_quote(sources[number][0], chosen, is_result=is_result))
        ]

    def _quotes_of_calls(self, seq: int, spans: Spans) -> dict[int, tuple[str, list[str]]]:
        """What stands in the line of each call of an entry of which something is quoted, and the quotes, under its
        index."""
        fact = self._fact(seq)
        if seq not in spans or not isinstance(fact, Assistant):
            return {}
        first_call = len(self._texts(seq)) - len(fact.calls)
        facts = self.index.at(self.view, seq).calls
        found: dict[int, tuple[str, list[str]]] = {}
        for number in sorted(number for number in spans[seq] if number >= first_call):
            at = number - first_call
            title, quotes = titled_quotes(fact.calls[at], facts[at], spans[seq][number])
            found[at] = title, [texts.disarmed(one, self.view.notes) for one in quotes]
        return found

    def _fact(self, seq: int) -> Fact:
        fact = self.view.fetch(seq).body
        assert isinstance(fact, Fact)
        return fact


def _is_within(passage: Passage, spans: Spans) -> bool:
    """Whether a passage is in one of the spans."""
    found = spans.get(passage.entry, {}).get(passage.text, ())
    return any(start <= passage.start and passage.end <= end for start, end in found)


def _merged(one: Spans, other: Spans) -> Spans:
    """The spans of both."""
    whole: Spans = {seq: {number: list(spans) for number, spans in of.items()} for seq, of in one.items()}
    for seq, of in other.items():
        for number, spans in of.items():
            whole.setdefault(seq, {}).setdefault(number, []).extend(spans)
    return whole


def _passages(
    view: View, index: Index, seqs: Sequence[int], first_choice: AbstractSet[int], most: int
) -> list[Passage]:
    """The passages that may be quoted of these entries, in the order of the log; about `most` of them.

    The entries in `first_choice` (folded only now, or quoted before) are taken first, then the others; in both groups
    the newest first. The limit loses little: what earlier records have chosen from their parts of the log holds nearly
    everything that a choice from the whole log would take (composable core-sets: Indyk et al. 2014).
    """
    found: list[tuple[Passage, ...]] = []
    for seq in sorted(seqs, key=lambda seq: (seq in first_choice, seq), reverse=True):
        mine = index.at(view, seq).passages
        if mine and (len(mine) <= most or not found):
            most -= len(mine)
            found.append(mine)
        if most <= 0:
            break
    return [one for mine in sorted(found) for one in mine]


def _shown_units(slot: Slot) -> Sequence[Unit]:
    return slot.pinned_units if isinstance(slot, FoldedSlot) else (slot,)
