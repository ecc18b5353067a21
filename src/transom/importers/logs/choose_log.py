"""Names for imported conversations: which log of the store is continued, or which free name is taken."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from itertools import chain, count

from transom.search.source import is_own_log
from transom.stores import Store, StoredLog


def safe_name(wanted: str, stem: str) -> str:
    """Return the wanted name; the file's, if Transom keeps the wanted one for its own logs.

    An id comes out of a file: it must not choose a log that no list of conversations shows. The name of a file has no
    slash, as those of our own logs do.
    """
    return stem if is_own_log(wanted) else wanted


def name_in(
    store: Store,
    wanted: str,
    fits: Callable[[StoredLog], bool],
    taken: AbstractSet[str],
    *,
    known_as: str | None,
    several: bool,
) -> str:
    """Return the name of the log that is continued: `wanted`, or with " (2)" and so on, or `known_as`; or a new name.

    `fits`: true for a log of this conversation; `taken`: names of other conversations of this import. If no log fits,
    it is the first free name where there are `several` files, since they may have one id. The conversation of a single
    file gets the name of the first log that does not fit: importing into that raises InvalidSetting.
    """
    name, unlike = wanted, ""
    numbered = chain([wanted], (f"{wanted} ({number})" for number in count(2)))
    for name in (each for each in numbered if each not in taken):
        log = store.open(name)
        if not len(log):
            break
        if fits(log):
            return name
        unlike = unlike or name
    if known_as is not None and known_as not in taken and not is_own_log(known_as):
        log = store.open(known_as)
        if len(log) and fits(log):
            return known_as
    return unlike if unlike and not several else name
