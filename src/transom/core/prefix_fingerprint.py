"""A hash over the head and the slots of a window: what the model saw, in 16 bytes.

The hash of the first slots is remembered, so a turn hashes only its new slots. When one of the first slots has changed,
the hash starts again at the head. Each slot remembers its own hash, so this is fast too. `window.assemble` compares it
with the hash of the last request, and so finds how much of the prompt cache can be used again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec import to_builtins

from transom.core.codec import plain
from transom.core.entry import Entry
from transom.core.message import Head
from transom.core.unit import Slot

_MARK = "cache_control"


def extended(hashed: tuple[int, Any] | None, head: Entry | None, slots: Sequence[Slot]) -> tuple[int, Any]:
    """Return the number of these slots, and the hash object over the head and all of them.

    `hashed`: what an earlier call returned, to go on from; the head, and as many slots as it counts, must be those of
    that call. None: nothing is known. Do not change a hash object: the next call goes on with a copy of it.
    """
    count, known = hashed or (0, _start(head))
    running = known.copy()
    for slot in slots[count:]:
        running.update(slot.fingerprint())
    return len(slots), running


def prefixes(head: Entry | None, slots: Sequence[Slot]) -> Iterator[tuple[int, str]]:
    """Yield for each slot its index and the hash, in hexadecimal, of everything before it; last the number of slots and
    the hash of everything.

    The caller may replace the slot whose pair it has just got, or a later one: the next hashes are of the new slot.
    """
    running = _start(head)
    for at in range(len(slots)):
        yield at, running.hexdigest()
        running.update(slots[at].fingerprint())
    yield len(slots), running.hexdigest()


def _start(head: Entry | None) -> Any:
    """The hash over the head alone, without its cache marks: they may move, and the model does not see them."""
    shown = head.body if head is not None else None
    content = plain(_without_cache_marks(to_builtins(shown))) if isinstance(shown, Head) else b""
    return hashlib.blake2b(content, digest_size=16)


def _without_cache_marks(value: object) -> object:
    """A JSON value without the fields `cache_control`, and without those that hold only such a field."""
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value).items()
        return {key: _without_cache_marks(item) for key, item in fields if key != _MARK and not _is_a_mark(item)}
    if isinstance(value, (list, tuple)):
        return [_without_cache_marks(item) for item in cast("list[object]", value)]
    return value


def _is_a_mark(value: object) -> bool:
    """Whether a value is an object that holds nothing but a cache mark."""
    return isinstance(value, dict) and {*cast("dict[str, object]", value)} == {_MARK}
