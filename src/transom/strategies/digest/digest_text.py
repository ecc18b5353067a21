"""The text of a digest: which passages it quotes, and in which form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from statistics import median

from transom import texts
from transom.core.edit import Fold
from transom.core.entry import Entry
from transom.core.message import Assistant, Fact, User, role_of
from transom.core.policy import Target
from transom.core.unit import Folded, Slot, Unit, units_in
from transom.core.view import View
from transom.strategies.candidates import stays_visible
from transom.strategies.digest.coverage import Choice
from transom.strategies.digest.index import Index
from transom.strategies.digest.passages import Passage, quoted_spans, readable, with_margins
from transom.strategies.text.references import range_reference
from transom.strategies.text.spans import joined

HEADER = 40
"""Tokens of a digest's first line, about."""

MIN_FOR_WORDS = 0.05
"""If names leave less than this share of a digest, words are not looked at."""

REPEATED_WORD = 0.5
"""The worth of each further passage with the same word, as a share of the one before."""

LARGER, TRIES = 1.1, 3
"""A digest that is larger than planned by more than this is chosen again, with less room, so many times in all."""

MOST, TOKENS_PER_PASSAGE = 3_000, 24
"""A digest chooses among at most so many passages, or, in large windows, one for so many tokens of the window. One
entry alone may have more."""

SHORT = 100
"""Messages of up to so many tokens count whole."""

Visible = Unit | Folded | str
"""What a window shows beside the digest: units, other folds, and the texts of the head."""


def digest_text(
    view: View, target: Target, run: Sequence[Slot], folded: Sequence[Slot], size: float, names: float
) -> tuple[str, tuple[int, ...]]:
    """The text of a digest of a run of slots in about `size` tokens, and the entries it quotes.

    `folded`: all slots that this compaction folds. Names choose first, with at most the share `names` of the tokens;
    words choose with the rest. The cost of a passage is estimated from its whole text; if the digest turns out too
    large, it is chosen again with less room.
    """
    index = Index.of(view, target.budget.usable, target.derived)
    quoted_before = {seq for slot in run if isinstance(slot, Folded) for seq in _quoted_by(view, slot)}
    hidden = _hidden_units(view, target, index, run, quoted_before)
    seqs = [seq for unit in hidden for seq in unit.seqs if seq in index.entries or seq in quoted_before]
    first_choice = quoted_before.union(*(slot.seqs for slot in run if isinstance(slot, Unit)))
    most = max(MOST, target.budget.usable // TOKENS_PER_PASSAGE)
    passages = _passages(view, index, seqs, first_choice, most)
    beside = visible(view, target, folded)
    units = sum(slot.unit_count if isinstance(slot, Folded) else 1 for slot in run)
    title = range_reference(view, target, run), units, sum(slot.untrimmed_size.tokens for slot in run)
    room, tries = size, TRIES
    while True:
        chosen = _choose(view, index, passages, hidden, beside, room, names)
        if not chosen:
            return texts.omission(*title), ()
        text = texts.digest(*title) + "".join(_quote(view, target, index, seq, ones) for seq, ones in chosen.items())
        counted, tries = target.counter.count(text), tries - 1
        if counted <= LARGER * size or not tries:
            return text, tuple(chosen)
        room *= size / counted


def _hidden_units(
    view: View, target: Target, index: Index, run: Sequence[Slot], quoted_before: AbstractSet[int]
) -> list[Unit]:
    """The units that a fold of these slots hides, as far back as the index reaches, and older ones that their folds
    quote."""
    first = index.first(view)
    units = [unit for slot in run for unit in units_in(slot, first)]
    older = [view.unit(key) for key in sorted({view.unit_of[seq] for seq in quoted_before}) if key < first]
    return [unit for unit in (*older, *units) if not stays_visible(view, target, unit)]


def _passages(
    view: View, index: Index, seqs: Sequence[int], first_choice: AbstractSet[int], most: int
) -> list[Passage]:
    """The passages of these entries that may be quoted, in order: at most `most`, of the newest entries, but before
    these of the entries in `first_choice`: those that are folded only now, and those that were quoted before.

    Little is lost where there are too many. What was chosen of each part contains nearly what would be chosen of the
    whole (composable core-sets: Indyk et al. 2014).
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


def _choose(
    view: View,
    index: Index,
    passages: Sequence[Passage],
    hidden: Sequence[Unit],
    beside: Sequence[Visible],
    size: float,
    names: float,
) -> dict[int, list[Passage]]:
    """The passages of a digest of so many tokens, by their entries, in order."""
    choice, items = Choice(passages), [passage.names for passage in passages]
    covered = set[str]().union(*(_covered_names(index, view, one) for one in beside))
    choice.cover(names * (size - HEADER), items, index.weight, covered=covered)
    left = size - HEADER - choice.spent
    if left > MIN_FOR_WORDS * size:
        _cover_words(view, index, choice, left, hidden, beside)
    chosen: dict[int, list[Passage]] = {}
    for at in sorted(choice.taken):
        chosen.setdefault(passages[at].entry, []).append(passages[at])
    return chosen


def _quoted_by(view: View, slot: Folded) -> tuple[int, ...]:
    fold = view.fetch(slot.seq).body
    return fold.quotes if isinstance(fold, Fold) else ()


def visible(view: View, target: Target | None = None, folded: Sequence[Slot] = ()) -> list[Visible]:
    """What the window shows once the slots `folded` are folded, beside the text of that fold: units, other folds, and
    the texts of the head."""
    inside = {slot.first for slot in folded}
    found: list[Visible] = []
    for slot in view.slots:
        if isinstance(slot, Folded) and slot.first not in inside:
            found.append(slot)
        shown = slot.surfaced_units if isinstance(slot, Folded) else (slot,)
        found += [
            unit
            for unit in shown
            if slot.first not in inside or (target is not None and stays_visible(view, target, unit))
        ]
    return [*found, *(text for message in view.head.messages for text, _ in readable(message))]


def visible_names(index: Index, view: View, one: Visible) -> frozenset[str]:
    """The names in what the window shows of this; not those in parts that were trimmed away."""
    if isinstance(one, Unit) and not one.trims:
        return frozenset[str]().union(*(index.at(view, seq).names for seq in one.seqs))
    return frozenset[str]().union(*map(index.names, visible_texts(one)))


def _covered_names(index: Index, view: View, one: Visible) -> frozenset[str]:
    """Those of its names that need no other passage. If a call has changed something since a fold quoted it, its name
    needs one again."""
    names = visible_names(index, view, one)
    return names - index.changed_since(view.unit(one.last).seqs[0]) if isinstance(one, Folded) else names


def visible_texts(one: Visible) -> list[str]:
    """The texts that the window shows of this, without the references that we put in front of quotes."""
    if isinstance(one, Unit):
        return [text for fact in one.shown_facts() for text, _ in readable(fact)]
    return [texts.without_references(one.text) if isinstance(one, Folded) else one]


def _cover_words(
    view: View, index: Index, choice: Choice, left: float, hidden: Sequence[Unit], beside: Sequence[Visible]
) -> None:
    """Choose on by words, with the tokens that names have left: short messages, and the user's, before long replies."""
    words = index.words.update(view, index)
    entries = dict.fromkeys(passage.entry for passage in choice.passages)
    items = [passage_words for seq in entries for passage_words in words.at(view, index, seq)]
    already = (word for one in beside for word in _visible_words(view, index, one))
    times = Counter(chain(already, *(items[at] for at in choice.taken)))
    verbosity = _verbosity(view, hidden)
    factors = {seq: _length_factor(view.fetch(seq), verbosity) for seq in entries}
    choice.cover(
        left,
        items,
        lambda word: int(words.weight(word) * REPEATED_WORD ** times[word]),
        repeated=REPEATED_WORD,
        factors=[factors[passage.entry] for passage in choice.passages],
    )


def _visible_words(view: View, index: Index, one: Visible) -> AbstractSet[str]:
    """The words in what the window shows of this."""
    words = index.words
    if isinstance(one, Unit) and not one.trims:
        return set(chain(*(passage_words for seq in one.seqs for passage_words in words.at(view, index, seq))))
    return set[str]().union(*map(words.of_text, visible_texts(one)))


def _verbosity(view: View, units: Sequence[Unit]) -> float:
    """How short the user's messages are compared with the model's: 0.3 to 1."""
    lengths: dict[type, list[int]] = {User: [], Assistant: []}
    for unit in units:
        entry = view.fetch(unit.seqs[0])
        if type(entry.body) in lengths:
            lengths[type(entry.body)].append(sum(entry.tokens))
    if not all(lengths.values()):
        return 1.0
    return min(1.0, max(0.3, median(lengths[User]) / max(1, median(lengths[Assistant]))))


def _length_factor(entry: Entry, verbosity: float) -> float:
    """The worth of a passage by the length of its message and by whose it is."""
    return min(1.0, SHORT / max(1, sum(entry.tokens))) * (verbosity if isinstance(entry.body, Assistant) else 1.0)


def _quote(view: View, target: Target, index: Index, seq: int, passages: Sequence[Passage]) -> str:
    """The quoted passages of one entry, behind its reference; of an outdated tool result, with the entry that changed
    what it shows."""
    fact = view.fetch(seq).body
    assert isinstance(fact, Fact)
    pieces: list[str] = []
    for number, (text, _) in enumerate(readable(fact)):
        spans = joined(with_margins(text, one.start, one.end) for one in passages if one.text == number)
        pieces += [quoted_spans(text, spans)] if spans else []
    turn = view.unit(view.unit_of[seq]).seqs[0]
    changed = index.changed(turn) if seq != turn else None
    role = role_of(fact) if changed is None else texts.changed_role(role_of(fact), target.reference(changed))
    return texts.quoted(target.reference(seq), role, "\n".join(pieces), view.notes)
