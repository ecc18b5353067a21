"""Fork a conversation: a new one that begins with the first entries of another one."""

from __future__ import annotations

from itertools import count
from typing import Protocol, cast

from transom.clock import Clock, system_clock
from transom.core.entry import Entry, Forked
from transom.errors import Conflict, InvalidSetting, quote
from transom.stores.base import Store, StoredLog


class _Copying(Protocol):
    """A log of a store that copies entries by itself, in one transaction."""

    def copy_to(self, name: str, stop: int, then: Entry) -> None:
        """Begin the conversation `name` with the first `stop` entries, the snapshot if it is of these, and `then`.

        Raises Conflict if there is a conversation by that name.
        """
        ...


def fork_log(
    store: Store, source: StoredLog, *, at: int | None = None, name: str | None = None, clock: Clock = system_clock
) -> StoredLog:
    """A new conversation in `store`, of which `source` is one, with everything up to entry `at` (default: the last).

    The copied entries are equal to the source's, with the same numbers. Behind them is one more, `Forked`, which names
    the source. All of it is stored, or nothing. From then on neither has to do with the other: forgetting one leaves
    the other whole. `name`: of the new one; by default that of the source with `at`, as in "trip@41".

    Raises InvalidSetting if there is no entry `at`, or a conversation by that name already; UnknownLog.
    """
    length = source.refresh()
    last = length - 1 if at is None else at
    if type(last) is not int or not 0 <= last < length:
        has = f"it has the entries 0 to {length - 1:,}" if length else "it is empty"
        raise InvalidSetting(f"fork: there is no entry {quote(at)} in {quote(source.name)}: {has}")
    then = Entry(seq=last + 1, at=clock(), body=Forked(source=source.name))
    for number in count(1):
        wanted = name if name is not None else f"{source.name}@{last}" + (f" ({number})" if number > 1 else "")
        try:
            _copy(store, source, wanted, then)
        except Conflict:
            if name is not None:
                raise InvalidSetting(f"fork: there is a conversation {quote(name)} already") from None
        else:
            return store.open(wanted)
    raise AssertionError


def _copy(store: Store, source: StoredLog, name: str, then: Entry) -> None:
    if hasattr(source, "copy_to"):
        cast("_Copying", source).copy_to(name, then.seq, then)
        return
    fork = store.open(name)
    fork.append([*source.read(0, then.seq), then], 0)
    saved = source.load_snapshot()
    if saved is not None and saved[0] <= then.seq:
        fork.save_snapshot(*saved)
