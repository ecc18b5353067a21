"""Automatic recall: passages that the newest message refers to and the window lacks are quoted in one fact at its
end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nlargest
from itertools import pairwise

from msgspec import Struct

from transom import quoting, texts
from transom.core.budget import Budget
from transom.core.edit import Edit, Fold
from transom.core.log import IndexCache
from transom.core.message import Fact, Recalled, Text, ToolResult, User, role_of
from transom.core.policy import Target
from transom.core.ranges import Count, Share
from transom.core.tool import is_offered
from transom.core.unit import FoldedSlot, Unit, units_in
from transom.core.view import View
from transom.recall.index import PassageVectors, RecallIndex, RecallPassage, newest_best, terms_of
from transom.search.base import Embedder
from transom.search.fusion import fused
from transom.strategies.candidates import RECALLED, is_user_pinned
from transom.strategies.record.passages import quoted_spans, readable
from transom.strategies.text.spans import joined
from transom.strategies.text.terms import words_in

TITLE_TOKENS, LINE_TOKENS = 45, 8
"""About how many tokens the first line has, and every other line beside its quote."""

MAX_TERMS = 64
"""How many of the words and names of a message are looked for: the rarest ones."""

PHRASE_SHARE = 0.3
"""How much a score is raised by two adjacent words that are adjacent in the message too, as a share of their
weights."""

RANKED_BY_PHRASES = 60
"""How many of the best passages are searched for adjacent words."""

FULL_ENOUGH = 0.8
"""A passage that is too large for the rest of the room is skipped, and a smaller one is looked for, until this share of
the room is full."""

QUESTION_MARKS = ("?", "？", "؟", "՞", "፧")

TALK_ENTRIES = 2_000
"""How many of the newest entries `Recall.talk` looks at."""

MAX_TERMS_IN_WHY = 5
"""How many of the words and names that were found `Recalled.why` lists."""


class Recall(Struct, frozen=True, kw_only=True):
    """A recall step that quotes old passages: those that the user's newest message refers to and that the window lacks.

    It searches the text of the entries before that message, up to 1,000,000 tokens back: by BM25 over words and names,
    where names count twice, and two adjacent words count a little more if they are adjacent in the message too. Before
    the passages are ranked, each one's score is raised by `neighbours` times the better score of the two passages
    beside it, and by `neighbours` squared times the better score of the two after those. The best passages become one
    `Recalled`: quotes in the order of the log, in at most `tokens` tokens, or in a small window the share `share` of
    the budget's usable tokens, if that is less. A text of up to 260 tokens is one passage. Passages that score less
    than `least` times the best one are left out.

    It yields nothing unless all of this holds:

    - The newest turn is a message of the user. In a loop of tool calls the model can read for itself.
    - The window hides or shortens something.
    - At least the share `talk` of the turns in the last 2,000 entries, in tokens, is without tool calls. Where tools do
      most of the work, recall does not pay.
    - One of the chosen passages, without what its neighbours add, scores at least a share of what the message's words
      and names weigh together: `asked` if the message has a question mark, else `said`.

    With an `embedder` there is a second ranking, by likeness of meaning, and both are fused by reciprocal rank. A
    passage whose cosine with the message is at least `alike` then needs neither `least` nor `asked` and `said`. The
    embedder runs inside the plan, so it must be local, and must give the same vector for the same text each time.
    """

    tokens: Count = 1_500
    share: Share = 0.1875
    asked: float = 0.15
    said: float = 0.3
    least: float = 0.35
    neighbours: float = 0.7
    talk: float = 0.5
    embedder: Embedder | None = None
    alike: float = 0.45

    def prepare(self, view: View, budget: Budget, indexes: IndexCache) -> None:
        """Index the entries that came since the last call. Does nothing if no plan has needed the index yet."""
        del budget
        if indexes.of(RecallIndex).n:
            RecallIndex.of(view, indexes)

    def __call__(self, view: View, target: Target) -> Iterator[Recalled]:
        newest = view.newest_unit
        if newest != view.newest_user or not _lacks_anything(view) or _share_of_talk(view) < self.talk:
            return
        message = view.fetch(newest).body
        assert isinstance(message, User)
        asking = "\n".join(part.text for part in message.parts if isinstance(part, Text))
        index = RecallIndex.of(view, target.indexes)
        found = _Found(view, index, asking, self.neighbours, self.least)
        if self.embedder is not None:
            found.compare(target.indexes.of(PassageVectors), self.embedder, self.alike)
        room = target.budget.share(self.tokens, self.share)
        chosen = found.lacking(room)
        is_question = any(mark in asking for mark in QUESTION_MARKS)
        enough = self.asked if is_question else self.said
        if not chosen or not (found.part(chosen) >= enough or found.alike.intersection(chosen)):
            return
        why = found.why(chosen)
        while chosen:
            text = found.text(chosen, target)
            if target.counter.count(text) <= room:
                entries = sorted({index.passages[at].entry for at in chosen})
                yield Recalled(text=text, refs=tuple(entries), why=why)
                return
            chosen.pop()


def _lacks_anything(view: View) -> bool:
    """True if the window hides or shortens anything. If not, there is nothing to recall."""
    return any(isinstance(slot, FoldedSlot) or slot.trims for slot in view.slots)


def _share_of_talk(view: View) -> float:
    """Return the share of talk (turns without tool calls) among the newest turns, in tokens."""
    talk = work = 0
    for slot in view.slots:
        for unit in units_in(slot, view.length - TALK_ENTRIES):
            if len(unit.seqs) > 1:
                work += unit.untrimmed_size.tokens
            else:
                talk += unit.untrimmed_size.tokens
    return talk / max(1, talk + work)


class _Found:
    """The passages that a message may refer to. `ranked`: their indexes in the passages of the index, the best first.
    Without `compare` these are the passages with at least the share `least` of the best score; after `compare`, the
    best of both rankings, whatever their scores."""

    def __init__(self, view: View, index: RecallIndex, asking: str, neighbours: float, least: float) -> None:
        self.view, self.index = view, index
        weights = {term: index.weight(term) for term in terms_of(asking)}
        rarest = sorted(weights, key=lambda term: (-weights[term], term))[:MAX_TERMS]
        self.weights = {term: weights[term] for term in rarest}
        self.own = index.scores(self.weights)
        phrases = self._with_phrases(asking)
        self.scores = _with_neighbours(phrases, neighbours, index.alive)
        self.enough = least * max(self.scores.values(), default=0.0)
        good = (at for at, score in self.scores.items() if score >= self.enough)
        self.ranked = sorted(good, key=lambda at: (-self.scores[at], -at))
        self.asking = asking
        self.alike = frozenset[int]()
        """The passages that are like the message in meaning, whatever their words."""

    def compare(self, vectors: PassageVectors, embedder: Embedder, least: float) -> None:
        """Rank the passages also by likeness of meaning, and fuse both rankings into `ranked`.

        `least`: the cosine from which a passage is in `alike`.
        """
        vectors.update(self.index, embedder, self.text_of)
        (asking,) = embedder.embed([self.asking])
        similarities = vectors.similarities(asking, self.index.alive)
        self.alike = frozenset(at for at, cosine in similarities.items() if cosine >= least)
        best = fused((newest_best(self.scores), newest_best(similarities)))
        self.ranked = [at for at, _ in sorted(best, key=lambda one: (-one[1], -one[0]))]

    def _with_phrases(self, asking: str) -> dict[int, float]:
        """Return the scores, raised for the best passages by each two adjacent words of the message that they have."""
        found, wanted = dict(self.own), set(pairwise(words_in(asking)))
        for at in nlargest(RANKED_BY_PHRASES, found, key=lambda at: (found[at], at)):
            shared = wanted & set(pairwise(words_in(self.text_of(self.index.passages[at]))))
            weights = (self.weights.get(one, 0.0) + self.weights.get(other, 0.0) for one, other in sorted(shared))
            found[at] += PHRASE_SHARE * sum(weights)
        return found

    def lacking(self, room: int) -> list[int]:
        """Return the ranked passages that the window lacks, best first, as many as fit in `room` tokens. One with too
        low a score is left out, unless it is in `alike`; so is one with the same text as a better one."""
        chosen: list[int] = []
        seen = set[str]()
        window = _AlreadyShown(self.view)
        used = float(TITLE_TOKENS)
        for at in self.ranked:
            passage = self.index.passages[at]
            if self.scores.get(at, 0.0) < self.enough and at not in self.alike:
                continue
            quote = _as_quoted(self.view, self.text_of(passage))
            if quote in seen or window.shows(passage, quote):
                continue
            cost = passage.tokens + LINE_TOKENS
            if used + cost <= room:
                used += cost
                chosen.append(at)
                seen.add(quote)
            elif used > FULL_ENOUGH * room:
                break
        return chosen

    def part(self, chosen: Sequence[int]) -> float:
        """Return the best score among these passages, as a share of what all words and names of the message weigh. The
        scores are those before phrases and neighbours raise them. `chosen` must not be empty."""
        return max(self.own.get(at, 0.0) for at in chosen) / max(1e-9, sum(self.weights.values()))

    def why(self, chosen: Sequence[int]) -> str:
        """Say why these passages were recalled: their best score as a share (`part`), and the words and names of the
        message that they contain, the rarest first, at most five."""
        have = set[str]().union(*(terms_of(self.text_of(self.index.passages[at])) for at in chosen))
        common = [term.removeprefix("=") for term in self.weights if term in have]
        return f"{self.part(chosen):.0%} of what was asked for: {', '.join(dict.fromkeys(common[:MAX_TERMS_IN_WHY]))}"

    def text(self, chosen: Sequence[int], target: Target) -> str:
        """Write the text of the fact: a title, and a line for each entry, in the order of the log."""
        spans: dict[int, dict[int, list[tuple[int, int]]]] = {}
        for at in sorted(chosen):
            passage = self.index.passages[at]
            spans.setdefault(passage.entry, {}).setdefault(passage.text, []).append((passage.start, passage.end))
        names = [target.reference(min(spans)), target.reference(max(spans))]
        readable_back = is_offered(texts.READ, self.view.head.tools)
        title = texts.recalled_title(" to ".join(dict.fromkeys(names)), readable=readable_back)
        return "\n".join([title, *(self._line(seq, of, target) for seq, of in spans.items())])

    def _line(self, seq: int, spans: dict[int, list[tuple[int, int]]], target: Target) -> str:
        """The line of one entry. `spans`: for each of its texts the spans to quote."""
        fact = _fact(self.view, seq)
        sources = readable(fact)
        quoted = "\n".join(quoted_spans(sources[number][0], joined(some)) for number, some in sorted(spans.items()))
        number = target.reference(seq).split()[-1]
        return texts.recalled_line(number, _speaker(self.view, fact, seq), quoting.disarmed(quoted, self.view.notes))

    def text_of(self, passage: RecallPassage) -> str:
        """Return the text of a passage."""
        return readable(_fact(self.view, passage.entry))[passage.text][0][passage.start : passage.end]


class _AlreadyShown:
    """Says whether the window shows a passage already: in its unit, in the text of a fold, or in recalled text."""

    def __init__(self, view: View) -> None:
        self.view = view
        recalled = (unit.first_fact for unit in view.visible_units())
        self.recalled = "\n".join(fact.text for fact in recalled if isinstance(fact, Recalled))

    def shows(self, passage: RecallPassage, quote: str) -> bool:
        """True if the window shows all of a passage. `quote`: the passage as a fold or recalled text would quote it."""
        view = self.view
        key = view.unit_of[passage.entry]
        if view.is_visible(key):
            unit = view.unit(key)
            return not unit.trims or self._shown_by(unit, passage)
        slot = view.slots[view.slot_index(key)]
        return quote in self.recalled or (isinstance(slot, FoldedSlot) and quote in slot.text)

    def _shown_by(self, unit: Unit, passage: RecallPassage) -> bool:
        """Whether a unit with trims still shows a passage whole."""
        at = unit.seqs.index(passage.entry)
        whole, shown = readable(unit.facts[at]), readable(unit.shown_facts()[at])
        text = whole[passage.text][0][passage.start : passage.end]
        return any(text in other for other, _ in shown)


def _with_neighbours(scores: dict[int, float], share: float, alive: range) -> dict[int, float]:
    """Add to each score a share of the better score of the two passages beside it, and a smaller share of those after
    these. Passages without a score get one too."""
    row = [0.0, 0.0, *(scores.get(at, 0.0) for at in alive), 0.0, 0.0]
    near = zip(alive, row, row[1:], row[2:], row[3:], row[4:], strict=False)
    raised = (
        (at, own + share * max(before, after) + share**2 * max(first, last))
        for at, first, before, own, after, last in near
    )
    return {at: score for at, score in raised if score}


def _as_quoted(view: View, text: str) -> str:
    """Return a text as a fold or recalled text would quote it, without the quotation marks around it: without white
    space at its ends, and with everything disarmed that would look like a marker, a quotation mark or a note of
    ours."""
    return quoting.quote_marks(quoting.disarmed(text.strip(), view.notes))[1:-1]


def _fact(view: View, seq: int) -> Fact:
    fact = view.fetch(seq).body
    assert isinstance(fact, Fact)
    return fact


def _speaker(view: View, fact: Fact, seq: int) -> str:
    """Return whose words a fact is: its role, or the tool that a result is from."""
    call = view.call_of(view.unit(view.unit_of[seq]), seq) if isinstance(fact, ToolResult) else None
    return role_of(fact) if call is None else quoting.plain_name(call.name)


class DropRecalled(Struct, frozen=True, kw_only=True):
    """A strategy that folds recalled text into a short marker: that of earlier turns, and if the window does not fit
    also what was recalled for the newest turn. It does not look whether its target is met.

    What it repeats is in the log, and can be recalled again. Recalled text without references is the caller's own and
    may be nowhere else, so it stays. So does what the user pinned, and, while the window fits, what an undo brought
    back.
    """

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        for slot in view.slots:
            if not isinstance(slot, Unit) or not isinstance(slot.first_fact, Recalled) or not slot.first_fact.refs:
                continue
            is_spared = slot.key > target.newest_unit or view.user_restored(slot)
            if not is_user_pinned(view, slot) and (target.over_limit or not is_spared):
                text = texts.recalled_before(target.reference(slot.key))
                yield Fold(first=slot.key, last=slot.key, text=text, why=RECALLED)
