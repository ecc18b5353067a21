"""Makes a record: chooses what it quotes of the folded turns, and fits its text into the room."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from transom import quoting, texts
from transom.core.edit import Fold, Span
from transom.core.log import stored
from transom.core.message import Assistant, Fact
from transom.core.policy import Target
from transom.core.tool import is_offered
from transom.core.unit import FoldedSlot, Slot, Unit, units_in
from transom.core.view import View
from transom.strategies.actions.action import Action
from transom.strategies.actions.outcome import outcome_text
from transom.strategies.candidates import stays_visible
from transom.strategies.record.agent_plans import newest_plan
from transom.strategies.record.changes_and_failures import answered_failures, changed_names, entry_number, made_by
from transom.strategies.record.index import NEAR, DoneCall, Index
from transom.strategies.record.message_quotes import MessageQuotes, Spans, merged
from transom.strategies.record.passage_choice import TAG, PassageChoice, cover_words, name_quotes
from transom.strategies.record.passages import Passage, argument_quotes, readable, text_quotes, with_margins
from transom.strategies.record.record_text import CallLine, RecordTurn, record_text
from transom.strategies.record.visible_names import covered_names, visible
from transom.strategies.text.one_line import LONGEST_PATH
from transom.strategies.text.references import range_reference

HEADER = 55
"""Tokens of a record's first line, about."""

LINES = 0.125
"""The share of a record for the lines of turns of which nothing is quoted."""

OF_MESSAGES = 0.5, 0.18, 0.1
"""Three shares of a record. The first is the most for the user's words. The second is the most for the words of agents
and programs; they also get what the user's words leave. The third is what these get in addition if they do not fit even
at their shortest, because what came of a request tells more than names that nobody said."""

IN_TALK = 0.8, 0.0, 0.0
"""The same where talk outweighs work: passages quote what agents said."""

MOSTLY_TALK = 0.5
"""How far talk outweighs work where the conversation counts as talk: its passages quote what was said in any case."""

OWN_LINE = 8
"""Tokens that a turn with calls takes beside what is quoted of it, since it does not share a line, about."""

PLAN = 0.1
"""The share of a record for the newest plan."""

STALE = 0.8
"""How much a name counts in a result whose file or object a later call changed, compared with 1 elsewhere."""

LESS_NAMES_FOR_CHAT = 0.8
"""The part of the tokens for quotes that goes from names to words where there is only talk."""

MIN_FOR_WORDS = 0.05
"""If names leave less than this share of a record, words are not looked at."""

SMALLER, LARGER = 0.95, 1.03
"""The shares of its planned size that a record should have, at least and at most."""

TRIES, NEXT = 8, 0.8
"""How often quotes are chosen, at most, and the share of what should fit that the next try gets after a record that is
too large."""

LEAST_GAIN = 0.05
"""Between a room that was too little and one that was too much no further one is tried if they differ by less than this
share of the record, or the last one gained less."""

FILLS = 2
"""How often the rest of a record's room is filled."""

MOST, TOKENS_PER_PASSAGE = 3_000, 24
"""A record chooses among at most `MOST` passages; in a large window, among one for each `TOKENS_PER_PASSAGE` tokens of
it. Only the first entry that is taken may have more by itself."""


class MadeRecord(Struct, frozen=True):
    """A record that was made: its text, its tokens, and the entries that it quotes, in order."""

    text: str
    tokens: int
    quotes: tuple[int, ...] = ()


def make_record(
    view: View, target: Target, run: Sequence[Slot], folded: Sequence[Slot], size: float, talk: float = 0
) -> MadeRecord:
    """The record of a run of slots, neighbours in the window, in about `size` tokens: at most 3% more. If that is too
    few, the record has no quotes, and may have `HEADER` (55) tokens more. If that is too few as well, it is only a
    marker that the turns are left out. Whether the record is smaller than the slots is not checked.

    `folded`: all slots that this compaction folds, those of `run` among them. `talk`: how far talk outweighs work with
    tools (0 to 1).

    Passages are first chosen for the names in them, then, with the rest of the tokens for quotes, for their words. What
    a passage will take is only estimated: if the record turns out too large, less is quoted. Names fill what is left;
    if the record is too small even so, more is quoted.
    """
    found = _FoldedTurns(view, target, run, folded, talk)
    endings = found.endings(size)
    fixed = HEADER + sum(target.counter.count(line) for line in endings)
    lines = min(LINES * size, found.tokens_of_lines())
    is_talk = talk >= MOSTLY_TALK
    best: MadeRecord | None = None
    share, more = 1.0, 0.0
    least, too_much = 0.0, inf  # `more` that was too little, and that was too much
    for _ in range(TRIES):
        of_user, *of_others = IN_TALK if is_talk else OF_MESSAGES
        messages, tokens = found.messages.chosen(share * of_user * size, *(share * part * size for part in of_others))
        rest = share * (size - fixed - lines - tokens) + more
        quoted = merged(messages, found.quotes(rest, messages, by_words=is_talk or more > 0))
        made = found.record(quoted, endings, lines)
        if made.tokens <= LARGER * size:
            made = found.filled(quoted, endings, lines, made, size)
            gained = made.tokens - (0 if best is None else best.tokens)
            if gained <= 0:
                break  # there is nothing more to quote
            best, least = made, more
            if made.tokens >= SMALLER * size or (too_much < inf and gained < LEAST_GAIN * size):
                break
        elif best is not None:
            too_much = more
        else:
            share *= NEXT * size / made.tokens
            lines *= share
            continue
        if too_much - least < LEAST_GAIN * size:
            break
        more = min(least + size - best.tokens, (least + too_much) / 2)
    if best is not None:
        return best
    made = found.record({}, endings, 0)  # no quotes: what was done is better than nothing
    if made.tokens <= size + HEADER:
        return made
    text = texts.omission(*found.totals)
    return MadeRecord(text, target.counter.count(text))


class _FoldedTurns:
    """The units that one record stands for, with the index of their entries."""

    def __init__(self, view: View, target: Target, run: Sequence[Slot], folded: Sequence[Slot], talk: float) -> None:
        self.view, self.target, self.run, self.talk = view, target, run, talk
        self.index = Index.of(view, target.budget.usable, target.indexes)
        folds = (view.fetch(slot.seq).body for slot in run if isinstance(slot, FoldedSlot))
        self.quoted_before = {seq for fold in folds if isinstance(fold, Fold) for seq in fold.quotes}
        first, near = self.index.first(view), self.index.near(view, NEAR * target.budget.usable)
        known = stored(view.log)  # what the plan that is being made has folded is none of an earlier record
        least = [near if isinstance(slot, FoldedSlot) and slot.seq < known else first for slot in run]
        reached = [(unit, key) for slot, key in zip(run, least, strict=True) for unit in units_in(slot, first)]
        indexed = [unit for unit, key in reached if unit.key >= key]
        older = view.units({view.unit_of[seq] for seq in self.quoted_before}.difference(unit.key for unit in indexed))
        self.units = [
            unit
            for unit in sorted((*older, *indexed), key=lambda unit: unit.key)
            if not stays_visible(view, target, unit) and self.index.at(view, unit.seqs[0]).role
        ]
        """The units that get a line: all that the index reaches; of those that were folded before, the near ones and
        what earlier records quote. Notes of state get none."""
        self.with_calls = [
            unit
            for unit, _ in reached
            if self.index.at(view, unit.seqs[0]).calls and not stays_visible(view, target, unit)
        ]
        """All that the index reaches and that can have changed something, failed or made a plan, also those without a
        line: what came of them still stands."""
        visible_now = ((slot.pinned_units if isinstance(slot, FoldedSlot) else (slot,)) for slot in run)
        shown = [unit for units, key in zip(visible_now, least, strict=True) for unit in units if unit.key < key]
        staying = [unit for unit in (*shown, *indexed) if stays_visible(view, target, unit)]
        count = sum(slot.unit_count if isinstance(slot, FoldedSlot) else 1 for slot in run) - len(staying)
        notes = sum(1 for unit in indexed if not self.index.at(view, unit.seqs[0]).role)
        self.count = count - notes
        """How many units the fold hides, also those that are too old for the index and not quoted."""
        self.tokens = sum(slot.untrimmed_size.tokens for slot in run)
        self.tokens -= sum(unit.untrimmed_size.tokens for unit in staying)
        self.beside = visible(view, target, folded)  # what the window shows beside the new records
        self._turns: dict[tuple[object, ...], RecordTurn] = {}
        self._readable: dict[int, list[tuple[str, int]]] = {}

    @cached_property
    def totals(self) -> tuple[str, int, int]:
        """The entries of the run; the turns that the fold hides, and their tokens."""
        return range_reference(self.view, self.target, self.run), self.count, self.tokens

    def record(
        self, quoted: Spans, endings: Sequence[str], lines: float, names: Sequence[tuple[int, str]] = ()
    ) -> MadeRecord:
        """The record that quotes these spans, and these names alone."""
        title = texts.record_title(*self.totals, readable=is_offered(texts.READ, self.view.head.tools))
        text = record_text(title, self.turns(quoted, names), endings, lines)
        entries = {entry for entry, _ in (*quoted, *names)}
        return MadeRecord(text, self.target.counter.count(text), tuple(sorted(entries)))

    def filled(self, quoted: Spans, endings: Sequence[str], lines: float, made: MadeRecord, size: float) -> MadeRecord:
        """A record with as many names as its size leaves room for."""
        stand = self.covered | self.index.names(made.text)
        needed = [tuple(name for name in one.names if name not in stand) for one in self.passages]
        room, best = size - made.tokens, made
        before: Sequence[tuple[int, str]] = ()
        for _ in range(FILLS):
            chosen = name_quotes(self.passages, self._text_of, needed, self.index.weight, self._factors, room)
            if len(chosen) == len(before):  # there are no others
                break
            before = chosen
            now = self.record(quoted, endings, lines, chosen)
            if best.tokens < now.tokens <= LARGER * size:
                best = now
            if SMALLER * size <= now.tokens <= LARGER * size or now.tokens <= made.tokens:
                break
            room *= (size - made.tokens) / (now.tokens - made.tokens)
        return best

    def _text_of(self, passage: Passage) -> str:
        return self._texts(passage.entry)[passage.text][0]

    # ---- what is quoted

    @cached_property
    def messages(self) -> MessageQuotes:
        """What is quoted of the user's messages and of the answers to them, whatever names they have."""
        return MessageQuotes(self.view, self.index, self.units)

    @cached_property
    def answered(self) -> dict[tuple[int, int], int]:
        """The failed calls that a later success answered, here or in the turns that stay whole."""
        units = sorted((*self.units, *self._whole), key=lambda unit: unit.seqs[0], reverse=True)
        return answered_failures(done for unit in units for done in reversed(self.index.calls_of(self.view, unit)))

    @property
    def _whole(self) -> list[Unit]:
        """The turns that the window shows beside the new records."""
        return [one for one in self.beside if isinstance(one, Unit)]

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
        # in a dialogue a sentence of a message needs no margin: it says something alone
        entries = {one.entry: self.index.at(self.view, one.entry) for one in passages}
        alone = {seq for seq, indexed in entries.items() if indexed.from_turn and not indexed.calls}
        return [replace(one, margin=0.0) if one.entry in alone else one for one in passages]

    @cached_property
    def _factors(self) -> list[float]:
        """The worth of each passage's names: less where a later call changed the file or object that it shows."""
        last = self.index.last_changes()
        factors: dict[int, float] = {}
        for unit in self.with_calls:
            head = unit.seqs[0]
            if any(last.get(name, -1) > head for one in self.index.at(self.view, head).calls for name in one.names):
                factors.update(dict.fromkeys(unit.seqs[1:], STALE))
        return [factors.get(passage.entry, 1.0) for passage in self.passages]

    def _quotable(self, unit: Unit) -> Iterator[int]:
        """The entries of a turn that may be quoted: not a result that says nothing which the line does not say."""
        yield unit.seqs[0]
        for done in self.index.calls_of(self.view, unit):
            ended = done.outcome
            says_nothing = done.action.is_edit or (done.action.kind == "delegate" and ended and ended.receipt)
            if done.result >= 0 and (ended is None or ended.failed or not (says_nothing or ended.ran)):
                yield done.result

    @cached_property
    def covered(self) -> set[str]:
        """The names that need no quote, since they are in the window beside this record."""
        return set[str]().union(*(covered_names(self.index, self.view, one) for one in self.beside))

    def quotes(self, room: float, already: Spans, *, by_words: bool) -> Spans:
        """The spans to quote in this many tokens: the chosen passages with their margins. `already`: what is quoted in
        any case."""
        if room <= 0:
            return {}
        view, index, passages = self.view, self.index, self.passages
        choice = PassageChoice(passages, tag=TAG if self.talk >= MOSTLY_TALK else OWN_LINE)
        items = [one.names for one in passages]
        quoted = {
            name
            for one in passages
            for start, end in already.get((one.entry, one.text), ())
            if start <= one.start and one.end <= end
            for name in one.names
        }
        choice.cover(
            (1 - LESS_NAMES_FOR_CHAT * self.talk) * room,
            items,
            index.weight,
            covered=self.covered | quoted,
            factors=self._factors,
        )
        left = room - choice.spent
        if by_words and left > MIN_FOR_WORDS * room:
            cover_words(view, index, choice, left, self.units)
        taken = (passages[at] for at in sorted(choice.taken))
        return merged(*({(one.entry, one.text): [self._with_margins(one)]} for one in taken))

    def _with_margins(self, passage: Passage) -> Span:
        """What is quoted of a passage that was chosen, with its margins."""
        start, end = passage.start, passage.end
        if passage.margin and self.index.at(self.view, passage.entry).role != "note":
            start, end = with_margins(self._text_of(passage), start, end)
        # what stands before the first passage, and behind the last, was cut out of the text
        return passage.start if passage.first else start, passage.end if passage.last else end

    # ---- what the record says

    def tokens_of_lines(self) -> float:
        """Tokens that the lines of all turns would take in detail, about."""
        calls = [call for unit in self.units for call in self.index.at(self.view, unit.seqs[0]).calls]
        return sum(len(call.tool) + len(call.about) + len(call.edited_line) + 36 for call in calls) / 3

    def turns(self, spans: Spans, names: Sequence[tuple[int, str]] = ()) -> list[RecordTurn]:
        """The units as turns of a record, with what is quoted of them, and with these names alone."""
        alone: dict[int, list[str]] = {}
        for entry, name in names:
            alone.setdefault(self._places[entry], []).append(quoting.disarmed(name, self.view.notes))
        of_unit = defaultdict[int, dict[tuple[int, int], list[Span]]](dict)
        for place, some in sorted(spans.items()):
            of_unit[self._places[place[0]]][place] = some
        turns: list[RecordTurn] = []
        for at, unit in enumerate(self.units):
            key = unit.key, *((place, *some) for place, some in of_unit[at].items())
            if key not in self._turns:  # from one try of a record to the next, most turns quote the same
                self._turns[key] = self._turn(unit, of_unit[at])
            turns.append(self._turns[key])
        for at, its_names in alone.items():
            turns[at] = replace(turns[at], names=tuple(its_names))
        return turns

    def endings(self, size: float) -> list[str]:
        """The last lines: what the turns changed, and the newest plan."""
        lines: list[str] = []
        if changed := changed_names(self.view, self.target, self.index, self.with_calls, size):
            lines.append(texts.changed_line(changed))
        seq, plan = newest_plan(self.view, self.index, self.with_calls, self._whole, int(PLAN * size * 4))
        if plan:
            lines.append(texts.plan_line(self.target.reference(seq), quoting.disarmed(plan, self.view.notes)))
        return lines

    @cached_property
    def _places(self) -> dict[int, int]:
        """The index in `units` of the unit that has an entry."""
        return {seq: at for at, unit in enumerate(self.units) for seq in unit.seqs}

    def _texts(self, seq: int) -> list[tuple[str, int]]:
        """The readable texts of an entry, cached."""
        if (found := self._readable.get(seq)) is None:
            found = self._readable[seq] = readable(self._fact(seq))
        return found

    def _turn(self, unit: Unit, spans: Spans) -> RecordTurn:
        """A unit as a turn, with what is quoted of it."""
        head = unit.seqs[0]
        indexed = self.index.at(self.view, head)
        quoted = self._quotes(head, spans)
        words = [quote for at, some in quoted.items() if at < 0 for quote in some]
        calls: list[CallLine] = []
        for done in self.index.calls_of(self.view, unit):
            action, ended = done.action, done.outcome
            chosen = quoted.get(done.at)
            title = action.about if chosen is None else action.text
            later = self.answered.get((done.turn, done.at))
            answered = "" if later is None else texts.succeeded_at(entry_number(self.target, later))
            of_arguments = chosen or []
            of_result = [quote for some in self._quotes(done.result, spans).values() for quote in some]
            quotes = [*of_arguments, *of_result]
            # what the outcome need not repeat: of an edit its arguments are quoted, of other calls the result
            said = of_arguments if action.is_edit else of_result
            calls.append(
                CallLine(
                    tool=quoting.plain_name(action.tool),
                    subject=quoting.name_in_a_line(title),
                    path=quoting.name_in_a_line(_path(action)) if title == action.about else "",
                    outcome=self._outcome(done, "\n".join(said)) + answered,
                    quotes=tuple(map(quoting.quote_marks, quotes)),
                    chosen=chosen is not None,
                    failed=ended is not None and ended.failed,
                    has_verdict=ended is not None and (ended.ran or (ended.has_verdict and ended.failed)),
                )
            )
        return RecordTurn(
            first=entry_number(self.target, unit.seqs[0]),
            role=indexed.role,
            words=quoting.quote_marks("\n".join(words)) if words else "",
            media=indexed.media,
            calls=tuple(calls),
            changes=bool(made_by(self.view, self.index, unit)),
        )

    def _outcome(self, done: DoneCall, said: str) -> str:
        """How a call ended, in a few words, with the images and files that its result has."""
        words = outcome_text(done.action, done.outcome, quoted=said)
        media = self.index.at(self.view, done.result).media if done.result >= 0 else ""
        if media and done.outcome is not None and not done.outcome.lines and not done.outcome.failed:
            words = ""  # it would say that there is no output
        return ", ".join(filter(None, (words, media)))

    def _quotes(self, seq: int, spans: Spans) -> dict[int, list[str]]:
        """What is quoted of each text of an entry: of a call under its index, of other texts under numbers below 0."""
        found: dict[int, list[str]] = {}
        for number, chosen in ((number, some) for (entry, number), some in spans.items() if entry == seq):
            indexed, fact = self.index.at(self.view, seq), self._fact(seq)
            at = number - len(self._texts(seq)) + len(indexed.calls)
            if at >= 0 and isinstance(fact, Assistant):
                quotes = argument_quotes(fact.calls[at], indexed.calls[at], chosen)
            else:
                quotes = text_quotes(self._texts(seq)[number][0], chosen, is_result=indexed.result is not None)
            found[at] = [quoting.disarmed(one, self.view.notes) for one in quotes]
        return found

    def _fact(self, seq: int) -> Fact:
        fact = self.view.fetch(seq).body
        assert isinstance(fact, Fact)
        return fact


def _path(action: Action) -> str:
    """The file that a call was about, in full, if that is all that its line names."""
    end = action.about.removeprefix("…")
    paths = [name for name in action.names if name == end or (end != action.about and name.endswith(end))]
    return paths[0] if len(paths) == 1 and "/" in paths[0] and len(paths[0]) <= LONGEST_PATH else ""


def _passages(
    view: View, index: Index, seqs: Sequence[int], first_choice: AbstractSet[int], most: int
) -> list[Passage]:
    """The passages that may be quoted of these entries, in the order of the log; about `most` of them."""
    found: list[tuple[Passage, ...]] = []
    for seq in sorted(seqs, key=lambda seq: (seq in first_choice, seq), reverse=True):
        mine = index.at(view, seq).passages
        if mine and (len(mine) <= most or not found):
            most -= len(mine)
            found.append(mine)
        if most <= 0:
            break
    return [one for mine in sorted(found) for one in mine]
