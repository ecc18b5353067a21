"""What a record quotes of what it could: passages by the names in them, passages by their rare words, and names alone.

The choice is maximum coverage: as many needed names as possible in a number of tokens. The greedy algorithm for a
monotone submodular gain under a knapsack, by gain per cost, with a lazy queue (Minoux 1978). Gains are whole numbers,
so that their sum is the same in any order. It is approximately greedy: once an entry's tag is paid, its other passages
get cheaper, but their place in the queue is corrected only when they are popped, or when a neighbour is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from itertools import chain, takewhile
from statistics import median

from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.record.index import Index
from transom.strategies.record.passages import Passage

TAG = 5
"""Tokens that name the entry before its first passage."""

FINE = 1_000_000
"""The resolution of gain per token: what differs by less is a tie."""

FULL = 0.003
"""If less than this share of the budget is left, no passage is looked for."""

REPEATED_WORD = 0.5
"""The worth of each further passage with the same word, as a share of the one before."""

SHORT_MESSAGE = 100
"""Messages of up to this many tokens count whole."""

USER, MODEL = "user", "assistant"
"""The roles whose messages are compared."""

BESIDE_NAME = 8
"""Characters that a name costs beside its own, about."""

GAP = 2
"""Tokens of the mark between two names."""

TRIED = 2.0
"""How many times the names that fit are looked up in their texts, about."""


class PassageChoice:
    """The passages chosen so far: `taken`, their positions in the list `passages` in the order of choice, and the
    tokens `spent`.

    A passage costs its own tokens, its margins, which a chosen neighbour shares, and `tag` tokens if no passage of its
    entry is chosen yet. The passages of one entry must be adjacent in the list, and in order.
    """

    def __init__(self, passages: Sequence[Passage], *, tag: float = TAG) -> None:
        self.passages, self._tag = passages, tag
        self.taken: list[int] = []
        self.spent = 0.0
        self._chosen: set[int] = set()
        self._tagged: set[int] = set()
        self._prices = [each.tokens + tag + (2 - each.first - each.last) * each.margin for each in passages]

    def cover(
        self,
        budget: float,
        items: Sequence[Sequence[str]],
        worth: Callable[[str], int],
        *,
        covered: Iterable[str] = (),
        repeated: float = 0.0,
        factors: Sequence[float] = (),
    ) -> None:
        """Choose more passages, for at most `budget` tokens, so that they bring as much as possible: they are added to
        `taken` and `spent`. A passage that is too large for what is left is passed over.

        `items`: what each passage of the list brings, names or words. `worth`: the worth of an item; nothing if it is
        in `covered`. `factors`: for each passage, by what the worth of its items is multiplied; empty for 1. Once a
        passage with an item is chosen, the item is worth the share `repeated` of that in the next one. Ties go to the
        newer passage.
        """
        prices, count, left = self._prices, len(self.passages), _Worth(worth, covered)
        left_of = left.__getitem__

        def rank(at: int) -> int:
            """The gain per token, negative so that the best comes first, and the position, in one number: it is sorted
            faster than a pair."""
            gain = sum(map(left_of, items[at]))
            return int(-FINE * (gain * factors[at] if factors else gain) / prices[at]) * count - at

        heap = [now for at in range(count) if at not in self._chosen and (now := rank(at)) <= -count]
        heapify(heap)
        enough = FULL * budget
        while heap and budget > enough:
            top = heap[0]
            at = -top % count
            if prices[at] > budget or at in self._chosen:
                heappop(heap)
            elif (now := rank(at)) > top:
                heapreplace(heap, now)
            elif top > -count:
                break  # no other passage is worth anything
            else:
                heappop(heap)
                budget -= prices[at]
                self._take(at)
                for item in items[at]:
                    left[item] = int(left[item] * repeated)
                for near in self._beside(at):
                    if near not in self._chosen:
                        heappush(heap, rank(near))

    def _take(self, at: int) -> None:
        self.spent += self._prices[at]
        self.taken.append(at)
        self._chosen.add(at)
        for near in self._beside(at):
            self._cheaper(near, 2 * self.passages[near].margin)
        entry = self.passages[at].entry
        if entry not in self._tagged:
            self._tagged.add(entry)
            for way in (range(at, -1, -1), range(at + 1, len(self.passages))):
                for other in takewhile(lambda place: self.passages[place].entry == entry, way):
                    self._cheaper(other, self._tag)

    def _cheaper(self, at: int, by: float) -> None:
        """The margins of its neighbours may contain a short passage: then it is nearly free."""
        self._prices[at] = max(1.0, self._prices[at] - by)

    def _beside(self, at: int) -> tuple[int, ...]:
        one = self.passages[at]
        return (() if one.first else (at - 1,)) + (() if one.last else (at + 1,))


class _Worth(dict[str, int]):
    """The remaining worth of items, computed at first use."""

    def __init__(self, of: Callable[[str], int], covered: Iterable[str]) -> None:
        super().__init__(dict.fromkeys(covered, 0))
        self._of = of

    def __missing__(self, item: str) -> int:
        value = self[item] = self._of(item)
        return value


def cover_words(view: View, index: Index, choice: PassageChoice, room: float, hidden: Sequence[Unit]) -> None:
    """Choose more passages by their words, in at most `room` tokens, and add them to `choice`: words of short messages
    and of the user count more than those of long replies. `hidden`: the turns by which is measured who says more, the
    user or the model. Reads the words of the whole index, if that was not done before."""
    words = index.words.update(view, index)
    entries = dict.fromkeys(passage.entry for passage in choice.passages)
    of_entry = {seq: words.at(view, index, seq) for seq in entries}
    items = [of_entry[one.entry][one.text, one.start] for one in choice.passages]
    times = Counter(chain.from_iterable(items[at] for at in choice.taken))

    def worth(word: str) -> int:
        return int(words.weight(word) * REPEATED_WORD ** times[word])

    factors = _length_factors(view, index, entries, hidden)
    by_passage = [factors[one.entry] for one in choice.passages]
    choice.cover(room, items, worth, repeated=REPEATED_WORD, factors=by_passage)


def _length_factors(view: View, index: Index, entries: Iterable[int], hidden: Sequence[Unit]) -> dict[int, float]:
    """The worth of a word in each entry: less in messages of more than `SHORT_MESSAGE` tokens, and less in those of the
    model if it says more than the user: (median length of the user's messages ÷ the model's)², from 0.1 to 1. Who says
    little says what matters."""
    heads = [index.at(view, unit.seqs[0]) for unit in hidden]
    of_user, of_model = (median([one.tokens for one in heads if one.role == role] or [0]) for role in (USER, MODEL))
    verbosity = min(1.0, max(0.1, (of_user / of_model) ** 2)) if of_user and of_model else 1.0
    found = {seq: index.at(view, seq) for seq in entries}
    return {
        seq: min(1.0, SHORT_MESSAGE / max(1, one.tokens)) * (verbosity if one.role == MODEL else 1.0)
        for seq, one in found.items()
    }


def name_quotes(
    passages: Sequence[Passage],
    text_of: Callable[[Passage], str],
    needed: Sequence[Sequence[str]],
    worth: Callable[[str], int],
    factors: Sequence[float],
    room: float,
) -> list[tuple[int, str]]:
    """Choose names to quote alone, without their passages, in at most `room` tokens. Returns each with its entry, in
    the order of the log. Names that are worth most for each token are taken first.

    `text_of`: the whole text of which a passage is a span. `needed`: for each passage the names for which it may be
    quoted. `worth`: of a name. `factors`: for each passage, by what the worth of its names is multiplied. A name is
    taken from the passage with the greatest factor; of several, from the newest.
    """
    place: dict[str, int] = {}
    for at in range(len(passages) - 1, -1, -1):
        for name in needed[at]:
            if name.isdecimal() and any(name in other and name != other for other in needed[at]):
                continue  # the number of an id says nothing without the rest
            if (other := place.get(name)) is None or factors[at] > factors[other]:
                place[name] = at

    def rank(name: str) -> tuple[float, int, str]:
        return -worth(name) * factors[place[name]] / (BESIDE_NAME + len(name)), -place[name], name

    found: list[Passage] = []
    left = TRIED * room
    for name in sorted(place, key=rank):
        if left < 0:
            break
        whole = passages[place[name]]
        text = text_of(whole)
        if (start := text.find(name, whole.start, whole.end + len(name))) >= 0:
            end = start + len(name)
            tokens = len(name) * whole.tokens / (whole.end - whole.start) + GAP
            inside = tuple(one for one in needed[place[name]] if one in name)
            found.append(Passage(whole.entry, whole.text, start, end, tokens, 0, inside, True, True))
            left -= tokens
    choice = PassageChoice(sorted(found), tag=0)
    choice.cover(room, [one.names for one in choice.passages], worth)
    taken = (choice.passages[at] for at in sorted(choice.taken))
    return [(one.entry, text_of(one)[one.start : one.end]) for one in taken]
