"""A running hash over head and slots: what the model saw, in 16 bytes.

A turn hashes only its new slots; a break starts over (the slots remember their own digests).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from transom.core.codec import plain
from transom.core.entry import Entry
from transom.core.message import Head
from transom.core.unit import Slot


class PrefixDigest(Struct, eq=False):
    """The hash of the head and the first `count` slots. `stale`: something before bound reasoning may have changed."""

    count: int = 0
    has_signed: bool = False
    signatures_unchecked: bool = False
    _hash: Any = None

    def truncate(self, at: int, *, prefix: bool = True) -> None:
        """The slot at this index (-1: the head) has changed; `prefix`: slots that follow it saw the old one."""
        if at < self.count:
            self._hash, self.count = None, 0
        self.signatures_unchecked = self.signatures_unchecked or (prefix and self.has_signed)

    def bind(self) -> None:
        """A unit with bound reasoning has come: from now on changes before it matter."""
        self.has_signed = self.signatures_unchecked = True

    def digest(self, head: Entry | None, slots: Sequence[Slot]) -> str:
        """The hash over all of it; remembered, so that the next one costs only what is new."""
        if self._hash is None:
            running, self.count = _start(head), 0
        else:
            running = self._hash.copy()  # another view of the same past goes on from it too
        for slot in slots[self.count :]:
            running.update(slot.digest())
        self._hash, self.count = running, len(slots)
        return running.hexdigest()


def prefixes(head: Entry | None, slots: Sequence[Slot]) -> Iterator[tuple[int, str]]:
    """For each slot its index and the digest of what precedes it, and of them all. Slots may be replaced meanwhile."""
    running = _start(head)
    for at in range(len(slots)):
        yield at, running.hexdigest()
        running.update(slots[at].digest())
    yield len(slots), running.hexdigest()


def _start(head: Entry | None) -> Any:
    content = plain(head.body) if head is not None and isinstance(head.body, Head) else b""
    return hashlib.blake2b(content, digest_size=16)
