"""Finds the conversation that a list of messages goes on with, by the longest beginning of the list that is known.

A client sends the whole conversation with each request. Of two requests in a row, the second begins with the messages
of the first, and goes on with the reply. So the digest of a beginning (`prefix_hashes`) leads to the log. For each
message that was seen before the work is one cheap hash; only new messages are parsed. The work does not grow with the
number of stored conversations: places are looked up by digest, in the store's index.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

import msgspec

from transom.core.message import Assistant, Fact
from transom.http import prefix_hashes
from transom.http.prefix_hashes import Digest
from transom.http.provider_apis import decoded
from transom.stores.prefix_index import KnownPrefix, PrefixIndex
from transom.wire.dialect import Dialect

MOST_REMEMBERED = 1 << 16
"""How many raw digests are remembered with their canonical digest. The one that was used longest ago goes first."""

_AT_ONCE = 32
"""How many boundaries are looked up together: mostly one of the last is known."""


class Match(NamedTuple):
    """What is known of a list of messages.

    - `place`: where in a log the longest known beginning of the list ends; None if nothing is known.
    - `new`: the facts of the list behind that beginning; if nothing is known, all.
    - `digest`, `outline`: the canonical digest of the whole list, and that of its outline (see `prefix_hashes`).
    - `is_changed`: the log says something else than that beginning: only its outline is known, so the client has
      changed results in it.
    """

    place: KnownPrefix | None
    new: list[Fact]
    digest: Digest
    outline: Digest
    is_changed: bool = False


class _Boundary(NamedTuple):
    """A place in a list where a message and a fact both begin, or the end of the list.

    `messages`: how many messages are before it. `digest`, `outline`: the canonical digest of these messages, and that
    of their outline. `facts`: how many of the parsed facts are before it. `ids`: the digest of the calls of the turn
    before it (`prefix_hashes.after_calls`); None if there is no such turn, or if nothing is looked up by it.
    """

    messages: int
    digest: Digest
    outline: Digest
    facts: int
    ids: Digest | None = None


class Matcher:
    """Matches lists of messages to places in the logs of a store. Any thread may use it."""

    def __init__(self, index: PrefixIndex) -> None:
        self._index = index
        self._canonical: dict[Digest, tuple[Digest, Digest]] = {}
        """The canonical digest and that of the outline, by the raw digest; the newest are the last."""
        self._lock = Lock()

    def match(
        self, start: Digest, messages: Sequence[msgspec.Raw], dialect: Dialect, *, by_outline: bool = True
    ) -> Match:
        """Find the longest beginning of these messages that is known. Nothing is logged, and no place is added.

        `start`: the digest of their owner (`prefix_hashes.begin`); only messages of the same owner are found.
        `messages`: each as the bytes of JSON that came, without the system prompt. `by_outline`: whether a beginning
        also counts as known if only its outline is known. Raises InvalidMessage for a message that `dialect` does not
        allow; messages that were parsed for an earlier request are not checked again.
        """
        raw = prefix_hashes.raw_digests(start, messages)
        seen = [n for n, digest in enumerate(raw) if n and digest in self._canonical]
        parsed_from = seen.pop() if seen else 0  # the messages before it were parsed for an earlier request
        before = self._canonical[raw[parsed_from]] if parsed_from else (start, start)
        facts, boundaries = _parsed(messages, parsed_from, before, dialect)
        self._remember(raw, boundaries)
        whole, outline = boundaries[-1].digest, boundaries[-1].outline
        if not by_outline:
            boundaries = [each._replace(ids=None) for each in boundaries]
        if found := self._newest_known([*reversed(boundaries)]):
            boundary, place, is_changed = found
            return Match(place, facts[boundary.facts :], whole, outline, is_changed)
        older = [_Boundary(n, *known, 0) for n in reversed(seen) if (known := self._canonical.get(raw[n])) is not None]
        if found := self._newest_known(older):
            boundary, place, _ = found
            facts, _ = _parsed(messages, boundary.messages, (boundary.digest, boundary.outline), dialect)
            return Match(place, facts, whole, outline)
        new = facts if not parsed_from else _parsed(messages, 0, (start, start), dialect)[0]
        return Match(None, new, whole, outline)

    def add(self, *places: tuple[Digest | None, KnownPrefix]) -> None:
        """Store in the index where beginnings of messages end, each by its canonical digest or by that of
        `prefix_hashes.after_calls`. A pair whose digest is None is left out."""
        self._index.add([(digest, place) for digest, place in places if digest is not None])

    def forget(self, name: str) -> None:
        """Remove all places in this conversation from the index. Call it when the store no longer has the
        conversation."""
        self._index.forget([name])

    def _newest_known(self, boundaries: Sequence[_Boundary]) -> tuple[_Boundary, KnownPrefix, bool] | None:
        """The first of these boundaries that is known, its place, and whether only the outline of the messages before
        its turn is known. None if none is known. The boundaries must be given with the longest beginning first."""
        for first in range(0, len(boundaries), _AT_ONCE):
            some = boundaries[first : first + _AT_ONCE + 1]  # one more, which is before the turn of the last one
            found = self._index.find(
                list(dict.fromkeys(key for each in some for key in (each.digest, each.ids) if key))
            )
            for at, each in enumerate(some[:_AT_ONCE]):
                if (place := found.get(each.digest)) is not None:
                    return each, place, False
                if each.ids is not None and (place := found.get(each.ids)) is not None:
                    return each, place, all(before.digest not in found for before in some[at + 1 : at + 2])
        return None

    def _remember(self, raw: Sequence[Digest], boundaries: Sequence[_Boundary]) -> None:
        with self._lock:
            for each in boundaries:
                if each.messages:
                    key = raw[each.messages]
                    self._canonical.pop(key, None)
                    self._canonical[key] = each.digest, each.outline
            while len(self._canonical) > MOST_REMEMBERED:
                del self._canonical[next(iter(self._canonical))]


def _parsed(
    messages: Sequence[msgspec.Raw], first: int, before: tuple[Digest, Digest], dialect: Dialect
) -> tuple[list[Fact], list[_Boundary]]:
    """The facts of the messages from `first` on, and the boundaries in them; the first one is before these messages.

    `before`: the canonical digest of the messages before `first`, and that of their outline.
    """
    placed = dialect.parse([decoded(raw) for raw in messages[first:]])
    (digest, outline), ids = before, None
    boundaries = [_Boundary(first, digest, outline, 0)]
    for number, (at, fact) in enumerate(placed):
        if number and at > placed[number - 1][0]:
            boundaries.append(_Boundary(first + at, digest, outline, number, ids))
        ids = prefix_hashes.after_calls(outline, fact) if isinstance(fact, Assistant) else None
        digest, outline = prefix_hashes.after(digest, fact), prefix_hashes.outline_after(outline, fact)
    if placed:
        boundaries.append(_Boundary(len(messages), digest, outline, len(placed), ids))
    return [fact for _, fact in placed], boundaries
