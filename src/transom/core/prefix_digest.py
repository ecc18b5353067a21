"""A hash over head and slots: what the model saw, in 16 bytes.

A turn hashes only its new slots, because the hash so far is remembered. After a break it starts again at the head; the
slots remember their own digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr

from transom.core.codec import plain
from transom.core.entry import Entry
from transom.core.message import Head
from transom.core.unit import Slot


class PrefixDigest(Struct, frozen=True, eq=False):
    """Remembers the hash of the head and the first slots: how many slots, and a hash object that nobody changes."""

    remembered: tuple[int, Any] | None = None

    def truncate(self, at: int) -> PrefixDigest:
        """What may still be remembered after a change of the slot at this index (-1: the head)."""
        return PrefixDigest() if self.remembered is not None and at < self.remembered[0] else self

    def digest(self, head: Entry | None, slots: Sequence[Slot]) -> str:
        """The hash over all of it."""
        count, known = self.remembered or (0, _start(head))
        running = known.copy()
        for slot in slots[count:]:
            running.update(slot.digest())
        force_setattr(self, "remembered", (len(slots), running))  # one step: another thread sees the old or the new
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
