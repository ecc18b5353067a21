"""The text of a digest: which passages it quotes, and how they stand in it."""

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
from transom.strategies.digest.coverage import Choice
from transom.strategies.digest.index import Index
from transom.strategies.digest.passages import Passage, joined, readable, stretches, wider
from transom.strategies.omission import span, stays

HEADER = 40
"""Tokens of a digest's first line, about."""

SPARE = 0.05
"""The share of a digest that names must leave for words to be looked at."""

FADES = 0.5
"""What each further passage with the same word is worth of the one before."""

LARGER, TRIES = 1.1, 3
"""A digest that came out larger than asked for by more than this is chosen again, smaller, so many times in all."""

MOST, PER = 3_000, 24
"""Passages among which a digest chooses, at most, but for an entry that alone has more; with larger windows one for so
many tokens of them."""

SHORT = 100
"""Tokens of a message up to which all it says counts whole."""

Standing = Unit | Folded | str
"""What stands in a window beside the text that is being made: turns, other folds' texts, the head's texts."""


def quoting(
    view: View, target: Target, run: Sequence[Slot], folded: Sequence[Slot], size: float, names: float
) -> tuple[str, tuple[int, ...]]:
    """The text of a digest of a run of slots in about `size` tokens, and the entries it quotes. `folded`: all the slots
    that go in this cut, which stand no longer.

    Names choose first, with at most a share `names` of the tokens; words choose what to do with the rest. What passages
    cost is estimated from their texts: where dense ones make more of it, less is chosen.
    """
    index = Index.of(view, target.budget.usable, target.derived)
    old = {seq for slot in run if isinstance(slot, Folded) for seq in _quoted_by(view, slot)}
    gone = _gone(view, target, index, run, old)
    seqs = [seq for unit in gone for seq in unit.seqs if seq in index.entries or seq in old]
    due = old.union(*(slot.seqs for slot in run if isinstance(slot, Unit)))
    passages = _passages(view, index, seqs, due, max(MOST, target.budget.usable // PER))
    beside = standing(view, target, folded)
    units = sum(slot.unit_count if isinstance(slot, Folded) else 1 for slot in run)
    titled = span(view, target, run), units, sum(slot.untrimmed_size.tokens for slot in run)
    asked, tries = size, TRIES
    while True:
        chosen = _chosen(view, index, passages, gone, beside, asked, names)
        if not chosen:
            return texts.omission(*titled), ()
        text = texts.digest(*titled) + "".join(_quote(view, target, index, seq, ones) for seq, ones in chosen.items())
        counted, tries = target.counter.count(text), tries - 1
        if counted <= LARGER * size or not tries:
            return text, tuple(chosen)
        asked *= size / counted


def _gone(view: View, target: Target, index: Index, run: Sequence[Slot], old: AbstractSet[int]) -> list[Unit]:
    """The units that a fold of these slots hides, as far back as the index reaches, and older ones that stand quoted in
    them (`old`)."""
    first = index.first(view)
    units = [unit for slot in run for unit in units_in(slot, first)]
    older = [view.unit(key) for key in sorted({view.unit_of[seq] for seq in old}) if key < first]
    return [unit for unit in (*older, *units) if not stays(view, target, unit)]


def _passages(view: View, index: Index, seqs: Sequence[int], due: AbstractSet[int], most: int) -> list[Passage]:
    """What may be quoted of these entries, in order: at most so much, the newest, but first of all what is `due`: what
    goes only now and what was quoted before.

    What was chosen of each part holds nearly what would be chosen of the whole (composable core-sets: Indyk et al.
    2014), so that little is lost where there is too much to look at.
    """
    found: list[tuple[Passage, ...]] = []
    for seq in sorted(seqs, key=lambda seq: (seq in due, seq), reverse=True):
        mine = index.at(view, seq).passages
        if mine and (len(mine) <= most or not found):
            most -= len(mine)
            found.append(mine)
        if most <= 0:
            break
    return [one for mine in sorted(found) for one in mine]


def _chosen(
    view: View,
    index: Index,
    passages: Sequence[Passage],
    gone: Sequence[Unit],
    beside: Sequence[Standing],
    size: float,
    names: float,
) -> dict[int, list[Passage]]:
    """The passages of a digest of so many tokens, by their entries, in order."""
    choice, items = Choice(passages), [one.names for one in passages]
    covered = set[str]().union(*(_covered(index, view, one) for one in beside))
    choice.cover(names * (size - HEADER), items, index.weight, covered=covered)
    left = size - HEADER - choice.spent
    if left > SPARE * size:
        _cover_words(view, index, choice, left, gone, beside)
    chosen: dict[int, list[Passage]] = {}
    for at in sorted(choice.taken):
        chosen.setdefault(passages[at].entry, []).append(passages[at])
    return chosen


def _quoted_by(view: View, slot: Folded) -> tuple[int, ...]:
    fold = view.fetch(slot.seq).body
    return fold.quotes if isinstance(fold, Fold) else ()


def standing(view: View, target: Target | None = None, folded: Sequence[Slot] = ()) -> list[Standing]:
    """What stands in the window, once `folded` went and only what a fold leaves of it stays: units, folds, and the
    texts of the head."""
    inside = {slot.first for slot in folded}
    found: list[Standing] = []
    for slot in view.slots:
        if isinstance(slot, Folded) and slot.first not in inside:
            found.append(slot)
        shown = slot.surfaced_units if isinstance(slot, Folded) else (slot,)
        found += [
            unit for unit in shown if slot.first not in inside or (target is not None and stays(view, target, unit))
        ]
    return [*found, *(text for message in view.head.messages for text, _ in readable(message))]


def names_shown(index: Index, view: View, one: Standing) -> frozenset[str]:
    """The names in what stands, as it is shown: not what was cut out of it."""
    if isinstance(one, Unit) and not one.trims:
        return frozenset[str]().union(*(index.at(view, seq).names for seq in one.seqs))
    return frozenset[str]().union(*map(index.names, texts_shown(one)))


def _covered(index: Index, view: View, one: Standing) -> frozenset[str]:
    """Those of them that need no other place: what a call has changed since a fold quoted it is due again."""
    names = names_shown(index, view, one)
    return names - index.changed_since(view.unit(one.last).seqs[0]) if isinstance(one, Folded) else names


def texts_shown(one: Standing) -> list[str]:
    """The texts of what stands, as it is shown, without our own names of entries."""
    if isinstance(one, Unit):
        return [text for fact in one.shown_facts() for text, _ in readable(fact)]
    return [texts.unmarked(one.text) if isinstance(one, Folded) else one]


def _cover_words(
    view: View, index: Index, choice: Choice, left: float, gone: Sequence[Unit], beside: Sequence[Standing]
) -> None:
    """Choose on by words, where names have left room: short messages first, the user's before long replies."""
    words = index.words.upto(view, index)
    entries = dict.fromkeys(one.entry for one in choice.passages)
    items = [spoken for seq in entries for spoken in words.at(view, index, seq)]
    said = (item for one in beside for item in _words_shown(view, index, one))
    times = Counter(chain(said, *(items[at] for at in choice.taken)))
    verbosity = _verbosity(view, gone)
    factors = {seq: _talkative(view.fetch(seq), verbosity) for seq in entries}
    choice.cover(
        left,
        items,
        lambda word: int(words.weight(word) * FADES ** times[word]),
        again=FADES,
        factors=[factors[one.entry] for one in choice.passages],
    )


def _words_shown(view: View, index: Index, one: Standing) -> AbstractSet[str]:
    """The words in what stands, as it is shown."""
    words = index.words
    if isinstance(one, Unit) and not one.trims:
        return set(chain(*(spoken for seq in one.seqs for spoken in words.at(view, index, seq))))
    return set[str]().union(*map(words.shown, texts_shown(one)))


def _verbosity(view: View, units: Sequence[Unit]) -> float:
    """How short the user's messages are beside the model's: 0.3 to 1."""
    lengths: dict[type, list[int]] = {User: [], Assistant: []}
    for unit in units:
        entry = view.fetch(unit.seqs[0])
        if type(entry.body) in lengths:
            lengths[type(entry.body)].append(sum(entry.tokens))
    if not all(lengths.values()):
        return 1.0
    return min(1.0, max(0.3, median(lengths[User]) / max(1, median(lengths[Assistant]))))


def _talkative(entry: Entry, verbosity: float) -> float:
    """What a passage counts for the length of its message and for whose it is."""
    return min(1.0, SHORT / max(1, sum(entry.tokens))) * (verbosity if isinstance(entry.body, Assistant) else 1.0)


def _quote(view: View, target: Target, index: Index, seq: int, passages: Sequence[Passage]) -> str:
    """What is quoted of one entry, under its name; with the entry that has changed since what a tool showed there."""
    fact = view.fetch(seq).body
    assert isinstance(fact, Fact)
    pieces: list[str] = []
    for number, (text, _) in enumerate(readable(fact)):
        spans = joined([wider(text, one.start, one.end) for one in passages if one.text == number])
        pieces += [stretches(text, spans)] if spans else []
    turn = view.unit(view.unit_of[seq]).seqs[0]
    changed = index.changed(turn) if seq != turn else None
    role = role_of(fact) if changed is None else texts.changed(role_of(fact), target.reference(changed))
    return texts.quoted(target.reference(seq), role, "\n".join(pieces), view.notes)
